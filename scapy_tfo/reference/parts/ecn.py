"""Explicit congestion notification on one connection that agreed to it (RFC 3168 section 6.1)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.segment import ACK, CWR, ECE, RST, SYN, Segment

_MASK, _CONGESTED = 0x03, 0x03
"""Bits of the traffic class: all of ECN, CE."""

SETUP = ECE | CWR
"""What the SYN of a host that speaks ECN has; its SYN-ACK has ECE alone (section 6.1.1)."""


def is_setup_syn(segment: Segment) -> bool:
    """Whether a SYN offers ECN."""
    return segment.flags & SETUP == SETUP


def is_setup_syn_ack(segment: Segment) -> bool:
    """Whether a SYN-ACK agrees to ECN."""
    return segment.flags & SETUP == ECE


class Ecn:
    """What both ends told each other of congestion.

    iss: our initial sequence number. capable: bits of the traffic class of new text, ECT(0).
    probes: what goes out probes a closed window.
    """

    capable = 0x02

    def __init__(self, iss: int) -> None:
        self.probes = False
        self._echoing = False
        self._answer_due = False
        self._highest = seq.add(iss, 1)
        self._reduced_at = iss

    def dress(self, segment: Segment) -> Segment:
        """A segment as it goes out: new text is ECN-capable, nothing else is (6.1.4 to 6.1.6)."""
        flags, traffic_class = segment.flags, segment.traffic_class
        if flags & (SYN | RST):
            return segment
        if self._echoing and flags & ACK:
            flags |= ECE
        if segment.payload and seq.at_most(self._highest, segment.seq) and not self.probes:
            traffic_class |= self.capable
            if self._answer_due:
                self._answer_due = False
                flags |= CWR
        if seq.before(self._highest, segment.end):
            self._highest = segment.end
        return replace(segment, flags=flags, traffic_class=traffic_class)

    def heard(self, segment: Segment) -> bool:
        """Take an acceptable segment; True where the congestion window is to be halved.

        That happens once for all that was under way when it last was (6.1.2).
        """
        if segment.flags & CWR:
            self._echoing = False
        if segment.traffic_class & _MASK == _CONGESTED:
            self._echoing = True
        if segment.flags & SYN or not seq.before(self._reduced_at, segment.ack):
            return False
        if not segment.flags & ECE:
            self._reduced_at = seq.add(segment.ack, -1)
            return False
        self.reduced()
        return True

    def reduced(self) -> None:
        """The congestion window is smaller, for any reason: the next new text says so (6.1.2)."""
        self._reduced_at = self._highest
        self._answer_due = True
