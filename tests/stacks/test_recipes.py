"""The target files of docs/stacks hold, whether or not their stacks are built."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scapy_tfo.stacks.file import load

DOCS = Path(__file__).parents[2] / "docs"
OTHERS = ("Cargo.toml", "configurations.toml")
FILES = sorted(each for each in DOCS.glob("stacks/*/*.toml") if each.name not in OTHERS)


def named(path):
    return str(path.relative_to(DOCS / "stacks"))


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_target_file_is_read(path):
    file = load(path)
    assert file.title != "stack"
    assert file.addresses


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_recipe_is_told_as_it_is_run(path):
    """What its README has people type names this file, and programs that are there."""
    said = (path.parent / "README.md").read_text()
    assert path.name in said
    for script in re.findall(r"docs/stacks/[\w/.-]+\.(?:sh|py)\b", said):
        assert (DOCS.parent / script).exists(), script


@pytest.mark.parametrize(
    "script", sorted([*DOCS.glob("stacks/*.sh"), *DOCS.glob("stacks/*/*.sh")]), ids=named
)
def test_every_script_parses(script):
    shell = re.split("[/ ]", script.read_text().splitlines()[0])[-1]
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert script.stat().st_mode & 0o100, f"{script} cannot be run"
    subprocess.run([shell, "-n", script], check=True)
