"""One segment of ours with ACK, on its way through the steps of the target."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.oracle.parts.events import Sent
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.oracle.parts.syn import SIGNED
from scapy_tfo.segment import FIN


class Arrival:
    """What the steps so far have made of a segment.

    length: numbers of its text and FIN. old: states before it. in_order: it leaves no gap.
    may_seq, must_seq: whether it may, and must, pass the test of its number; may_time, must_time:
    PAWS; may_ack, must_ack: the test of what it acknowledges. sure: but for its number, every
    conforming target processes it; must: with it. taken: so is what it brings, perhaps not at once.
    """

    __slots__ = (
        *("sent", "ack", "fin", "length", "old", "dropped", "in_order"),
        *("may_seq", "must_seq", "may_time", "must_time", "may_ack", "must_ack"),
        *("sure", "must", "taken"),
    )

    in_order: bool
    may_seq: bool
    must_seq: bool
    may_time: bool
    must_time: bool
    may_ack: bool
    must_ack: bool
    sure: bool
    must: bool
    taken: bool

    def __init__(self, sent: Sent, old: int) -> None:
        self.sent = sent
        self.ack = sent.ack or 0
        self.fin = bool(sent.flags & FIN)
        self.length = sent.size + self.fin
        self.old = old
        self.dropped = may_be_dropped(sent)


Step = Callable[[Connection, Arrival], bool]
"""False: no later step sees the segment."""


def may_be_dropped(sent: Sent) -> bool:
    """A segment that may not have come, whose options are malformed, or that is signed with a key
    that the target has not."""
    if not sent.certain or sent.offer.unsound:
        return True
    strange = sent.offer.strange
    return bool(strange) and not SIGNED.isdisjoint(strange)
