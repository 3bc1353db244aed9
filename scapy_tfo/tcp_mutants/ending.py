"""Wrong resets and ends: RFC 9293 sections 3.5, 3.6 and 3.9.2, RFC 5961."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Closed, State
from scapy_tfo.segment import ACK, RST, Segment
from scapy_tfo.tcp_mutants.headers import TALK, Dressed

ABORTS = "TCP-RST-14.an-application-that-aborts"
SOFT = "TCP-ICMP-1.errors-that-may-pass"
TIME_WAIT = "TCP-TW-1.a-fin-that-comes-again-in-time-wait"


@tcp_mutant("fin-ack-late", "TCP-FIN-1.a-fin-behind-old-text")
class LosesFinsBehindOldText(ReceiveSide):
    """A segment whose text was there before is dropped, with its FIN."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        old = payload and seq.at_most(seq.add(start, len(payload)), self.nxt)
        return super().take(start, payload, fin and not old)


@tcp_mutant("fin-moves", "TCP-FR-1.duplicate-acknowledgements-of-an-answer-that-ends")
class EndsWhatItSendsAgain(SendSide):
    """The first segment that is sent again has the FIN that was sent, wherever it ends."""

    def head(self) -> Chunk:
        chunk = super().head()
        return Chunk(chunk.seq, chunk.payload, self.fin_sent)


@tcp_mutant("rst-to-nothing", "TCP-RST-6.the-same-ends-again")
class ResetsLater(PassiveConnection):
    """A second after its end a connection is reset once more."""

    def reset_by_peer(self, now: float) -> None:
        self.alarms["late"] = (now + 1.0, self.reset_late)
        self.stack.arm(self)

    def reset_late(self, now: float) -> None:
        """Send the RST that nobody waits for."""
        self.transmit(self.send.nxt, RST | ACK, now)
        self.finish(Closed(self))


@tcp_mutant("rst-to-rst", "TCP-RST-5.a-rst-to-a-listener")
class ResetsResets(Stack):
    """A RST out of nothing is answered with a RST."""

    def segment_arrives(self, segment: Segment, now: float) -> None:
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        if segment.is_rst and ends not in self.connections:
            self.refuse(segment)
        else:
            super().segment_arrives(segment, now)


@tcp_mutant("rst-number", ABORTS)
class ResetsElsewhere(Dressed):
    """The RST of an abort has a number that was never sent."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, seq=seq.add(segment.seq, 1 << 24)) if segment.is_rst else segment


@tcp_mutant("rst-acknowledges", "TCP-RST-3.segments-of-no-connection")
class ResetsTheNextByte(Dressed):
    """The RST of a closed port acknowledges a byte more than came."""

    def dress(self, segment: Segment) -> Segment:
        if segment.flags != RST | ACK:
            return segment
        return replace(segment, ack=seq.add(segment.ack, 1))


@tcp_mutant("rst-unprovoked", TALK)
class ResetsTheThird(PassiveConnection):
    """The third segment of text is answered with a RST."""

    texts = 0

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        self.texts += bool(payload)
        if self.texts > 2:
            self.abort(0.0)
        else:
            super().take_text(start, payload, fin)


@tcp_mutant("soft-error-aborts", SOFT)
class GivesUpForSoftErrors(PassiveConnection):
    """A host that is unreachable for now ends an open connection."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        self.fail(error, now)


@tcp_mutant("lives-on-after-rst", "TCP-RST-7.a-rst-with-the-next-number")
class DeafToResets(PassiveConnection):
    """A RST on an open connection is ignored."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if self.state is not State.ESTABLISHED:
            super().rst_arrives(segment, now)


@tcp_mutant("rst-with-text-ignored", "TCP-RST-11.a-rst-with-text")
class DeafToResetsWithText(PassiveConnection):
    """A RST that has text is ignored."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if not segment.payload:
            super().rst_arrives(segment, now)


@tcp_mutant("goes-on-after-its-rst", ABORTS)
class LastWordAfterTheRst(PassiveConnection):
    """An ACK follows the RST of an abort."""

    def abort(self, now: float) -> None:
        self.transmit(self.send.nxt, RST | ACK, now)
        self.send_ack(now)
        self.finish(Closed(self))


@tcp_mutant(
    "challenges-unlimited",
    "TCP-CHAL-6.many-resets-in-the-window",
    settings=Settings(challenges_per_second=1_000_000),
)
class ChallengesAll(Stack):
    """Challenge ACKs know no limit."""


@tcp_mutant("time-wait-short", TIME_WAIT, settings=Settings(time_wait=1.0))
class ShortTimeWait(Stack):
    """TIME-WAIT lasts for a second."""


@tcp_mutant("time-wait-silent", TIME_WAIT)
class SilentTimeWait(PassiveConnection):
    """Nothing is answered in TIME-WAIT."""

    def arrive(self, segment: Segment, now: float) -> None:
        if self.state is not State.TIME_WAIT:
            super().arrive(segment, now)


@tcp_mutant("fin-not-repeated", "TCP-FIN-5.an-ack-without-the-fin-in-last-ack")
class TakesItsTextForItsFin(SendSide):
    """Once all text is acknowledged, the FIN behind it counts as acknowledged."""

    @property
    def fin_acked(self) -> bool:
        return self.fin_sent and seq.at_most(self.end, self.una)


@tcp_mutant("fin-late", "TCP-FIN-7.text-of-an-application-that-closes")
class FinWaitsForAcks(SendSide):
    """The FIN waits until all text before it is acknowledged."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if chunk is None or not chunk.fin or chunk.seq == self.una == self.end:
            return chunk
        return replace(chunk, fin=False) if chunk.payload else None


@tcp_mutant("loss-untold", "TCP-FIN-9.text-that-is-unread-at-the-close")
class ForgetsWhatIsUnread(PassiveConnection):
    """What is unread when the application closes is thrown away."""

    def close(self, now: float) -> None:
        if self._unread:
            self._unread.clear()
        super().close(now)


@tcp_mutant("loss-untold", "TCP-FIN-10.text-behind-the-close")
class DropsTextBehindTheClose(PassiveConnection):
    """What comes once the application has closed is acknowledged, and thrown away."""

    closed = False

    def close(self, now: float) -> None:
        super().close(now)
        self.closed = True

    def deliver(self, data: bytes) -> None:
        if not self.closed:
            super().deliver(data)


@tcp_mutant(
    "lives-on-after-rst", "TCP-RST-7.a-rst-right-behind-text", settings=Settings(ack_delay=0.2)
)
class ExpectsResetsAtItsLastAck(PassiveConnection):
    """A RST is compared with the last ACK that was sent, not with RCV.NXT."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if segment.seq == self.recv.last_ack_sent or self.state is State.SYN_RCVD:
            super().rst_arrives(segment, now)
        elif self.recv.holds(segment.seq):
            self.challenge(now)
