"""[tool.scapy-tfo] in pyproject.toml: paths belong to its directory, and mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.extensions.settings import Settings, read_settings


def written(directory: Path, text: str) -> Path:
    (directory / "pyproject.toml").write_text(text)
    return directory


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    table = '[tool.scapy-tfo]\ncases = ["a.py"]\ntarget = "s.toml"\nknown = "k.toml"\napp = "http"'
    assert read_settings(written(tmp_path, table)) == Settings(
        cases=(tmp_path / "a.py",),
        target=str(tmp_path / "s.toml"),
        known=tmp_path / "k.toml",
        app="http",
    )


@pytest.mark.parametrize("target", ["lab:linux", "192.0.2.7:80", "sim:reference"])
def test_other_targets_stay_as_they_are(tmp_path: Path, target: str) -> None:
    text = f'[tool.scapy-tfo]\ntarget = "{target}"'
    assert read_settings(written(tmp_path, text)).target == target


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1", "[tool", "tool = 3"])
def test_a_file_without_the_table_sets_nothing(tmp_path: Path, text: str) -> None:
    assert read_settings(tmp_path) == Settings()
    assert read_settings(written(tmp_path, text)) == Settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tool.scapy-tfo = 3", "is a number: write a table"),
        ("[tool.scapy-tfo]\ncases = 3", "'tool.scapy-tfo.cases' is a number"),
        ("[tool.scapy-tfo]\ncase = 'x'", "tool.scapy-tfo.case"),
        ("[tool.scapy-tfo]\napp = 'smtp'", "'smtp'.*echo or http or none"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SetupError, match=says):
        read_settings(written(tmp_path, text))
