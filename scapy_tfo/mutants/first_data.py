"""Servers that mishandle what comes with the ACK of the handshake (RFC 9293 section 3.10.7.4)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import EndOfStream, Event, State
from scapy_tfo.segment import ACK, Segment


class FirstText(PassiveConnection):
    """Knows the segment that ends the handshake."""

    ending = False

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        self.ending = self.state is State.SYN_RCVD
        return super().ack_arrives(segment, start, now)


@mutant("AFT-1", also=("ACC-3",))
class DropsTextOfTheAck(FirstText):
    """Data in the segment that ends the handshake is neither taken nor acknowledged."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if not self.ending:
            super().take_text(start, payload, fin)


@mutant("AFT-1", also=("ACC-3",))
class DropsTextOfTheAckAfterRefusal(FirstText):
    """Where SYN data was refused, data in the segment that ends the handshake is dropped."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if not self.ending or self.fast_opened:
            super().take_text(start, payload, fin)


@mutant("AFT-1", also=("ACC-3",))
class DeliversTextOfTheAckLate(FirstText):
    """Data in the segment that ends the handshake is delivered when the next segment comes."""

    late = b""

    def deliver(self, data: bytes) -> None:
        if self.ending:
            self.late = data
            return
        super().deliver(self.late + data)
        self.late = b""


@mutant("AFT-1")
class AcknowledgesTextOfTheAckLate(FirstText):
    """Data in the segment that ends the handshake is acknowledged with the next segment."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        wanted = self._ack_wanted
        super().take_text(start, payload, fin)
        if self.ending:
            self._ack_wanted = wanted


@mutant("AFT-1", also=("ACC-3", "ACC-4", "ACC-9", "ACC-10"))
class DeliversTextOfTheAckTwice(FirstText):
    """Data in the segment that ends the handshake is delivered twice."""

    def deliver(self, data: bytes) -> None:
        super().deliver(data + data if self.ending else data)


@mutant("ACC-9")
class DeliversResentSynDataAgain(FirstText):
    """The SYN's accepted data, sent again with the ACK, is delivered a second time."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if self.ending and seq.before(start, self.recv.nxt):
            self.deliver(payload)
        super().take_text(start, payload, fin)


@mutant("AFT-1", also=("ACC-9",))
class TakesTextOfTheAckAsTheNext(FirstText):
    """Data in the segment that ends the handshake is taken for the next, whatever its number."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        super().take_text(self.recv.nxt if self.ending else start, payload, fin)


@mutant("AFT-1")
class TakesTextBeforeTheAck(PassiveConnection):
    """In SYN-RCVD data in a segment without the ACK flag is taken."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and not segment.flags & ACK:
            self.take_text(segment.seq, segment.payload, fin=False)
        super().other_arrives(segment, now)


@mutant("AFT-2")
class IgnoresFinOfTheAck(FirstText):
    """A FIN in the segment that ends the handshake is not taken."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        super().take_text(start, payload, fin and not self.ending)


@mutant("AFT-2")
class DropsAckWithFin(PassiveConnection):
    """A segment with FIN does not end the handshake: it is dropped in SYN-RCVD."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if self.state is not State.SYN_RCVD or not segment.is_fin:
            super().other_arrives(segment, now)


@mutant("AFT-2", also=("AFT-1",))
class DropsTextInFrontOfFin(FirstText):
    """Where the segment that ends the handshake has FIN, its data is lost."""

    def deliver(self, data: bytes) -> None:
        if not (self.ending and self.recv.finished):
            super().deliver(data)


@mutant("AFT-2")
class TellsTheEndTwice(FirstText):
    """A FIN with the ACK of the handshake is told to the application twice."""

    def tell(self, event: Event) -> None:
        super().tell(event)
        if self.ending and isinstance(event, EndOfStream):
            super().tell(event)


@mutant("AFT-2")
class TellsTheEndForEachFin(PassiveConnection):
    """Each retransmission of a FIN is told to the application."""

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_fin and self.recv.finished:
            self.tell(EndOfStream(self))
        super().unacceptable_arrives(segment, now)


@mutant("AFT-2")
class NeverTellsTheEnd(FirstText):
    """A FIN with the ACK of the handshake is acknowledged, but the application is not told."""

    def tell(self, event: Event) -> None:
        if not (self.ending and isinstance(event, EndOfStream)):
            super().tell(event)


@mutant("AFT-2")
class FinEndsBothDirections(PassiveConnection):
    """The client's FIN drops what is still to be sent to it."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        super().take_text(start, payload, fin)
        if self.recv.finished:
            del self.send.data[seq.distance(self.send.base, self.send.nxt) :]


@mutant("AFT-2")
class TakesFinBeforeTheAck(PassiveConnection):
    """In SYN-RCVD a FIN without the ACK flag is told, and told again when it comes with it."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD and segment.is_fin and not segment.flags & ACK:
            self.tell(EndOfStream(self))
        super().other_arrives(segment, now)
