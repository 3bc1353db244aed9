"""Runs that are interrupted, killed or without room on the disk keep what they have."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.report.journal import NAME

OURS = (sys.executable, "-m", "scapy_tfo")
SIMULATED = ("test", "sim:reference", "-4")
LINES = 5
LONGEST = 120.0

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def begun(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command under way; Ctrl-C reaches it even where the tests run in the background."""
    return subprocess.Popen(
        [*OURS, *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def is_there(group: int) -> bool:
    """Whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def first_lines(process: subprocess.Popen[str]) -> list[str]:
    """Wait until the command has told some results."""
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(LINES)]


def written(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "results.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "command",
    [
        SIMULATED,
        ("test", "sim:reference"),
        pytest.param(("test", "lab:linux", "-4"), marks=needs_root),
        pytest.param(("test", "lab:linux"), marks=needs_root),
        ("client", "sim:reference", "-4"),
        pytest.param(("client", "lab:curl", "-4"), marks=needs_root),
        pytest.param(("pkt", "run"), marks=needs_root),
        ("pkt", "run", "--target", "sim:reference"),
    ],
    ids=" ".join,
)
def test_what_was_finished_is_reported(
    tmp_path: Path, command: Sequence[str], how: signal.Signals
) -> None:
    if "lab:curl" in command and shutil.which("curl") is None:
        pytest.skip("curl is missing")
    out = tmp_path / "out"
    process = begun(tmp_path, *command, "--out", str(out))
    told = first_lines(process)
    os.killpg(process.pid, how)
    said, complaint = process.communicate(timeout=LONGEST)
    assert process.returncode == 130, complaint
    assert complaint.startswith("scapy-tfo: interrupted: ")
    assert complaint.count("\n") == 1, complaint
    found = written(out)
    names = {
        Path(each.split()[1]).name.removesuffix(".pkt") for each in told if not each.startswith(" ")
    }
    assert names <= {each["case"].rpartition("/")[2] for each in found["results"]}
    assert found["summary"]["exit_status"] == 130
    assert any("interrupted: " in each for each in found["summary"]["notes"])
    numbers = [number for each in found["results"] for number in each["packets"]]
    captured = sum(1 for _ in read_frames(out / "capture.pcapng"))
    assert captured >= max(numbers, default=1)
    assert (out / "report.txt").read_text("utf-8").count("interrupted") >= 2
    assert not (out / NAME).exists()
    assert "interrupted before the end" in said or "pkt" in command


def test_a_soak_tells_of_the_runs_that_there_are(tmp_path: Path) -> None:
    process = begun(
        tmp_path, "soak", "sim:reference", "--only", "ACC-2", "--runs", "5000", "--out", "out"
    )
    until = time.monotonic() + LONGEST
    while not (tmp_path / "out" / NAME).exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said, complaint = process.communicate(timeout=LONGEST)
    assert process.returncode == 130, complaint
    kept = [json.loads(each) for each in (tmp_path / "out" / NAME).read_text().splitlines()]
    assert f"{len(kept)} runs" in said
    assert f"interrupted: {5000 - len(kept)} of 5000 runs are missing" in complaint
    assert all(each["verdicts"]["pass"] for each in kept)


@pytest.mark.parametrize("command", [SIMULATED, ("client", "sim:reference", "-4")], ids=" ".join)
def test_one_that_is_killed_leaves_a_line_for_each_result(
    tmp_path: Path, command: Sequence[str]
) -> None:
    process = begun(tmp_path, *command)
    told = first_lines(process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=LONGEST)
    (journal,) = (tmp_path / "tfo-results").glob(f"*/{NAME}")
    kept = [json.loads(each) for each in journal.read_text("utf-8").splitlines()]
    assert [each["case"] for each in kept[:LINES]] == [each.split()[1] for each in told]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_exploration_ends_with_its_processes(tmp_path: Path, how: signal.Signals) -> None:
    """Though the signal comes to the first one alone."""
    process = begun(tmp_path, "explore", "sim:reference", "--jobs", "2", "--for", "1h")
    until = time.monotonic() + LONGEST
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(children.read_text().split()) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(how)
    _, complaint = process.communicate(timeout=LONGEST)
    assert process.returncode == (-9 if how is signal.SIGKILL else 130), complaint
    assert "Traceback" not in complaint
    while is_there(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_there(process.pid)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_exploration_tells_what_it_has_found(tmp_path: Path, jobs: str) -> None:
    wrong = ("explore", "sim:accepts-any-cookie")
    process = begun(tmp_path, *wrong, "--jobs", jobs, "--for", "1h", "--out", "out")
    time.sleep(5.0)
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=LONGEST)
    assert process.returncode == 130, complaint
    assert complaint == "scapy-tfo: interrupted; what was found until then is told\n"
    assert "takes-text" in said
    assert list((tmp_path / "out").glob("*.json"))


@pytest.mark.parametrize("command", ["explore", "fuzz"])
def test_a_signal_that_comes_while_processes_are_made_is_not_lost(
    tmp_path: Path, command: str
) -> None:
    """It came to nothing in half of the runs, when Python called functions at a fork just then."""
    for _ in range(3):
        process = begun(tmp_path, command, "sim:reference", "--jobs", "2", "--for", "1h")
        until = time.monotonic() + LONGEST
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not children.read_text() and time.monotonic() < until:
            time.sleep(0.0005)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=LONGEST)
        assert process.returncode == 130, complaint


def test_one_that_ends_leaves_no_journal(tmp_path: Path) -> None:
    subprocess.run([*OURS, *SIMULATED, "--only", "OPT", "--quiet"], cwd=tmp_path, check=True)
    assert list((tmp_path / "tfo-results").glob("*/results.json"))
    assert not list((tmp_path / "tfo-results").glob(f"*/{NAME}"))


@needs_root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare (util-linux) is missing")
def test_the_summary_is_told_before_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    script = (
        f"mount -t tmpfs -o size=32k none {out}; "
        f"{' '.join([*OURS, *SIMULATED])} --out {out}; status=$?; cp {out}/{NAME} {kept}; "
        "exit $status"
    )
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert " - exit 0: no requirement failed" in ended.stdout
    first, *_, last = ended.stderr.splitlines()
    assert "results are not kept while the run lasts: No space left on device" in first
    assert last.startswith("scapy-tfo: cannot write")
    assert "No space left on device" in last
    assert "Traceback" not in ended.stderr
    whole = kept.read_text("utf-8").rpartition("\n")[0].splitlines()
    assert len([json.loads(each) for each in whole]) > LINES


INTERRUPTED_IN_A_FORK = """
import os, signal, sys
from scapy_tfo.lab.process.forking import signals_held_back

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with signals_held_back() as let_through:
        child = os.fork()
        if not child:
            let_through()
            os._exit(0)
except KeyboardInterrupt:
    sys.exit(7)
"""


def test_ctrl_c_in_the_middle_of_a_fork_is_not_lost() -> None:
    """Python prints and forgets what a function raises that it calls at a fork."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_A_FORK], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (7, "")
