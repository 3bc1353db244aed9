"""An asyncio loop on virtual time: its clock jumps to the next timer, so waiting costs nothing.

And what runs beside something else on any loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from scapy_tfo.runner.interrupts import run_until_interrupted

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_RESOLUTION = 1e-9
"""Seconds by which a timer may come early, for sums of times are not exact."""


class StalledError(RuntimeError):
    """Everything waits and nothing is due: a conversation that would hang for ever."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop on virtual time: deterministic, and as fast as its callbacks.

    It watches no file and takes nothing from other threads, so it asks the system for nothing.
    """

    # What BaseEventLoop keeps callbacks and timers in.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self._clock = start

    def time(self) -> float:
        """Virtual seconds."""
        return self._clock

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _write_to_self(self) -> None:
        """Nothing sleeps that a signal would have to wake."""

    def _run_once(self) -> None:
        """One turn: where nothing is ready, the clock goes on to the next timer."""
        ready, timers = self._ready, self._scheduled
        while timers and timers[0].cancelled():
            heapq.heappop(timers)
        if not ready:
            if not timers:
                raise StalledError("nothing is due: the conversation would never end")
            self._clock += max(0.0, timers[0].when() - self.time())
        due = self.time() + _RESOLUTION
        while timers and timers[0].when() < due:
            ready.append(heapq.heappop(timers))
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()


def run_virtually(conversation: Coroutine[Any, Any, T], *, start: float = 0.0) -> T:
    """Run a coroutine to its end on virtual time that begins at `start` seconds.

    Raises StalledError where it would wait for ever.
    """
    # Not asyncio.Runner: it handles SIGINT anew for each of the hundreds of short loops of a run.
    loop = VirtualLoop(start)
    try:
        return run_until_interrupted(loop, conversation)
    finally:
        end_loop(loop)


def end_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what still runs on a loop, and close it."""
    left = asyncio.all_tasks(loop)
    for each in left:
        each.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.close()


@contextlib.asynccontextmanager
async def beside(*watches: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run these until the block ends."""
    watch = asyncio.gather(*watches)
    try:
        yield
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
