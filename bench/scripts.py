"""Compares how long our engine and packetdrill itself take to run scripts, in one run.

    python bench/scripts.py [--alone] [DIRECTORY or FILE ...]    (default: our own server scripts)

For all scripts it prints the wall time of both engines and their ratio; for the shortest script,
the mean time of several runs in a row, without the start of an interpreter; and the processor time
of a command that runs this script alone, with all that it starts. Without packetdrill on PATH it
measures our engine only. `--alone` measures the command only.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.checks.portable import refuse_additions
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import IPV4, Settings
from scapy_tfo.pkt.library import find_scripts, own_directory, task_of
from scapy_tfo.pkt.local import packetdrill
from scapy_tfo.pkt.local.pool import default_jobs, run_all
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome

RUNS = 20
ALONE = "--alone"
ALONE_IN_NAMESPACE = 'ip link set lo up; exec "$0" short.pkt'
SHORT = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 1000 <mss 1460>
+0 > S. 0:0(0) ack 1 <mss 1460>
+0 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 2 if nothing can be measured."""
    places = [each for each in arguments if each != ALONE]
    try:
        tasks = _tasks(places or [str(own_directory() / "server")])
        try:
            binary = packetdrill.find()
        except SetupError as error:
            binary = ""
            print(f"our engine only: {error}")
        if ALONE not in arguments:
            _compare_all(tasks, binary)
            _compare_short(tasks[0], binary)
        _compare_alone(binary)
    except SetupError as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    return 0


def _tasks(places: Sequence[str]) -> list[Task]:
    tasks = []
    for script in find_scripts(places):
        try:
            refuse_additions(parse(script.text), script.text, str(script.path))
        except ScriptError:
            continue
        if IPV4 in script.versions:
            tasks.append(task_of(script, IPV4, Settings(), {}))
    if not tasks:
        raise SetupError("none of these scripts can be run by both engines")
    return tasks


def _compare_all(tasks: Sequence[Task], binary: str) -> None:
    passed = 0
    started = time.perf_counter()
    for _, answer in run_all(tasks, jobs=default_jobs()):
        passed += isinstance(answer, Outcome) and not answer.failures
    ours = time.perf_counter() - started
    jobs = default_jobs()
    print(f"{len(tasks)} scripts, our engine, {jobs} at a time: {ours:.1f} s, {passed} pass")
    if binary:
        started = time.perf_counter()
        answers = [packetdrill.run(binary, task) for task in tasks]
        theirs = time.perf_counter() - started
        passed = sum(isinstance(each, Outcome) and not each.failures for each in answers)
        print(
            f"{len(tasks)} scripts, packetdrill, one after another: {theirs:.1f} s, {passed} pass"
        )
        print(f"our engine takes {ours / theirs:.3f} of packetdrill's time")


def _compare_short(like: Task, binary: str) -> None:
    """One after another, as often as RUNS says."""
    started = time.perf_counter()
    _must_pass([answer for _, answer in run_all([_short(like.directory)] * RUNS, jobs=1)])
    ours = (time.perf_counter() - started) / RUNS
    print(f"a short script, our engine: {ours * 1e3:.1f} ms")
    if binary:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "short.pkt").write_text(SHORT)
            task = _short(Path(directory))
            started = time.perf_counter()
            _must_pass([packetdrill.run(binary, task) for _ in range(RUNS)])
            theirs = (time.perf_counter() - started) / RUNS
        print(f"a short script, packetdrill: {theirs * 1e3:.1f} ms")
        print(f"our engine takes {ours / theirs:.3f} of packetdrill's time")


def _compare_alone(binary: str) -> None:
    """By turns, so that what else the machine does slows down both."""
    commands = {"our engine": [sys.executable, "-m", "scapy_tfo", "pkt", "run", "short.pkt"]}
    if binary:
        commands["packetdrill"] = ["unshare", "--net", "sh", "-c", ALONE_IN_NAMESPACE, binary]
    taken: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "short.pkt").write_text(SHORT)
        for _ in range(RUNS):
            for name, command in commands.items():
                taken[name].append(_processor_time(command, directory))
    middle = {name: statistics.median(each) for name, each in taken.items()}
    for name, seconds in middle.items():
        print(f"a command that runs it alone, {name}: {seconds * 1e3:.0f} ms of processor time")
    if binary:
        ratio = middle["our engine"] / middle["packetdrill"]
        print(f"our engine takes {ratio:.1f} times packetdrill's")


def _processor_time(command: Sequence[str], directory: str) -> float:
    """Seconds, in the program and in the kernel, of a command and of what it starts."""
    before = os.times()
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    after = os.times()
    if ran.returncode:
        raise SetupError(f"{' '.join(command)} fails: {ran.stdout}{ran.stderr}")
    return (
        after.children_user - before.children_user + after.children_system - before.children_system
    )


def _short(directory: Path) -> Task:
    return Task("short.pkt", SHORT, directory, Settings())


def _must_pass(answers: Sequence[object]) -> None:
    for answer in answers:
        if not isinstance(answer, Outcome) or answer.failures:
            raise SetupError(f"the short script fails: {answer}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
