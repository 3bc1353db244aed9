"""Gives processes that measure or keep time priority over others on this machine."""

from __future__ import annotations

import contextlib
import os

LINK, END = 1, 2
"""Priorities in real time, before all that has none: a link waits busily for its packets, and must
not keep from the core whom they are for."""

_HIGHEST = -20
"""Of the others (setpriority(2))."""


def go_first(pid: int = 0, priority: int = END) -> None:
    """Let a process or thread, 0 for this one, have a core as soon as it wants one, where the host
    allows it (sched(7)). It must not compute for long: others starve meanwhile."""
    try:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(priority))
    except OSError:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, _HIGHEST)
