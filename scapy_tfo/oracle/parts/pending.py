"""The account of pending fast opens at a listener that allows few (RFC 7413 section 5.1)."""

from __future__ import annotations

import enum
from typing import Protocol

from scapy_tfo.oracle.parts.handshake import Handshake, History

_COUNTS_ON = 55.0
COUNTS_NO_MORE = 65.0
"""Seconds around the minute for which a fast open counts on that was reset while pending
(paper section 3.4.1)."""
_ABANDONED = 190.0
"""Seconds after which no handshake is waited for any more (RFC 9293 section 3.8.3)."""


class Vacancy(enum.Enum):
    """Whether one more fast open is to be accepted."""

    FREE = "free"
    FULL = "full"
    UNSURE = "unsure"


class Counted(Protocol):
    """What is read of a connection to count it. states: bits of `state`; vague: what the target
    made of it is not known."""

    @property
    def handshake(self) -> Handshake: ...

    @property
    def history(self) -> History: ...

    @property
    def states(self) -> int: ...

    @property
    def vague(self) -> bool: ...


class Room:
    """limit: fast opens that may be pending. alone: nobody else opens any at this listener.
    slack: more than the limit that may be pending at this target. resets_last: seconds for which
    one may count on that was reset while pending."""

    def __init__(
        self, limit: int, *, alone: bool, slack: int = 0, resets_last: float = COUNTS_NO_MORE
    ) -> None:
        self.limit = limit
        self._resets_last = resets_last
        self._slack = slack
        self._alone = alone
        self._links: list[Counted] = []
        self._ghosts: list[tuple[float, int]] = []

    def join(self, link: Counted) -> None:
        """A connection at this listener."""
        self._links.append(link)

    def leave_behind(self, link: Counted) -> None:
        """A connection that was reset while pending makes room for another on its ports."""
        reset_at, perhaps_at = link.history.reset_at, link.history.perhaps_reset_at
        if link.handshake.accepted and reset_at is not None:
            self._ghosts.append((reset_at, _is_sure(link.handshake)))
        elif link.handshake.accepted and perhaps_at is not None:
            self._ghosts.append((perhaps_at, 0))

    def vacancy(self, now: float) -> Vacancy:
        """As far as it can be known from outside."""
        least, most = self._count(now)
        if least >= self.limit + self._slack:
            return Vacancy.FULL
        return Vacancy.FREE if self._alone and most < self.limit else Vacancy.UNSURE

    def is_crowded(self, now: float) -> bool:
        """Whether as many as the limit may be pending."""
        return self._count(now)[1] >= self.limit

    def _count(self, now: float) -> tuple[int, int]:
        """Pending fast opens: at least, at most."""
        least = most = 0
        for link in self._links:
            a, b = self._pending(link, now)
            if link.vague:
                a, b = 0, max(b, link.handshake.perhaps_early)
            least, most = least + a, most + b
            perhaps_at = link.history.perhaps_reset_at
            # A SYN may have opened another one on its ports since.
            most += perhaps_at is not None and now - perhaps_at < self._resets_last
        for reset_at, sure in self._ghosts:
            least += sure * (now - reset_at < _COUNTS_ON)
            most += now - reset_at < self._resets_last
        return least, most

    def taken_clause(self) -> str:
        """The requirement that a fast open beyond the limit breaks."""
        if any(link.history.releases > 1 for link in self._links):
            return "LIM-7"
        if any(link.history.releases and not link.handshake.accepted for link in self._links):
            return "LIM-7"
        resets = self._ghosts or any(link.history.reset_at is not None for link in self._links)
        return "LIM-2" if resets else "LIM-1"

    def refused_clause(self, now: float) -> str:
        """The requirement that a refusal below the limit breaks."""
        shaken = [link.handshake for link in self._links]
        for each in shaken:
            late = now - each.syn_ack_at > COUNTS_NO_MORE
            if each.syn_acks and late and each.opened_at is None:
                return "AFT-10"
        return "LIM-3" if any(each.opened_at is not None for each in shaken) else "LIM-1"

    def _pending(self, link: Counted, now: float) -> tuple[int, int]:
        """How many pending requests a connection stands for: at least, at most."""
        it = link.handshake
        if it.rule is None or not it.rule.early:
            return 0, 0
        if it.iss is None:
            return 0, int(bool(link.states & 2))
        if not it.accepted:
            return 0, 0
        sure = _is_sure(it)
        reset_at = link.history.reset_at
        if reset_at is not None:
            ago = now - reset_at
            return (sure, 1) if ago < _COUNTS_ON else (0, int(ago < self._resets_last))
        if link.states == 2:
            return (sure, 1) if now - it.syn_ack_at < _ABANDONED else (0, 0)
        return (0, 0) if link.states == 4 else (0, 1)


def _is_sure(it: Handshake) -> int:
    """1 for what counts at every target: its text was taken, and its handshake did not end. Some
    take a fast open without text for a plain handshake."""
    return int(bool(it.taken) and it.opened_at is None)
