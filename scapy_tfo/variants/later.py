"""A stack that does things at a time of its own choice, and knows what time it is."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from scapy_tfo.reference.stack import Stack


class LaterStack(Stack):
    """The reference with timers for what it has no timer for. clock: when it was last called."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.clock = 0.0
        self._waiting: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = itertools.count()

    def receive(self, packet: bytes, now: float) -> None:
        self.clock = now
        super().receive(packet, now)

    def deadline(self) -> float | None:
        own = self._waiting[0][0] if self._waiting else None
        other = super().deadline()
        return min((each for each in (own, other) if each is not None), default=None)

    def on_timer(self, now: float) -> None:
        self.clock = now
        while self._waiting and self._waiting[0][0] <= now:
            heapq.heappop(self._waiting)[2](now)
        super().on_timer(now)

    def later(self, when: float, do: Callable[[float], None]) -> None:
        """Call with the time at `when`, which must lie ahead."""
        heapq.heappush(self._waiting, (when, next(self._order), do))


def later(stack: object, when: float, do: Callable[[float], None]) -> None:
    """The same for the stack of a connection, which must be a LaterStack."""
    assert isinstance(stack, LaterStack)
    stack.later(when, do)


def clock(stack: object) -> float:
    """The time of a connection's stack, which must be a LaterStack."""
    assert isinstance(stack, LaterStack)
    return stack.clock
