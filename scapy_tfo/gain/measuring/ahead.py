"""Lets what starts measurements go before other programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_HIGHEST = -20
"""Of those that have no priority in real time (setpriority(2))."""


@contextlib.contextmanager
def ahead() -> Iterator[None]:
    """Let this process, and those that it starts meanwhile, go before others that have no priority
    in real time, where the host allows it: what starts measurements may compute for longer."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _HIGHEST)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, usual)
