"""Forks at a moment when no signal can be lost."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

_ENDS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


@contextlib.contextmanager
def signals_held_back() -> Iterator[Callable[[], None]]:
    """Hold back the signals that end a run, for as long as it takes to fork.

    Libraries have Python call functions at a fork (logging does), and an exception in these is
    printed and forgotten: a KeyboardInterrupt that came just then ended nothing. Yields what the
    child calls to let signals through again.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def let_through() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
        yield let_through
    finally:
        let_through()
