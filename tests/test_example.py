"""examples/python-stack, copied to a folder of its own: judged green, and red when it is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "python-stack"
ONE = "ACC-3.wrong-cookie-acknowledges-the-syn-only"
OWN = "ACC-2.our-longest-name-fits-into-the-syn"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example, with nothing of this repository near it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "repository"))


def ran(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a module in a network namespace, from the folder. Its `python3` is this interpreter."""
    if os.geteuid() or not Path("/dev/net/tun").exists():
        pytest.skip("needs root and /dev/net/tun: the stack makes a TUN device")
    (folder / "bin").mkdir(exist_ok=True)
    python = folder / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    path = f"{python.parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *command],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
    )


def verdicts(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in json.loads((folder / "r.json").read_text())["results"]:
        found.setdefault(each["case"], set()).add(each["verdict"])
    return found


def test_the_stack_of_the_repository_is_judged_without_a_word_on_it(folder: Path) -> None:
    only = ("--only", f"{ONE},{OWN}", "--json", "r.json", "--quiet")
    done = ran(folder, "scapy_tfo", "test", *only)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(folder) == {ONE: {"pass"}, OWN: {"pass"}}
    assert json.loads((folder / "r.json").read_text())["stack"]["name"] == "python-stack"

    done = ran(folder, "scapy_tfo", "test", *only, STACK="accepts-any-cookie")
    assert done.returncode == 1, done.stdout + done.stderr
    assert verdicts(folder) == {ONE: {"fail"}, OWN: {"pass"}}


def test_pytest_runs_all_cases_with_nothing_to_write(folder: Path) -> None:
    words = ("pytest", "-q", "--pyargs", "scapy_tfo.conformance", "-p", "no:cacheprovider")
    words += ("--tfo-only", ONE, "--tfo-only", OWN)
    done = ran(folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    done = ran(folder, *words, STACK="accepts-any-cookie")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed" in done.stdout


def test_own_cases_are_listed(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scapy_tfo", "list", "--only", "ACC-2"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert OWN in done.stdout
