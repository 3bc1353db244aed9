"""Where a segment stands."""

from __future__ import annotations

from dataclasses import dataclass

_LARGEST_WINDOW = 65_535 << 12
"""Bytes; unless the window is scaled by more."""


@dataclass(slots=True)
class Place:
    """Where a segment of the peer stands, in relative numbers.

    start: of its text. length: numbers that it takes. next: of the text that the peer has sent so
    far without a gap; last: of all of it. ack: None without one. una, end: what the peer has
    acknowledged before, and the end of what came. taken: what the judged end has acknowledged.
    edge: the right edge of its window. limit: of the largest that it was offered. times: agreed on.
    ecn: likewise. open: a segment behind the SYN-ACK has come.
    """

    start: int
    length: int
    next: int
    last: int
    ack: int | None
    una: int
    end: int
    taken: int
    edge: int | None
    limit: int | None
    times: bool
    ecn: bool
    open: bool

    @property
    def offered(self) -> int:
        """How many of its numbers lie before the right edge of the window."""
        return (
            self.length if self.edge is None else min(self.length, max(self.edge - self.start, 0))
        )

    @property
    def may_be_old(self) -> bool:
        """Whether all that it has may have come before, so that nothing else in it counts."""
        return bool(self.length) and self.start + self.length <= self.last

    @property
    def acknowledges_too_little(self) -> bool:
        """Whether the acknowledgement is not to be believed (RFC 5961 section 5.2)."""
        return self.ack is not None and self.ack < self.una - _LARGEST_WINDOW

    @property
    def is_acceptable(self) -> bool:
        """Whether a segment is in the window (RFC 9293 section 3.10.7.4, first)."""
        edge = self.taken if self.edge is None else self.edge
        if self.length:
            return self.start < edge and self.start + self.length > self.taken
        return self.taken <= self.start < edge or self.start == self.taken
