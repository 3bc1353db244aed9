"""How much the target lets us send: its receive window, and its segment size."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.segment import ACK, SYN, Segment

_DEFAULT_MSS = {4: 536, 6: 1220}
"""Bytes, where a SYN says nothing (RFC 9293 section 3.7.1)."""

_LARGEST_SHIFT = 14
"""RFC 7323 section 2.3: a larger one is read as this."""


class SendWindow:
    """The window that the target has offered last (SND.WND of RFC 9293 section 3.3.1).

    edge: the sequence number behind the last one that it has room for, None before its SYN came.
    mss: bytes of options and data that it takes in one segment, None before.
    """

    def __init__(self) -> None:
        self.edge: int | None = None
        self.mss: int | None = None
        self._shift = 0
        self._last = (0, 0)

    def hear(self, segment: Segment, opening: Segment) -> None:
        """Take in a segment of the target's, `opening` being the SYN of ours that it answers.

        Which one counts is told by its numbers, since the path may reorder them (RFC 9293 section
        3.10.7.4). The window of a SYN is never scaled (RFC 7323 section 2.2).
        """
        if segment.is_rst or not segment.flags & ACK:
            return
        if segment.flags & SYN:
            if self.edge is None:
                self._begin(segment, opening)
            return
        if self.edge is None:
            return
        number, acked = self._last
        ahead = seq.distance(number, segment.seq)
        if ahead > 0 or (ahead == 0 and seq.at_most(acked, segment.ack)):
            self._offer(segment, segment.window << self._shift)

    def _begin(self, syn_ack: Segment, opening: Segment) -> None:
        theirs, ours = syn_ack.option(opt.WINDOW_SCALE), opening.option(opt.WINDOW_SCALE)
        if ours is not None and theirs is not None and theirs.data:
            self._shift = min(theirs.data[0], _LARGEST_SHIFT)
        self.mss = syn_ack.mss or _DEFAULT_MSS[syn_ack.src.version]
        self._offer(syn_ack, syn_ack.window)

    def _offer(self, segment: Segment, window: int) -> None:
        self._last = segment.seq, segment.ack
        self.edge = seq.add(segment.ack, window)
