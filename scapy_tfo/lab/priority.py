"""Processes that measure time, or keep it, go before others on this machine."""

from __future__ import annotations

import contextlib
import os

HIGHEST = -20
"""See setpriority(2)."""


def go_first(pid: int = 0) -> None:
    """Give a process or thread, 0 for this one, the highest priority, where the host allows it."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, HIGHEST)
