"""Both streams of one connection, and their windows.

Numbers are relative: ours to our ISN, the target's to its ISS.
"""

from __future__ import annotations

from scapy_tfo.oracle.parts.reassembly import Assembly

ANY_WINDOW = 1 << 22
_LEAST_WINDOW = 2048
"""Bytes that any target has room for, until it says more."""
_DEFAULT_MSS = {4: 536, 6: 1220}


class Outbound:
    """Our stream: what the target may have taken of it, and what it must have.

    base: the number of the SYN. may, must: what it may, and must, have taken. sent_end: SND.NXT.
    acked: SND.UNA, as far as the target said so. room_end: where its window ends. sent_text: the
    numbers of all segments with text or FIN; odd_text: of text that is not the flow's own. pushed:
    the number behind the last PSH.
    """

    __slots__ = (
        *("base", "may", "must", "sent_end", "acked", "room_end"),
        *("sent_text", "odd_text", "pushed"),
    )

    def __init__(self, base: int) -> None:
        self.base = base
        self.may = Assembly(base + 1)
        self.must = Assembly(base + 1)
        self.sent_end = base
        self.acked = base
        self.room_end = base + 1 + _LEAST_WINDOW
        self.sent_text: list[tuple[int, int]] = []
        self.odd_text: list[tuple[int, int]] = []
        self.pushed = 0

    def occupy(self, end: int) -> None:
        """The first SYN went out, up to a number behind its text and FIN."""
        self.sent_end = end

    def open(self, least: int, most: int, size: int, *, fin: bool, pushed: bool) -> None:
        """The first SYN has `size` bytes of text, of which the target may take `most` and must
        take `least`."""
        first = self.base + 1
        self.sent_text.append((first - 1, first + size))
        if pushed:
            self.pushed = first + size
        self.may.add(first, first + most, fin and most == size)
        self.must.add(first, first + least)

    def distort(self, start: int, end: int) -> None:
        """Text was sent that is not the flow's own."""
        self.odd_text.append((start, end))

    def add(self, seq: int, size: int, *, fin: bool, wrong: bool, taken: bool) -> None:
        """Text or FIN that may count. taken: it is in its place, with all that it needs."""
        end = seq + size + fin
        self.sent_end = max(self.sent_end, end)
        self.sent_text.append((seq, end))
        if wrong and seq + size > self.must.next:
            self.odd_text.append((max(seq, self.must.next), seq + size))
        # Text before its turn is kept or not (SHLD-31): what is acknowledged tells.
        if taken and seq <= self.must.next:
            self.must.add(seq, seq + size, fin)
        self.may.add(seq, seq + size, fin)

    def push(self, end: int) -> None:
        """All up to a number was pushed."""
        self.pushed = max(self.pushed, end)

    def ends_with(self, seq: int) -> bool:
        """Whether nothing was sent behind a number."""
        return seq >= max((end for _, end in self.sent_text), default=0)

    def answer(self, number: int, end: int, window: int, *, fin: bool) -> None:
        """The first SYN-ACK acknowledges `number`: text up to `end` and perhaps FIN."""
        first = self.base + 1
        self.may, self.must = Assembly(first), Assembly(first)
        self.may.add(first, end, fin)
        self.must.add(first, end, fin)
        self.acked = number
        self.room_end = number + window

    def acknowledge(self, number: int, window: int) -> None:
        """The target acknowledges all before `number`, and offers `window` bytes."""
        may, must = self.may, self.must
        if self.acked <= number <= may.next:
            self.acked = number
            if number > must.next:
                # It was taken: also what came before its turn.
                fin = may.ended and number == may.next
                must.add(must.next, number - fin, fin)
        if number >= self.acked:
            self.room_end = number + window
            if self.room_end < self.must.next and number < self.must.next:
                # The window shrank (RFC 9293 section 3.8.6): what lies beyond may not have been
                # taken.
                self.must = Assembly(number)

    def acceptable(self, seq: int, length: int) -> tuple[bool, bool]:
        """Whether a segment may, and whether it must, pass the test of its sequence number."""
        low, high = self.must.next, self.may.next
        if length:
            may = seq + length > low and seq < high + ANY_WINDOW
            must = seq + length > high and seq + length <= self.room_end
        else:
            may = low <= seq < high + ANY_WINDOW
            must = seq == low == high
        return may, must

    def may_still_read(self, end: int) -> bool:
        """Whether a copy of text may be read that ends there: some count as old only what ends
        before their last acknowledgement."""
        return end >= self.acked

    def reaches(self, seq: int, length: int) -> bool:
        """Whether a segment begins within what must be taken, and ends beyond it."""
        return seq <= self.must.next < seq + length <= self.room_end


class Inbound:
    """The target's stream: what has come of it, and what we said to that.

    stream: what came; received: RCV.NXT; fin: its number, None unless it came. our_ack, sure_ack:
    what we acknowledged at most, and in segments that the target must have taken; may_ack: perhaps
    before it was sent. limit: the highest right edge that we offered; widest: bytes of the largest
    window behind our SYN; edge: that of the window that the target has, offered at edge_at; newest:
    SND.WL1 of the target. mss, scale, sack: of what we offered, as agreed on.
    """

    __slots__ = (
        *("stream", "received", "fin", "our_ack", "sure_ack", "may_ack"),
        *("limit", "widest", "edge", "edge_at", "newest", "mss", "scale", "sack"),
    )

    def __init__(self, family: int, base: int) -> None:
        self.stream = Assembly(1)
        self.received = 1
        self.fin: int | None = None
        self.our_ack = self.sure_ack = self.may_ack = 0
        self.limit = self.edge = self.widest = 0
        self.edge_at = 0.0
        self.newest = base
        self.mss = _DEFAULT_MSS[family]
        self.scale: int | None = None
        self.sack = False

    def open(self, window: int, mss: int | None) -> None:
        """The first SYN offers a window, and perhaps an MSS."""
        self.limit = self.edge = 1 + window
        if mss is not None:
            self.mss = mss

    def agree(self, scale: int | None, *, sack: bool) -> None:
        """The first SYN-ACK came."""
        self.scale = scale
        self.sack = sack

    def take(self, start: int, end: int, *, fin: bool) -> None:
        """Text and FIN of the target came."""
        stream = self.stream
        stream.add(start, end, fin)
        self.received, self.fin = stream.next, stream.fin

    def extend(self, limit: int) -> None:
        """The target may use a window up to `limit`, even one of an old segment."""
        if limit > self.limit:
            self.limit = limit

    @property
    def oldest(self) -> int:
        """What is read for sure as an acknowledgement is not below this number: SND.UNA less
        MAX.SND.WND (RFC 5961 section 5.2), where Linux leaves the window of a SYN out."""
        # What of its text has not come yet may be acknowledged by now, as far as the window let it
        # out.
        una = max(self.our_ack, min(self.may_ack, max(self.received, self.limit)))
        return max(1, una - self.widest)

    def widen(self, window: int) -> None:
        """The target has taken a window of so many bytes."""
        self.widest = max(self.widest, window)

    def may_acknowledge(self, ack: int) -> None:
        """We acknowledged so much, perhaps before it was sent."""
        self.may_ack = max(self.may_ack, ack)

    def acknowledge(self, ack: int) -> None:
        """We acknowledged more."""
        self.our_ack = ack

    def settle(self, ack: int) -> None:
        """We acknowledged more, in a segment that the target must have taken."""
        self.sure_ack = ack

    def offer(self, seq: int, edge: int, now: float, *, sure: bool) -> None:
        """A window up to `edge` was offered. sure: in a segment that must have been taken.

        An older segment does not change the window (RFC 9293 section 3.10.7.4).
        """
        self.edge = edge if sure and seq >= self.newest else min(self.edge, edge)
        self.edge_at = now
        self.newest = max(self.newest, seq)
