"""Runs `scapy-tfo test` beside servers, in a network namespace that ends with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ECHOES = HERE.parents[1] / "docs" / "echo"


@dataclass(frozen=True)
class Done:
    """status: of the command. said: its output and its errors. results: by case."""

    status: int
    said: str
    results: dict[str, dict[str, Any]]

    @property
    def failed(self) -> list[str]:
        return [name for name, each in self.results.items() if each["verdict"] == "fail"]


Judge = Callable[..., Done]


def server(kind: str, port: int) -> list[str]:
    """The command of a server of servers.py."""
    return [sys.executable, str(HERE / "servers.py"), kind, str(port)]


def echo(port: int, queue: int = 4096) -> list[str]:
    """The command of the echo in Python that is there to copy."""
    return [sys.executable, str(ECHOES / "echo.py"), str(port), str(queue)]


def in_namespace(servers: Sequence[Sequence[str]], run: Sequence[str]) -> tuple[int, str]:
    """The status and output of a command beside those servers."""
    if not shutil.which("unshare") or os.geteuid():
        pytest.skip("needs root and unshare, for a network namespace")
    inside = json.dumps({"servers": [list(each) for each in servers], "run": list(run)})
    apart = ["unshare", "--net", "--fork", "--pid", "--kill-child", sys.executable]
    done = subprocess.run(
        [*apart, str(HERE / "inside.py"), inside],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """judge(servers, target, *options): the run of `scapy-tfo test` beside those servers."""

    def run(servers: Sequence[Sequence[str]], target: str, *options: str) -> Done:
        out = tmp_path / "results.json"
        command = [sys.executable, "-m", "scapy_tfo", "test", target, "--quiet"]
        command += ["--json", str(out), "--out", str(tmp_path / "out"), *options]
        status, said = in_namespace(servers, command)
        found = json.loads(out.read_text())["results"] if out.exists() else []
        return Done(status, said, {each["case"]: each for each in found})

    return run
