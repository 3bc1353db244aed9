"""An asyncio loop whose clock jumps: a timer of a minute costs nothing."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StalledError(RuntimeError):
    """Everything waits and nothing is due: a conversation that would hang for ever."""


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: where it would, it moves the clock on."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise StalledError("nothing is due: the conversation would never end")
            self.clock += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time: deterministic, and as fast as its callbacks."""

    def __init__(self, start: float = 0.0) -> None:
        self._jumping = _JumpingSelector()
        self._jumping.clock = start
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds."""
        return self._jumping.clock


def run_virtually(conversation: Coroutine[Any, Any, T], *, start: float = 0.0) -> T:
    """Run a coroutine to its end on virtual time that begins at `start` seconds.

    Raises StalledError where it would wait for ever.
    """
    # Not asyncio.Runner: it handles SIGINT anew for each of the hundreds of short loops of a run.
    loop = VirtualLoop(start)
    try:
        return loop.run_until_complete(conversation)
    finally:
        loop.run_until_complete(_cancel_others())
        loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
