"""Ahead of what is in no hurry: a script that is kept waiting measures the wait."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator

_PRIORITY = 2
"""Above the lowest, which packetdrill takes and holds in a busy loop."""

_SWITCH = 1e-4
"""Seconds after which a thread that waits for Python's global lock gets it."""


def hurry() -> None:
    """Put this thread before all ordinary ones, where the host allows it and has processors to
    spare. Its children are ordinary again, its threads too."""
    if (os.cpu_count() or 1) > 1:
        with contextlib.suppress(OSError):
            policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, policy, os.sched_param(_PRIORITY))


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hurry, and collect no garbage meanwhile."""
    gc.collect()
    gc.disable()
    sys.setswitchinterval(_SWITCH)
    hurry()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        gc.enable()
