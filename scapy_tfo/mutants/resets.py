"""Servers that believe a wrong RST in SYN-RCVD, or ignore a right one (RFC 9293 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import Event, Reset, State
from scapy_tfo.segment import ACK, Segment


class RstInSynRcvd(PassiveConnection):
    """Judges a RST in SYN-RCVD in its own way."""

    def believes(self, segment: Segment) -> bool:
        raise NotImplementedError

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if self.state is not State.SYN_RCVD:
            super().rst_arrives(segment, now)
        elif self.believes(segment):
            self.reset_by_peer(now)


@mutant("AFT-9")
class BelievesEveryRst(RstInSynRcvd):
    """In SYN-RCVD a RST is believed whatever its number."""

    def believes(self, segment: Segment) -> bool:
        return True


@mutant("AFT-9")
class BelievesRstAtTheSyn(RstInSynRcvd):
    """In SYN-RCVD a RST behind the SYN is believed, as if the data had not been taken."""

    def believes(self, segment: Segment) -> bool:
        return segment.seq in (seq.add(self.recv.irs, 1), self.recv.nxt)


@mutant("AFT-9")
class BelievesRstAtTheIsn(RstInSynRcvd):
    """In SYN-RCVD a RST at the number of the SYN is believed."""

    def believes(self, segment: Segment) -> bool:
        return segment.seq in (self.recv.irs, self.recv.nxt)


@mutant("AFT-9")
class BelievesRstBeforeTheWindow(RstInSynRcvd):
    """In SYN-RCVD a RST one below the window is believed."""

    def believes(self, segment: Segment) -> bool:
        return segment.seq in (seq.add(self.recv.nxt, -1), self.recv.nxt)


@mutant("AFT-9")
class BelievesRstBeyondTheWindow(RstInSynRcvd):
    """In SYN-RCVD a RST is believed at the next number and anywhere above it."""

    def believes(self, segment: Segment) -> bool:
        return seq.at_most(self.recv.nxt, segment.seq)


@mutant("AFT-9", also=("DUP-4",))
class IgnoresRst(RstInSynRcvd):
    """In SYN-RCVD no RST is believed."""

    def believes(self, segment: Segment) -> bool:
        return False


@mutant("AFT-9")
class IgnoresRstWithAck(RstInSynRcvd):
    """In SYN-RCVD a RST with the ACK flag is not believed."""

    def believes(self, segment: Segment) -> bool:
        return segment.seq == self.recv.nxt and not segment.flags & ACK


@mutant("AFT-9a")
class IgnoresRstWithText(RstInSynRcvd):
    """In SYN-RCVD a RST that carries text is not believed."""

    def believes(self, segment: Segment) -> bool:
        return segment.seq == self.recv.nxt and not segment.payload


@mutant("AFT-9")
class DeliversTextOfRst(RstInSynRcvd):
    """The text of a RST in SYN-RCVD is delivered."""

    def believes(self, segment: Segment) -> bool:
        if segment.seq == self.recv.nxt:
            self.deliver(segment.payload)
        return segment.seq == self.recv.nxt


@mutant("AFT-9", also=("DUP-4",))
class RstIsNotTold(PassiveConnection):
    """A RST in SYN-RCVD ends the connection, and the application is left waiting."""

    def tell(self, event: Event) -> None:
        if not isinstance(event, Reset):
            super().tell(event)


@mutant("AFT-9", also=("DUP-4", "AFT-10"))
class RstEndsTheListener(PassiveConnection):
    """A RST in SYN-RCVD takes the listener along."""

    def reset_by_peer(self, now: float) -> None:
        if self.state is State.SYN_RCVD and self.fast_opened:
            self.listener.close(now)
        super().reset_by_peer(now)


@mutant("AFT-9", also=("DUP-4", "AFT-10"))
class RstTurnsFastOpenOff(PassiveConnection):
    """A RST in SYN-RCVD turns fast open off at the listener, as if it could not work."""

    def reset_by_peer(self, now: float) -> None:
        if self.state is State.SYN_RCVD and self.fast_opened:
            self.listener.pending.limit = 0
        super().reset_by_peer(now)


@mutant("AFT-9", equivalent="RFC 9293 believes a RST anywhere in the window, RFC 5961 does not")
class BelievesRstInTheWindow(RstInSynRcvd):
    """In SYN-RCVD a RST is believed anywhere in the window."""

    def believes(self, segment: Segment) -> bool:
        return self.recv.holds(segment.seq)
