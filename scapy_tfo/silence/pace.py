"""How many cases are under way at a time: as many as the target bears.

Additive increase, multiplicative decrease, as a TCP sender does it (RFC 5681 section 3.1): each
control handshake that is answered soon lets a few more cases begin; one that is late, or not
answered at all, halves their number, once for all handshakes that were already on their way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

FIRST = 8
"""Cases under way at first, before anything is known."""

_STEP, _SMALL_STEP = 8, 1
"""Cases more for each answer that comes soon: at first, and once the target was seen to be full."""

_ROUND = 1.0
"""Seconds in which one overload halves the number once."""

_AT_ONCE, _WITHIN_A_CASE = (40, 16, 8), (8, 4, 4)
"""Cases under way at a time, at most, and conversations of one case, but one where room was short:
at first, then for those tried again, in a quieter setting; later attempts are like the third."""

AT_ONCE_AT_OURS = 64
"""The same, at first, at a target of our own: it is known to bear them."""

_AT_ONCE_WHERE_SLOW, _WITHIN_WHERE_SLOW = (40, 8, 4), (8, 4, 2)
"""The same at a target that was ever late with a control. One that never was bears more: cases that
are tried again mostly wait."""

_LATE, _TIMES = 0.25, 4.0
"""An answer is late after the shortest round trip so many times, and so many seconds."""


def late_after(shortest: float) -> float:
    """Seconds after which the answer to a control is late. shortest: round trip so far, seconds."""
    return _LATE + _TIMES * shortest


class Pace:
    """A gate that lets as many cases in at a time as the target bears.

    most: cases at a time at most. first: at first. lowest: the fewest that it was ever brought
    down to.
    """

    def __init__(self, most: int = _AT_ONCE[0], first: int = FIRST) -> None:
        self.most = self.lowest = self._hoped_for = most
        self.limit = min(first, most)
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._was_full = False
        self._cut_at = float("-inf")

    @property
    def has_waiting(self) -> bool:
        """Whether more cases would run if they might."""
        return bool(self._waiting)

    def begin_wave(self, number: int) -> None:
        """From now on let in as many as for attempt `number`, counted from 0."""
        bears = _AT_ONCE_WHERE_SLOW if self._was_full else _AT_ONCE
        self.at_most(bears[min(number, len(bears) - 1)] if number else self._hoped_for)

    def within_a_case(self, number: int) -> int:
        """Conversations of one case that may be under way, in attempt `number`."""
        if not self._was_full:
            return _WITHIN_A_CASE[min(number, len(_WITHIN_A_CASE) - 1)]
        usual = _WITHIN_WHERE_SLOW[min(number, len(_WITHIN_WHERE_SLOW) - 1)]
        return min(usual, max(2, self.limit // 2))

    @property
    def notes(self) -> list[str]:
        """What is to be said of it in a report."""
        if not self._was_full:
            return []
        return [
            f"cases ran {self.lowest} at a time at the least, where {self._hoped_for} might: with"
            " more, control handshakes were answered late or not at all"
        ]

    def prompt(self) -> None:
        """A control was answered soon."""
        step = _SMALL_STEP if self._was_full else _STEP
        self.limit = min(self.limit + step, self.most)
        self._let_in()

    def overloaded(self, now: float) -> None:
        """A control was answered late, or not at all. now: seconds."""
        if now < self._cut_at + _ROUND:
            return
        self._cut_at = now
        self._was_full = True
        self.limit = max(self.limit // 2, 1)
        self.lowest = min(self.lowest, self.limit)

    def at_most(self, most: int) -> None:
        """From now on, let no more than so many in, and fewer where the target bears fewer."""
        self.most = most
        self.limit = min(self.limit, most)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until one more may be under way, and be under way until the end of the block."""
        await self._enter()
        try:
            yield
        finally:
            self._under_way -= 1
            self._let_in()

    async def _enter(self) -> None:
        if self._under_way < self.limit and not self._waiting:
            self._under_way += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._under_way -= 1
                self._let_in()
            raise

    def _let_in(self) -> None:
        while self._waiting and self._under_way < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
