"""Reassembles the target's byte stream from its segments."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.segment import SYN, Segment


class Stream:
    """What the target has sent, in order.

    irs: its initial sequence number, None until its SYN came. data: the bytes without a gap.
    ended: its FIN came and nothing is missing before it. conflict: two segments gave different
    bytes for one place, which no conforming sender does.
    """

    def __init__(self) -> None:
        self.irs: int | None = None
        self.data = bytearray()
        self.ended = False
        self.conflict = False
        self._waiting: dict[int, bytes] = {}
        self._fin_at: int | None = None
        self._early: list[Segment] = []

    @property
    def rcv_nxt(self) -> int:
        """The next sequence number that is wanted; 0 before a SYN came."""
        if self.irs is None:
            return 0
        return seq.add(self.irs, 1 + len(self.data) + self.ended)

    def take(self, segment: Segment) -> None:
        """Take in a segment without RST. What overtook the SYN counts once that has come."""
        if segment.flags & SYN:
            if self.irs is None:
                self.irs = segment.seq
                for each in self._early:
                    self.take(each)
            elif self.irs != segment.seq:
                return
        if self.irs is None:
            self._early.append(segment)
            return
        start = seq.distance(seq.add(self.irs, 1), segment.seq) + bool(segment.flags & SYN)
        if start >= 0 and segment.payload:
            kept = self._waiting.get(start, b"")
            if len(segment.payload) > len(kept):
                self._waiting[start] = segment.payload
        elif start < 0 and start + len(segment.payload) > 0:
            self._waiting[0] = segment.payload[-start:]
        if segment.is_fin:
            self._fin_at = start + len(segment.payload)
        self._join()

    def _join(self) -> None:
        for start in sorted(self._waiting):
            if start > len(self.data):
                break
            piece = self._waiting.pop(start)
            known = bytes(self.data[start : start + len(piece)])
            if piece[: len(known)] != known:
                self.conflict = True
            self.data += piece[len(known) :]
        if self._fin_at is not None and self._fin_at == len(self.data):
            self.ended = True
