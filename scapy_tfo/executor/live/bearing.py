"""How many programs a second a target of others is given: as many as it bears.

A stack in userspace may have room for a hundred half-open connections, and be silent where it has
none. So what went wrong in a program is not believed before a control handshake behind it is
answered. While none is, no program begins, and what went wrong is forgotten and done again; then
half as many programs a second begin as before, and more by and by (RFC 5681 section 3.1).
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.live.earlier import TRIES
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.program.program import Program

LONGEST = 140.0
"""Seconds that a target may be full before it counts as gone: a half-open connection is held for
127 s by SYN-ACKs after 1, 2, 4, 8, 16 and 32 s, and 64 s of waiting for an answer to the last."""

_PAUSE = 0.5
"""Seconds between two controls while none is answered."""

_DOUBLES_IN = 20.0
"""Seconds after which the rate is twice what it was cut to."""

_LEAST = 4.0
"""Programs a second, below which no target brings us."""

_RECENT = 256
_AT_ONCE = 0.2
"""Seconds' worth of programs that may begin at once after a pause."""

Doubtful = tuple[int, Program, Verdict]
"""What went wrong: number, program, what it showed."""


class Bearing:
    """times: the target was full. waited: seconds in all. lowest: programs a second, at the least.

    doubtful: what went wrong since the last control.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.times = 0
        self.waited = 0.0
        self.lowest = math.inf
        self.doubtful: list[Doubtful] = []
        self._clock = clock
        self._cut_to, self._cut_at = math.inf, 0.0
        self._full_since: float | None = None
        self._asks_at = 0.0
        self._is_asking = False
        self._next = 0.0
        self._begun: deque[float] = deque(maxlen=_RECENT)

    def begin(self) -> None:
        """Programs come anew; a control that was under way is forgotten with the others."""
        self.doubtful = []
        self._is_asking = False

    def rate(self) -> float:
        """Programs a second that may begin now."""
        return self._cut_to * (1 + (self._clock() - self._cut_at) / _DOUBLES_IN)

    def may_begin(self) -> bool:
        """Whether one more program may."""
        return self._full_since is None and self._next <= self._clock()

    def begun(self) -> None:
        """Count a program."""
        now = self._clock()
        self._begun.append(now)
        if not math.isinf(self._cut_to):
            self._next = max(self._next, now - _AT_ONCE) + 1 / self.rate()

    @property
    def is_given_up(self) -> bool:
        """Whether it has been full for too long."""
        return self._full_since is not None and self._clock() - self._full_since > LONGEST

    def check(self, name: str) -> None:
        """Raises TargetError where the target of that name has been full for too long."""
        if self.is_given_up:
            raise TargetError(f"{name} has answered no control handshake for {LONGEST:.0f} s")

    def wants_control(self) -> bool:
        """Whether a control is to be sent now; it is, then."""
        if self._is_asking or not (self.doubtful or self._full_since is not None):
            return False
        if self._clock() < self._asks_at:
            return False
        self._is_asking = True
        return True

    def told(self, *, answered: bool) -> list[Doubtful]:
        """How the control went; returns what may be believed, or is to be done again."""
        self._is_asking = False
        doubtful, self.doubtful = self.doubtful, []
        if answered:
            self.has_room()
        else:
            self.is_full()
        return doubtful

    def ask_anew(self) -> None:
        """The control that was under way told nothing."""
        self._is_asking = False

    def is_full(self) -> None:
        """A control was not answered."""
        now = self._clock()
        self._asks_at = now + _PAUSE
        if self._full_since is not None:
            return
        self._full_since = now
        self.times += 1
        self._cut_to = max(min(self._measured(now), self.rate()) / 2, _LEAST)
        self._cut_at = now
        self.lowest = min(self.lowest, self._cut_to)

    def has_room(self) -> None:
        """A control was answered."""
        if self._full_since is not None:
            now = self._clock()
            self.waited += now - self._full_since
            # The time without programs is none in which it bore them.
            self._cut_at = now
            self._full_since = None

    def _measured(self, now: float) -> float:
        """Programs that began in a second, of late."""
        return len(self._begun) / max(now - self._begun[0], 1.0) if self._begun else math.inf

    def told_in_words(self) -> str:
        """One line for a report, "" where it always had room."""
        if not self.times:
            return ""
        return (
            f"The target had no room for a control handshake {self.times} time(s), for"
            f" {self.waited:.0f} s in all: what went wrong then was done again, with"
            f" {self.lowest:.0f} programs a second at the least"
        )


class Again:
    """Runs what went wrong once more, before it is believed. waiting: where it goes.

    begun: programs that were run again; excused: those of them that passed then.
    """

    def __init__(self, waiting: deque[tuple[int, Program]]) -> None:
        self.begun = self.excused = 0
        self._waiting = waiting
        self._tried: set[int] = set()
        self._moved: dict[int, int] = {}

    def moves(self, number: int, program: Program) -> bool:
        """Whether a program is run once more, on other ports, because an earlier connection was in
        its way. A control (a negative number) is not: another one follows."""
        if number < 0:
            return True
        tries = self._moved[number] = self._moved.get(number, 1) + 1
        if tries > TRIES:
            return False
        self._waiting.append((number, program))
        return True

    def believes(self, number: int, program: Program, verdict: Verdict) -> bool:
        """Whether a verdict stands. What went wrong the first time does not: a packet may have been
        lost, the target busy with the others, or an older connection still there."""
        if number in self._tried:
            self._tried.remove(number)
            self.excused += not verdict.violations
            return True
        if not verdict.violations:
            return True
        self._tried.add(number)
        self.begun += 1
        self._waiting.append((number, program))
        return False
