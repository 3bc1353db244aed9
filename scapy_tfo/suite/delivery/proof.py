"""What tells that packets of ours arrived: an acknowledgement of what each carried first."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.segment import ACK, Segment


class Proof:
    """Counts what was sent, and what nothing tells of that it arrived. sent: packets in all."""

    def __init__(self, isn: int) -> None:
        # For each packet the number behind it, where an acknowledgement of that tells of it.
        self._ends: list[int | None] = []
        # The end of all that was sent in one piece: what lies beyond was sent for the first time.
        self._frontier = isn
        self._bare_ack = False
        self._superseded = 0

    @property
    def sent(self) -> int:
        return len(self._ends)

    def expose(self, segment: Segment, snd_nxt: int, rcv_nxt: int) -> None:
        """A segment goes out, in a conversation that has come so far."""
        is_fresh = segment.seq == self._frontier != segment.end
        self._ends.append(segment.end if is_fresh else None)
        if is_fresh:
            self._frontier = segment.end
        self._superseded += self._bare_ack
        usual = (snd_nxt, rcv_nxt, ACK, b"")
        self._bare_ack = (segment.seq, segment.ack, segment.flags, segment.payload) == usual

    def expose_silent(self) -> None:
        """A packet goes out that nothing will tell of."""
        self._ends.append(None)

    def lacking(self, acked: int | None) -> int:
        """Packets of which nothing tells that they arrived, where so much is acknowledged. A bare
        ACK is none where another packet went out behind it, which says the same."""
        if acked is None:
            return len(self._ends) - self._superseded
        missing = sum(each is None or seq.before(acked, each) for each in self._ends)
        return missing - self._superseded
