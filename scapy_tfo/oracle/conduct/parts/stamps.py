"""Which timestamps of the peer the judged end may echo (RFC 7323 section 4.3)."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.parts.came import options_of
from scapy_tfo.oracle.conduct.parts.place import Place
from scapy_tfo.segment import RST, SYN, Segment
from scapy_tfo.seq import before


class Stamps:
    """early: TSvals that only text behind a gap had. filled: that of the text which filled the gap,
    behind the relative number up to which it did."""

    __slots__ = ("_latest", "early", "filled")

    def __init__(self) -> None:
        self.early: frozenset[int] = frozenset()
        self.filled: tuple[int, int] | None = None
        self._latest: int | None = None

    def learn(self, segment: Segment, place: Place, end: int) -> None:
        """The peer sent a segment. end: of its text without a gap, with this segment."""
        times = options_of(segment.options).times
        if times is None or segment.flags & (SYN | RST):
            return
        before_it, self._latest = self._latest, times[0]
        if place.start > place.next:
            if before_it is not None and times[0] != before_it:
                self.early |= {times[0]}
            return
        self.early -= {times[0]}
        if self.filled is not None and before(times[0], self.filled[1]):
            # The clock has gone half around since, and what is later seems to be older.
            self.filled = None
        if end > place.start + place.length:
            self.early = frozenset()
            in_time = place.start == place.next == place.taken
            self.filled = (end, times[0]) if in_time else None

    def forget(self) -> None:
        """What came may have been in its turn."""
        self.early = frozenset()
        self.filled = None
