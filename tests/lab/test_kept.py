"""Programs of the user's: they are told ready, their end is told, and nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.process.kept import Kept

PATIENCE = 120.0

# What leaves its parent, its session and its group behind, and what ignores SIGTERM.
FAMILY = """
import os, signal, time
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("child", os.getpid(), flush=True)
    time.sleep(600)
print("parent", os.getpid(), flush=True)
time.sleep(600)
"""

KEEP = """
import asyncio, sys, time
from pathlib import Path
from scapy_tfo.lab.process.kept import Kept
kept = Kept([sys.executable, "-c", sys.argv[1]], what="it", directory=Path("."),
            environment={{}}, ready="child")
asyncio.run(kept.ready(30))
print("ready", flush=True)
{then}
"""


def kept(*argv, **options):
    wanted = {"what": "the stack", "directory": Path(), "environment": {}, **options}
    return Kept(argv, **wanted)


def ready(program, within=30.0):
    asyncio.run(program.ready(within))


def family(mark):
    """Processes whose command line has the mark."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in each.read_bytes() and each.parent.name != str(os.getpid()):
                found.append(each.parent.name)
        except OSError:
            continue
    return found


def nobody_left(mark):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not family(mark):
            return True
        time.sleep(0.02)
    return False


def test_it_is_ready_when_it_says_so():
    program = kept("sh", "-c", "echo $WORD; echo up and READY; exec sleep 600",
                   environment={"WORD": "hello"}, ready="READY")  # fmt: skip
    try:
        ready(program)
        assert program.ended() == ""
    finally:
        program.close()
        program.close()


def test_it_is_not_ready_in_time():
    program = kept("sleep", "600", ready="READY")
    with pytest.raises(TargetError, match=r"the stack is not ready after 0\.01 s: .*'READY'"):
        ready(program, 0.01)
    program.close()


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("sh", "-c", "echo no room >&2; exit 3"), "ended before it was ready: status 3: no room"),
        (("sh", "-c", "kill -9 $$"), "ended before it was ready: SIGKILL"),
        (("/does/not/exist",), "cannot be started: /does/not/exist: No such file"),
        (("/",), "cannot be started: /: Permission denied"),
    ],
)
def test_why_it_did_not_start(argv, told):
    program = kept(*argv, ready="READY")
    with pytest.raises(TargetError, match=told):
        ready(program)
    program.close()


def test_its_end_is_told_with_its_last_words():
    program = kept("sh", "-c", "echo READY; read x; echo bye", ready="READY")
    ready(program)
    until = time.monotonic() + PATIENCE
    while not program.ended() and time.monotonic() < until:
        time.sleep(0.01)
    assert program.ended() == "the stack ended: status 0: bye"
    program.close()


def test_it_may_say_much_without_being_held_up():
    program = kept("sh", "-c", "yes x | head -c 3000000; echo READY; exec sleep 600", ready="READY")
    ready(program)
    program.close()


def test_no_shell_sees_its_arguments():
    program = kept("echo", "$HOME; `id` READY", ready="$HOME; `id` READY")
    ready(program)
    program.close()


@pytest.mark.parametrize(
    ("then", "end"),
    [
        ("time.sleep(600)", signal.SIGKILL),
        ("time.sleep(600)", signal.SIGTERM),
        ("import os; os._exit(1)", None),
        ("kept.close()", None),
        (
            "import os\nif os.fork(): time.sleep(600)\nelse: os.setsid(); time.sleep(3)",
            signal.SIGKILL,
        ),
    ],
)
def test_it_and_its_children_end_with_the_run(then, end):
    mark = f"# {os.getpid()} {time.monotonic()}"
    run = subprocess.Popen(
        [sys.executable, "-c", KEEP.format(then=then), mark + FAMILY],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout.readline() == "ready\n"
    if end is not None:
        assert len(family(mark)) >= 3
        run.send_signal(end)
    run.wait()
    run.stdout.close()
    assert nobody_left(mark)
