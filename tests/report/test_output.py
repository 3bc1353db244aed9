"""The files of a run, and where they go."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.report.output import check_writable, write_all
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Run

Catalogue = dict[str, Requirement]

KEPT_APART, OURS = [".gitignore"], ["conftest.py", "latest"]
FILES = ["capture.pcapng", "junit.xml", "report.html", "report.txt", "results.json", "tfo.lua"]


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def test_a_run_without_a_directory_gets_one_of_its_own(
    run: Run, catalogue: Catalogue, tmp_path: Path
) -> None:
    base = tmp_path / "tfo-results"
    first = write_all(run, base=base, catalogue=catalogue)
    assert first == base / "20260102T030405Z"
    assert names(first) == FILES
    assert (base / "latest").resolve() == first.resolve()
    assert os.readlink(base / "latest") == "20260102T030405Z"

    second = write_all(run, base=base, catalogue=catalogue)
    assert second == base / "20260102T030405Z-2"
    assert (base / "latest").resolve() == second.resolve()
    assert names(base) == [*KEPT_APART, "20260102T030405Z", "20260102T030405Z-2", *OURS]


def test_a_directory_of_the_users_is_made_and_written_again(
    run: Run, catalogue: Catalogue, tmp_path: Path
) -> None:
    place = tmp_path / "a" / "b"
    assert write_all(run, place, catalogue=catalogue) == place
    assert write_all(dataclasses.replace(run, results=()), place, catalogue=catalogue) == place
    assert names(place) == FILES
    assert "no cases - exit 0" in (place / "report.txt").read_text()


def test_hostile_strings_reach_every_file(
    hostile_run: Run, catalogue: Catalogue, tmp_path: Path
) -> None:
    packets = tuple(dataclasses.replace(each, comment="") for each in hostile_run.packets)
    run = dataclasses.replace(hostile_run, packets=packets)
    place = write_all(run, tmp_path, catalogue=catalogue)
    for name in FILES[1:]:
        assert "\x1b" not in (place / name).read_text(encoding="utf-8")


def test_a_latest_that_is_no_link_is_left_alone(
    run: Run, catalogue: Catalogue, tmp_path: Path
) -> None:
    (tmp_path / "latest").mkdir()
    with pytest.raises(SetupError, match="latest is not a symbolic link"):
        check_writable(base=tmp_path)
    with pytest.raises(SetupError, match=r"the reports are in .* move it away, or give --out"):
        write_all(run, base=tmp_path, catalogue=catalogue)
    assert names(tmp_path) == [*KEPT_APART, "20260102T030405Z", *OURS]


def test_what_is_no_directory_is_named(run: Run, catalogue: Catalogue, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for place in (file, file / "below"):
        with pytest.raises(SetupError, match="cannot write reports into"):
            check_writable(place)
        with pytest.raises(SetupError, match="cannot write reports into"):
            write_all(run, place, catalogue=catalogue)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A directory that we may not write to; root, who may, is somebody else meanwhile."""
    tmp_path.chmod(0o500)
    users = os.getresuid()
    if users[1] == 0:
        # All but the saved one, since access(2) asks for the real one.
        os.setresuid(65534, 65534, 0)
    yield tmp_path
    os.setresuid(*users)


def test_a_directory_without_permission_is_named(closed: Path) -> None:
    with pytest.raises(SetupError, match="no permission"):
        check_writable(closed / "out")


def test_looking_before_a_run_makes_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "out" / "deep")
    check_writable(base=tmp_path / "base")
    assert names(tmp_path) == []
