"""Processes that measure time, or keep it, go before others on this machine."""

from __future__ import annotations

import contextlib
import os

_LEAST = 1
"""Of the priorities in real time: before all that has none."""

_HIGHEST = -20
"""Of the others (setpriority(2))."""


def go_first(pid: int = 0) -> None:
    """Let a process or thread, 0 for this one, have a core as soon as it wants one, where the host
    allows it (sched(7)). It must not compute for long: others starve meanwhile."""
    try:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(_LEAST))
    except OSError:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, _HIGHEST)
