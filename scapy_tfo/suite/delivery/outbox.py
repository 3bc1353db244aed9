"""Text and FINs that a case has written: held until the window takes them, kept until acknowledged.

What is sent again has the shape that the case gave it: its bounds, flags and options. Cut or joined
in another way, it would no longer show how the target takes the segment that the case is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scapy_tfo import seq
from scapy_tfo.option import RawOption
from scapy_tfo.segment import FIN, PSH, Flags


@dataclass(frozen=True)
class Written:
    """One segment as a case wants it. fields: of Segment, where they shall be other than usual."""

    seq: int
    flags: Flags
    data: bytes
    options: tuple[RawOption, ...]
    fields: dict[str, Any]
    comment: str = ""

    @property
    def end(self) -> int:
        """The sequence number behind its last one."""
        return seq.add(self.seq, len(self.data) + bool(self.flags & FIN))

    def head(self, size: int) -> Written:
        """Its first bytes; what ends a text is left to the rest."""
        return replace(self, flags=self.flags & ~(FIN | PSH), data=self.data[:size])

    def tail(self, size: int) -> Written:
        """All but its first bytes."""
        return replace(self, seq=seq.add(self.seq, size), data=self.data[size:])

    def within(self, una: int, edge: int) -> Written:
        """As much of it as the window takes, one byte that is not acknowledged at the least."""
        if seq.at_most(self.end, edge):
            return self
        return self.head(max(seq.distance(self.seq, edge), seq.distance(self.seq, una) + 1))

    def pieces(self, size: int) -> Iterator[Written]:
        """Itself, cut so that none has more than `size` bytes of data."""
        rest = self
        while len(rest.data) > size > 0:
            yield rest.head(size)
            rest = rest.tail(size)
        yield rest

    def is_stream(self, una: int, offset: int, stream: bytes) -> bool:
        """Whether it belongs to the stream, as far as it is not acknowledged.

        una: the first number not acknowledged, whose place in the stream is `offset`. What the
        case sent to be rejected is no part of it.
        """
        rest = self.data[max(seq.distance(self.seq, una), 0) :]
        after = offset + len(rest)
        ends = bool(self.flags & FIN)
        return stream[offset:after] == rest and (after == len(stream) or not ends)


class Outbox:
    """What a case has written, and the target has not acknowledged.

    held: what waits for the window to open, in the order in which it was written.
    """

    def __init__(self) -> None:
        self.held: list[Written] = []
        self._kept: list[Written] = []

    def write(self, written: Written) -> None:
        """Something new is to be sent."""
        self.held.append(written)

    @property
    def is_empty(self) -> bool:
        """Whether nothing that was sent is unacknowledged."""
        return not self._kept

    @property
    def first_held(self) -> int | None:
        """The lowest sequence number that waits for the window."""
        if not self.held:
            return None
        base = self.held[0].seq
        return seq.add(base, min(seq.distance(base, each.seq) for each in self.held))

    def next(self, una: int, edge: int) -> Written | None:
        """What the window takes now, which counts as sent; None where it takes nothing.

        edge: the end of the window. A part of a segment is sent only where nothing is under way,
        against the silly window syndrome (RFC 9293 section 3.8.6.2.1).
        """
        for at, each in enumerate(self.held):
            if seq.at_most(each.end, edge):
                del self.held[at]
                return self._sent(each)
            room = min(seq.distance(each.seq, edge), len(each.data))
            if room > 0 and not self._is_under_way(una):
                self.held[at] = each.tail(room)
                return self._sent(each.head(room))
        return None

    def probe(self) -> Written | None:
        """A byte of what waits for the window, or its FIN, to be sent into a closed one (RFC 9293
        section 3.8.6.1). It goes on waiting: the target may drop it."""
        first = next((each for each in self.held if each.seq == self.first_held), None)
        return first.head(1) if first is not None and first.data else first

    def _sent(self, written: Written) -> Written:
        self._kept.append(written)
        return written

    def _is_under_way(self, una: int) -> bool:
        return any(seq.before(una, each.end) for each in self._kept)

    def acknowledged(self, una: int) -> None:
        """Forget what lies before that number."""
        self._kept = [each for each in self._kept if seq.before(una, each.end)]
        if self.held and seq.before(self.held[0].seq, una):
            self._drop_held(una)

    def _drop_held(self, una: int) -> None:
        """A probe was taken: what it brought need not be sent."""
        left = [each for each in self.held if seq.before(una, each.end)]
        self.held = [each.tail(max(seq.distance(each.seq, una), 0)) for each in left]

    def lost(self, una: int, offset: int, stream: bytes) -> Written | None:
        """What was sent and the target waits for, which is what was written last at that place;
        None where that is no part of the stream. The numbers are those of `Written.is_stream`."""
        for each in reversed(self._kept):
            covers = seq.at_most(each.seq, una) and seq.before(una, each.end)
            if covers and each.is_stream(una, offset, stream):
                return each
        return None
