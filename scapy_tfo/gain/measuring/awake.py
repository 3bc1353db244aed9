"""Keeps the processors awake while something is measured.

Waking an idle virtual processor takes up to hundreds of microseconds, because its host has to let
it run again; a round trip of 0.1 ms then lasts several times as long.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError

LOOP, LATENCY, NONE = "loop", "latency", "none"
WAYS = (LOOP, LATENCY, NONE)
"""`LOOP`: a process of SCHED_IDLE on each core. `LATENCY`: /dev/cpu_dma_latency, which asks the
kernel for idle states that take no time to leave; a virtual processor may be put to sleep by its
host all the same."""

DEVICE = Path("/dev/cpu_dma_latency")
_LOOP = Path(__file__).with_name("busy_loop.py")
_START_LIMIT = 20.0
_SLEEPS, _SLEEP = 40, 0.002
_PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class WakeUp:
    """Seconds by which a process that sleeps for 2 ms wakes too late, on the worst core: the median
    and the 90th percentile."""

    median: float
    late: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Awake:
    """way: how the processors are kept awake. before, with_it: what waking up costs without and
    with that; with_it is None where nothing is done."""

    way: str
    before: WakeUp
    with_it: WakeUp | None

    @property
    def tells(self) -> str:
        """In words."""
        without = _shown(self.before)
        if self.with_it is None:
            return f"Nothing kept the processors awake: a wake-up costs {without} us"
        how = {LOOP: "A SCHED_IDLE loop on each core", LATENCY: str(DEVICE)}[self.way]
        return (
            f"{how} kept the processors awake: a wake-up costs {_shown(self.with_it)} us "
            f"(median, 90th percentile), without it {without}"
        )


@contextlib.contextmanager
def kept_awake(way: str) -> Iterator[Awake]:
    """Keep the processors that we may use awake, one of `WAYS`. Nothing of it is left afterwards,
    nor where this process is killed. Raises SetupError where the host does not allow it."""
    cores = sorted(os.sched_getaffinity(0))
    before = wake_up(cores)
    with contextlib.ExitStack() as undo:
        if way == LOOP:
            for core in cores:
                undo.enter_context(_loop_on(core))
        elif way == LATENCY:
            undo.enter_context(_no_latency())
        yield Awake(way=way, before=before, with_it=None if way == NONE else wake_up(cores))


def wake_up(cores: list[int]) -> WakeUp:
    """What it costs now, on the worst of these cores. Takes 0.1 s for each."""
    found = []
    ours, policy, priority = os.sched_getaffinity(0), os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        # As the processes that measure: it is the core that has to wake, not others to give way.
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        for core in cores:
            os.sched_setaffinity(0, {core})
            late = sorted(_lateness() for _ in range(_SLEEPS))
            found.append(WakeUp(late[_SLEEPS // 2], late[_SLEEPS * 9 // 10]))
    finally:
        os.sched_setaffinity(0, ours)
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, priority)
    return max(found, key=lambda each: each.median)


def _lateness() -> float:
    # The default slack of 50 us would hide what a wake-up costs. It is this thread's own.
    _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    try:
        began = time.perf_counter()
        time.sleep(_SLEEP)
        return time.perf_counter() - began - _SLEEP
    finally:
        _libc.prctl(_PR_SET_TIMERSLACK, 0, 0, 0, 0)


@contextlib.contextmanager
def _loop_on(core: int) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_LOOP), str(os.getpid()), str(core)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], _START_LIMIT)
        if not ready or not process.stdout.readline():
            raise SetupError(f"no loop keeps core {core} awake: --awake none goes without")
        yield
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def _no_latency() -> Iterator[None]:
    """The kernel keeps to the request for as long as the file is open (pm_qos_interface.rst)."""
    try:
        file = DEVICE.open("wb", buffering=0)
    except OSError as error:
        raise SetupError(f"cannot open {DEVICE}: {error.strerror}; choose --awake loop") from None
    with file:
        file.write(bytes(4))
        yield


def _shown(cost: WakeUp) -> str:
    return f"{cost.median * 1e6:.0f}, {cost.late * 1e6:.0f}"
