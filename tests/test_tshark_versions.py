"""scripts/tshark_versions.sh: its options. What it tries takes half an hour."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "tshark_versions.sh"


def run(*words: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    command = ["/bin/bash", str(SCRIPT), *words]
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_help() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: scripts/tshark_versions.sh" in done.stdout


def test_an_option_that_it_does_not_have() -> None:
    done = run("--fast")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no option --fast" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="only for ordinary users")
def test_it_is_for_root() -> None:
    done = run("trixie")
    assert done.returncode == 2
    assert "only root can install a Debian" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only for root")
def test_debootstrap_is_asked_for(tmp_path: Path) -> None:
    for name in ("dirname", "id"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    done = run("trixie", path=str(tmp_path))
    assert done.returncode == 2
    assert "needs debootstrap" in done.stderr
