"""Processors that are kept awake, and nothing of that left, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.measuring.awake import DEVICE, LATENCY, LOOP, NONE, kept_awake

PROGRAM = """
import os, sys, time
from scapy_tfo.gain.measuring.awake import kept_awake
with kept_awake("loop"):
    print("awake", flush=True)
    time.sleep(600)
"""


def loops_of(parent: int) -> list[int]:
    """The busy loops that a process has started."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        ours = any(word.endswith(b"busy_loop.py") for word in words)
        if ours and str(parent).encode() in words:
            found.append(int(each.name))
    return found


def gone(parent: int) -> bool:
    """Once the kernel has had time to end them."""
    for _ in range(200):
        if not loops_of(parent):
            return True
        time.sleep(0.05)
    return False


def test_a_loop_computes_on_each_core_only_where_nobody_else_wants_it() -> None:
    with kept_awake(LOOP) as awake:
        there = loops_of(os.getpid())
        assert {os.sched_getscheduler(each) for each in there} == {os.SCHED_IDLE}
        cores = sorted(core for each in there for core in os.sched_getaffinity(each))
        assert cores == sorted(os.sched_getaffinity(0))
        assert awake.with_it is not None
        assert "SCHED_IDLE" in awake.tells
    assert not loops_of(os.getpid())


def test_an_error_leaves_no_loop() -> None:
    with pytest.raises(ValueError, match="broken"), kept_awake(LOOP):
        raise ValueError("broken")
    assert not loops_of(os.getpid())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_who_measured_is_ended_and_leaves_no_loop(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"awake\n"
            assert loops_of(process.pid)
            process.send_signal(how)
            process.wait(20)
        finally:
            process.kill()
    assert gone(process.pid)


def test_the_device_is_kept_open_for_as_long_as_it_is_needed() -> None:
    def is_open() -> bool:
        held = (each.resolve() for each in Path("/proc/self/fd").iterdir())
        return DEVICE in held

    try:
        with kept_awake(LATENCY) as awake:
            assert is_open()
            assert str(DEVICE) in awake.tells
    except SetupError as error:
        pytest.skip(str(error))
    assert not is_open()


def test_nothing_is_done_where_nothing_is_wanted() -> None:
    ours = os.sched_getaffinity(0), os.sched_getscheduler(0)
    with kept_awake(NONE) as awake:
        assert not loops_of(os.getpid())
        assert awake.with_it is None
        assert awake.before.median > 0
        assert "Nothing kept" in awake.tells
    assert ours == (os.sched_getaffinity(0), os.sched_getscheduler(0))
