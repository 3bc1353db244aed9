"""Gives scripts a higher priority, since waiting for a processor distorts their times."""

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
    """Put this thread, and those that it makes, before all ordinary ones, where the host allows it
    and has processors to spare."""
    if (os.cpu_count() or 1) > 1:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))


def can_hurry() -> bool:
    """Whether `hurry` has an effect here: ordinary users may not, as a rule."""
    try:
        hurry()
        return os.sched_getscheduler(0) == os.SCHED_RR
    finally:
        take_turns()


def take_turns() -> None:
    """Be an ordinary thread again."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hurry, and collect no garbage meanwhile."""
    gc.disable()
    sys.setswitchinterval(_SWITCH)
    hurry()
    try:
        yield
    finally:
        take_turns()
        gc.enable()
