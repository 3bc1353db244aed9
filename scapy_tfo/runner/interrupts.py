"""Holds Ctrl-C back from code that it would leave half done.

An exception that a signal raises wherever the interpreter happens to be leaves an event loop and
its tasks in disorder, and is printed and forgotten in functions that the interpreter calls by
itself (a weak reference's, an object's `__del__`). So a run asks for it where it can stop.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class _Hold:
    """Ctrl-C while it is held back. stop: ends what is under way, where that can be ended."""

    def __init__(self) -> None:
        self.count = 0
        self.stop: Callable[[], None] = lambda: None

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
        self.stop()

    def check(self) -> None:
        if self.count:
            raise KeyboardInterrupt


_hold: _Hold | None = None


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back, and yield what raises KeyboardInterrupt if it has come; so does the end.

    The second Ctrl-C is not held back. Does nothing in other threads, and where something else
    handles the signal.
    """
    global _hold
    if _hold is not None:
        yield _hold.check
        return
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    _hold = hold = _Hold()
    try:
        signal.signal(signal.SIGINT, hold.interrupt)
        yield hold.check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _hold = None
    hold.check()


def run_until_interrupted(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop. Ctrl-C cancels it; when it has tidied up and ended,
    KeyboardInterrupt is raised, as by asyncio.run."""
    with interrupts_held() as check:
        hold = _hold
        if hold is None:
            return loop.run_until_complete(work)
        if hold.count:
            work.close()
            raise KeyboardInterrupt
        task = loop.create_task(work)

        def stop() -> None:
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)

        hold.stop = stop
        try:
            result = loop.run_until_complete(task)
        except asyncio.CancelledError:
            check()
            raise
        finally:
            hold.stop = lambda: None
        check()
        return result
