"""The steps of action.yml on this machine, at the example: a green run and a red one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "python-stack"
ONE = "ACC-3.wrong-cookie-acknowledges-the-syn-only"


@dataclass
class Job:
    """What a job left: the status of its first failed step, its log, its summary, its outputs."""

    status: int
    log: str
    summary: str
    outputs: dict[str, str]
    kept: list[str]


def run_steps(folder: Path, inputs: dict[str, str], **environment: str) -> Job:
    """Run the composite action as a runner does: the steps that are scripts, in their order, and
    after a failure only those that ask for it. Other actions are named only."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    given = {name: each["default"] for name, each in action["inputs"].items()} | inputs
    temporary = folder.parent / "runner"
    temporary.mkdir(exist_ok=True)
    files = {name: temporary / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    base = {**os.environ, **{name: str(file) for name, file in files.items()}, **environment}
    base |= {"GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(temporary)}
    job = Job(0, "", "", {}, [])
    for step in action["runs"]["steps"]:
        if job.status and "!cancelled()" not in step.get("if", ""):
            continue
        if "uses" in step:
            job.kept.append(filled(step["with"]["path"], given))
            continue
        env = base | {name: filled(text, given) for name, text in step.get("env", {}).items()}
        script = ["bash", "-e", "-c", step["run"]]
        alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *script]
        done = subprocess.run(alone, cwd=folder, env=env, capture_output=True, text=True)
        job.status, job.log = done.returncode, job.log + done.stdout + done.stderr
    job.summary = files["GITHUB_STEP_SUMMARY"].read_text()
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    job.outputs = dict(line.split("=", 1) for line in lines)
    return job


def filled(text: str, inputs: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example; `python3` and scapy-tfo are those of the tests."""
    if os.geteuid() or not Path("/dev/net/tun").exists():
        pytest.skip("needs root and /dev/net/tun: the stack makes a TUN device")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("python3", ""), ("scapy-tfo", "-m scapy_tfo")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("SCAPY_TFO", str(programs / "scapy-tfo"))
    return Path(shutil.copytree(EXAMPLE, tmp_path / "repository"))


INPUTS = {"target": "stack.toml", "args": f"--only {ONE} --quiet --label ours"}


def test_a_right_stack_makes_the_job_green(folder: Path) -> None:
    job = run_steps(folder, INPUTS)
    assert job.status == 0, job.log
    assert "### TCP Fast Open: ours" in job.summary
    assert "2 pass" in job.summary
    assert "::error" not in job.log
    assert job.outputs == {"status": "0", "results": "tfo-results/action/results.json"}
    assert json.loads((folder / job.outputs["results"]).read_text())["stack"]["version"] == "1.0"


def test_a_wrong_stack_makes_it_red_and_the_reports_are_kept(folder: Path) -> None:
    job = run_steps(folder, INPUTS, STACK="accepts-any-cookie")
    assert job.status == 1, job.log
    assert f"| {ONE} " in job.summary
    assert job.log.count("::error title=") == 2
    assert job.kept == ["tfo-results/action"]
    kept = {each.name for each in (folder / "tfo-results" / "action").iterdir()}
    assert kept >= {"results.json", "results.sarif", "junit.xml", "capture.pcapng"}


def test_a_target_that_is_not_there_is_told(folder: Path) -> None:
    job = run_steps(folder, {"target": "absent.toml; touch pwned $(touch pwned)"})
    assert job.status == 2, job.log
    assert "the target was not judged (exit status 2)" in job.log
    assert not (folder / "pwned").exists()
