"""Servers that give the place of a pending fast open back before its handshake ends (RFC 7413
section 4.2): each of these raises no count, and lets more be pending than the limit.
"""

from __future__ import annotations

from scapy_tfo.icmp import IcmpError
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.icmp import quoted_segment
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, Segment


@mutant("LIM-1")
class WrongAckGivesThePlaceBack(PassiveConnection):
    """An ACK of what was not sent is answered by a RST, and gives the place back."""

    def refuse_ack(self, ack: int) -> None:
        self.release_pending()
        super().refuse_ack(ack)


@mutant("LIM-1")
class OutsideSegmentGivesThePlaceBack(PassiveConnection):
    """Text from outside the window is dropped, and gives the place back."""

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.release_pending()
        super().unacceptable_arrives(segment, now)


@mutant("LIM-1")
class OutsideRstGivesThePlaceBack(PassiveConnection):
    """A RST from outside the window is dropped, and counts the fast open off."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and segment.seq != self.recv.nxt:
            self.release_pending()
        super().rst_arrives(segment, now)


@mutant("LIM-1")
class TextWithoutAckGivesThePlaceBack(PassiveConnection):
    """Text without ACK is dropped, and gives the place back."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if not segment.flags & ACK:
            self.release_pending()
        super().other_arrives(segment, now)


@mutant("LIM-1")
class CopyOfTheSynGivesThePlaceBack(PassiveConnection):
    """The SYN once more is answered, and gives the place back."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        self.release_pending()
        super().answer_duplicate(segment, now)


@mutant("LIM-1")
class RepeatedSynAckGivesThePlaceBack(PassiveConnection):
    """Once the SYN-ACK had to be sent again, the fast open counts no more."""

    def retransmit_handshake(self, now: float) -> None:
        self.release_pending()
        super().retransmit_handshake(now)


@mutant("LIM-7")
class LaterResetGivesAPlaceBack(PassiveConnection):
    """The reset of an open connection gives back the place of one that is still pending."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        was_open = self.state is State.ESTABLISHED
        super().rst_arrives(segment, now)
        if was_open and self.state is State.CLOSED:
            for each in self.stack.connections.values():
                if isinstance(each, PassiveConnection) and each.state is State.SYN_RCVD:
                    each.release_pending()
                    break


@mutant("LIM-1")
class AnyErrorGivesThePlaceBack(Stack):
    """An ICMP error about a pending fast open gives its place back, whatever number it quotes."""

    def receive(self, packet: bytes, now: float) -> None:
        error = IcmpError.from_bytes(packet)
        found = None if error is None else quoted_segment(error.quoted)
        connection = None if found is None else self.connections.get(found[:4])
        if isinstance(connection, PassiveConnection):
            connection.release_pending()
        super().receive(packet, now)
