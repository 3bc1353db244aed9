"""What is written stays below the output directory, whatever the names come from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.cli import main
from scapy_tfo.files.names import file_name
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.export.export import write_artefacts
from scapy_tfo.report.output import REPORTS, begin, point_latest
from tests.hostile.outside import NASTY, campaign_store, finding, listing
from tests.pkt.captures import fast_opens


@given(st.text() | st.sampled_from(NASTY))
def test_a_name_is_never_a_path(text: str) -> None:
    name = file_name(text)
    assert Path(name).name == name
    assert name not in (".", "..")
    assert not name.startswith((".", "-"))
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    assert len(name) < 100


@given(st.text(), st.text())
def test_two_texts_have_two_names(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)


@pytest.mark.parametrize("text", ["ACC-2-3f9a1c", "ACC-2.answer-comes-before-our-ack-ipv4", "flow"])
def test_our_own_names_stay(text: str) -> None:
    assert file_name(text) == text


@pytest.mark.parametrize("comment", ["sent by ../../../loot [ipv4]", "sent by /tmp/loot [ipv4]"])
def test_a_comment_in_a_capture_does_not_say_where_to_write(comment: str, tmp_path: Path) -> None:
    capture, out = tmp_path / "run.pcapng", tmp_path / "a" / "b" / "c"
    out.mkdir(parents=True)
    packets = [each._replace(comment=comment) for talk in fast_opens() for each in talk.packets]
    write_pcapng(capture, packets)
    before = listing(tmp_path, but=out)
    assert main(["pkt", "export", str(capture), "--output", str(out)]) == 0
    assert listing(tmp_path, but=out) == before
    assert not Path("/tmp/loot-ipv4.pkt").exists()
    (script,) = out.iterdir()
    assert script.suffix == ".pkt"
    assert main(["pkt", "check", str(script)]) == 0


def test_a_requirement_in_a_store_does_not_say_where_to_write(tmp_path: Path) -> None:
    store, out = tmp_path / "s.sqlite", tmp_path / "a" / "b" / "c"
    out.mkdir(parents=True)
    campaign_store(store, requirement="../../../loot")
    before = listing(tmp_path, but=out)
    assert main(["fuzz", "export", "all", "--store", str(store), "--output", str(out)]) == 0
    assert listing(tmp_path, but=out) == before
    assert {each.suffix for each in out.iterdir()} >= {".json", ".py"}


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = tmp_path / "out" / "results.json"
    link.parent.mkdir()
    link.symlink_to(precious)
    put(link, "new")
    assert (precious.read_text(), link.read_text()) == ("mine", "new")
    assert not link.is_symlink()
    assert [each.name for each in link.parent.iterdir()] == ["results.json"]


SMALL = ["test", "sim:reference", "--only", "ACC-2", "-4", "--quiet"]


def test_reports_replace_links_and_say_what_they_replace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    out.mkdir()
    precious.write_text("mine")
    for name in REPORTS:
        (out / name).symlink_to(precious)
    assert main([*SMALL, "--out", str(out)]) == 0
    assert precious.read_text() == "mine"
    assert not any((out / name).is_symlink() for name in REPORTS)
    told = f"scapy-tfo: {out} holds reports of an earlier run, which this one replaces: "
    assert capsys.readouterr().err == f"{told}{', '.join(REPORTS)}\n"
    (out / "report.html").unlink()
    assert main([*SMALL, "--out", str(out)]) == 0
    assert "report.html" not in capsys.readouterr().err
    assert main([*SMALL, "--out", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().err == ""


def test_a_campaign_follows_no_links_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious"
    out.mkdir()
    fuzz = ["fuzz", "sim:data-is-not-acknowledged", "--programs", "8", "--quiet"]
    for name in ("campaign.sqlite", "campaign.sqlite.lock"):
        (out / name).symlink_to(precious)
        assert main([*fuzz, "--out", str(out)]) == 2
        assert capsys.readouterr().err.startswith("scapy-tfo: ")
        assert not precious.exists()
        (out / name).unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (out / "findings").symlink_to(elsewhere)
    assert main([*fuzz, "--out", str(out), "--store", str(tmp_path / "s.sqlite")]) == 2
    assert "findings: it is a symbolic link" in capsys.readouterr().err
    assert not list(elsewhere.iterdir())
    (out / "findings").unlink()
    (out / "results.json").unlink()
    (out / "results.json").symlink_to(precious)
    assert main([*fuzz, "--out", str(out)]) == 1
    assert not precious.exists()
    assert "which this one replaces: results.json" in capsys.readouterr().err


def test_pytest_and_git_leave_our_results_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = begin(None, 0.0)
    point_latest(place)
    kept = finding()
    assert write_artefacts([kept], place / "findings") == []
    (test,) = Path("tfo-results/latest/findings").glob("test_*.py")

    def ran(*command: str) -> tuple[int, str]:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only")
    assert ran(*pytest_)[0] == pytest.ExitCode.NO_TESTS_COLLECTED
    status, said = ran(*pytest_, str(test))
    assert (status, said.count("::test_")) == (0, 1)
    if shutil.which("git"):
        assert ran("git", "init", "-q")[0] == 0
        assert ran("git", "status", "--porcelain") == (0, "")
    (tmp_path / "tfo-results" / ".gitignore").write_text("mine")
    begin(None, 0.0)
    assert (tmp_path / "tfo-results" / ".gitignore").read_text() == "mine"
