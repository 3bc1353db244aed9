"""The account of pending fast opens at a listener that allows few (RFC 7413 section 5.1)."""

from __future__ import annotations

import enum
from typing import Protocol

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


class EarlyOrNot(Protocol):
    """The rule that a SYN was judged by. early: its text may reach the application at once."""

    @property
    def early(self) -> bool: ...


class Counted(Protocol):
    """What is read of a connection to count it.

    rule: of its SYN, None before one was sent. iss: the target's, None before a SYN-ACK. states:
    bits of `state`. accepted: the SYN-ACK accepted the fast open, and taken is how much text it
    acknowledged. syn_acks, syn_ack_at: how many came, and when the last did. opened_at, reset_at:
    when our ACK and our RST went out. releases: RSTs of ours after a SYN-ACK.
    """

    iss: int | None
    states: int
    accepted: bool
    taken: int | None
    syn_acks: int
    syn_ack_at: float
    opened_at: float | None
    reset_at: float | None
    releases: int

    @property
    def rule(self) -> EarlyOrNot | None: ...


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
        self._ghosts: list[float] = []

    def join(self, link: Counted) -> None:
        """A connection at this listener."""
        self._links.append(link)

    def leave_behind(self, reset_at: float) -> None:
        """A connection that was reset while pending makes room for another on its ports."""
        self._ghosts.append(reset_at)

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
            least, most = least + a, most + b
        for reset_at in self._ghosts:
            least += now - reset_at < _COUNTS_ON
            most += now - reset_at < self._resets_last
        return least, most

    def taken_clause(self) -> str:
        """The requirement that a fast open beyond the limit breaks."""
        if any(link.releases > 1 for link in self._links):
            return "LIM-7"
        if any(link.releases and not link.accepted for link in self._links):
            return "LIM-7"
        resets = self._ghosts or any(link.reset_at is not None for link in self._links)
        return "LIM-2" if resets else "LIM-1"

    def refused_clause(self, now: float) -> str:
        """The requirement that a refusal below the limit breaks."""
        for link in self._links:
            if link.syn_acks and now - link.syn_ack_at > COUNTS_NO_MORE and link.opened_at is None:
                return "AFT-10"
        return "LIM-3" if any(link.opened_at is not None for link in self._links) else "LIM-1"

    def _pending(self, link: Counted, now: float) -> tuple[int, int]:
        """How many pending requests a connection stands for: at least, at most."""
        if link.rule is None or not link.rule.early:
            return 0, 0
        if link.iss is None:
            return 0, int(bool(link.states & 2))
        if not link.accepted:
            return 0, 0
        sure = int(bool(link.taken))
        if link.reset_at is not None:
            ago = now - link.reset_at
            return (sure, 1) if ago < _COUNTS_ON else (0, int(ago < self._resets_last))
        if link.states == 2:
            return (sure, 1) if now - link.syn_ack_at < _ABANDONED else (0, 0)
        return (0, 0) if link.states == 4 else (0, 1)
