"""scripts/fresh.sh: its options, and the table that it prints. What it tries takes an hour."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"

PYTEST_SAID = """\
============================= test session starts ==============================
=========================== short test summary info ============================
SKIPPED [3] tests/wire/test_host.py:40: ip is not installed: apt-get install iproute2
SKIPPED [1] packetdrill/client/x.pkt: waits for long timers: give --tfo-slow
SKIPPED [2] tests/wire/test_tun.py:22: ip is not installed: apt-get install iproute2
FAILED tests/test_x.py::test_y - AssertionError: no
ERROR tests/test_x.py::test_z - ValueError
====== 1 failed, 90 passed, 6 skipped, 1 error in 61.00s (0:01:01) =======
"""
DEMO_SAID = """\
12 unsupported, 34 skipped, 662 pass - exit 0: no requirement failed
Reports and capture: tfo-results/20260102T030405Z
1 fail, 30 skipped, 600 pass - exit 1: a requirement failed
"""


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "which suite?"),
        (["trixie", "bookworm"], "one suite at a time"),
        (["trixie", "--dir"], "--dir needs a value"),
        (["trixie", "--who", "me"], "--who me"),
        (["--fast", "trixie"], "there is no option --fast"),
    ],
)
def test_wrong_options(options: list[str], told: str) -> None:
    done = run("bash", SCRIPTS / "fresh.sh", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_help() -> None:
    done = run("bash", SCRIPTS / "fresh.sh", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: scripts/fresh.sh SUITE" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="only for ordinary users")
def test_it_is_for_root() -> None:
    done = run("bash", SCRIPTS / "fresh.sh", "trixie")
    assert done.returncode == 2
    assert "only root can make machines" in done.stderr


def test_the_table(tmp_path: Path) -> None:
    for name, text, status in (
        ("root-make-demo", DEMO_SAID, "1 95"),
        ("root-make-test", PYTEST_SAID, "2 612"),
        ("user-make-test", "make: *** no rule\n", "2 3"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / f"{name}.status").write_text(f"{status}\n")
    done = run(sys.executable, SCRIPTS / "fresh_table.py", "trixie", tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "| suite | who | command | time | exit | passed | failed | skipped |",
        "|---|---|---|---|---|---|---|---|",
        "| trixie | root | `make demo` | 1:35 | 1 | 1262 | 1 | 64 |",
        "| trixie | root | `make test` | 10:12 | 2 | 90 | 2 | 6 |",
        "| trixie | an ordinary user | `make test` | 0:03 | 2 | 0 | 0 | 0 |",
        "",
        "trixie, root, make demo:",
        *(f"    {line}" for line in DEMO_SAID.splitlines()),
        "",
        "trixie, root, make test:",
        "- 5 skipped: ip is not installed: apt-get install iproute2",
        "- 1 skipped: waits for long timers: give --tfo-slow",
        "- FAILED tests/test_x.py::test_y - AssertionError: no",
        "- ERROR tests/test_x.py::test_z - ValueError",
        "",
        "trixie, an ordinary user, make test:",
        "    make: *** no rule",
    ]
