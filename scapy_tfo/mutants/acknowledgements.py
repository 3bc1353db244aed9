"""Servers that mishandle acknowledgements of what was not sent, or old ones (RFC 9293 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, Segment


@mutant("AFT-4")
class AckFarTooHighEndsTheHandshake(PassiveConnection):
    """In SYN-RCVD any acknowledgement beyond our SYN ends the handshake."""

    def completes_handshake(self, ack: int) -> bool:
        return seq.before(self.send.una, ack)

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is State.SYN_RCVD and seq.before(self.send.nxt, segment.ack):
            self.establish(now)
            return True
        return super().ack_arrives(segment, start, now)


@mutant("AFT-4")
class AckOneTooHighEndsTheHandshake(AckFarTooHighEndsTheHandshake):
    """In SYN-RCVD an acknowledgement one beyond what was sent ends the handshake."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if segment.ack == seq.add(self.send.nxt, 1):
            return super().ack_arrives(segment, start, now)
        return PassiveConnection.ack_arrives(self, segment, start, now)

    def completes_handshake(self, ack: int) -> bool:
        return PassiveConnection.completes_handshake(self, ack)


@mutant("AFT-4")
class OldAckEndsTheHandshake(PassiveConnection):
    """In SYN-RCVD an acknowledgement of nothing, or of old numbers, ends the handshake."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is State.SYN_RCVD and seq.at_most(segment.ack, self.send.iss):
            self.establish(now)
            return True
        return super().ack_arrives(segment, start, now)


@mutant("AFT-4")
class TextOfABadAckIsDelivered(PassiveConnection):
    """A bad acknowledgement in SYN-RCVD is answered with RST, and its text is taken."""

    def refuse_ack(self, ack: int) -> None:
        super().refuse_ack(ack)
        self.bad = True

    bad = False

    def other_arrives(self, segment: Segment, now: float) -> None:
        self.bad = False
        super().other_arrives(segment, now)
        if self.bad:
            self.take_text(segment.seq, segment.payload, fin=False)


@mutant("AFT-4")
class FinOfABadAckIsTaken(TextOfABadAckIsDelivered):
    """A bad acknowledgement in SYN-RCVD is answered with RST, and its FIN is taken."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        self.bad = False
        PassiveConnection.other_arrives(self, segment, now)
        if self.bad and segment.is_fin:
            self.take_text(segment.seq, b"", fin=True)


@mutant("AFT-4")
class TextOfABadAckIsAcknowledged(TextOfABadAckIsDelivered):
    """A bad acknowledgement in SYN-RCVD has its text acknowledged, but not delivered."""

    def deliver(self, data: bytes) -> None:
        if not self.bad:
            super().deliver(data)


@mutant(
    "AFT-4",
    also=("AFT-10",),
    equivalent="a connection that ends in SYN-RCVD on a bad ACK passes as well",
)
class BadAckEndsTheConnection(PassiveConnection):
    """A bad acknowledgement in SYN-RCVD ends the connection."""

    def refuse_ack(self, ack: int) -> None:
        super().refuse_ack(ack)
        self.drop()


@mutant("AFT-4", equivalent="either answer may be rate-limited, so silence proves nothing")
class BadAckIsNotAnswered(PassiveConnection):
    """A bad acknowledgement in SYN-RCVD is dropped without RST or ACK."""

    def refuse_ack(self, ack: int) -> None:
        """Nothing."""


@mutant("AFT-4")
class BadAckStopsTheConnection(PassiveConnection):
    """After a bad acknowledgement in SYN-RCVD nothing is taken, and nothing answered."""

    deaf = False

    def refuse_ack(self, ack: int) -> None:
        super().refuse_ack(ack)
        self.deaf = True

    def arrive(self, segment: Segment, now: float) -> None:
        if not self.deaf:
            super().arrive(segment, now)


@mutant("AFT-4", also=("DUP-6",))
class SynAckIsTakenForAnAck(PassiveConnection):
    """In SYN-RCVD the text of a SYN-ACK is taken, as that of an ACK."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and segment.flags & ACK:
            self.ack_arrives(segment, segment.seq, now)
            self.take_text(self.recv.nxt, segment.payload, fin=False)
        else:
            super().syn_arrives(segment, now)

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_syn_ack:
            self.syn_arrives(segment, now)
        else:
            super().other_arrives(segment, now)


@mutant("ACC-9")
class DropsWhatWasOvertaken(PassiveConnection):
    """Text that acknowledges less than what came before it is dropped, and an ACK sent."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is not State.SYN_RCVD and seq.before(segment.ack, self.send.una):
            self.reject(segment, now)
            return False
        return super().ack_arrives(segment, start, now)


@mutant("ACC-9")
class ReadsOldAcksByTheWindowOfNow(PassiveConnection):
    """How old an acknowledgement may be goes by the present window, not by the largest one."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        oldest = seq.add(self.send.una, -self.send.wnd)
        if self.state is not State.SYN_RCVD and seq.before(segment.ack, oldest):
            self.reject(segment, now)
            return False
        return super().ack_arrives(segment, start, now)


@mutant("AFT-11")
class TakesAcksOfWhatWaits(PassiveConnection):
    """After the handshake what waits to be sent may be acknowledged, and is not sent then."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        send, ack = self.send, segment.ack
        if self.is_synchronized and seq.before(send.nxt, ack) and seq.at_most(ack, send.end):
            send.nxt = ack
        return super().ack_arrives(segment, start, now)
