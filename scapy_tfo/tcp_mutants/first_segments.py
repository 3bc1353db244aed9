"""Wrong handshakes, first flights, timestamps and ends: RFC 9293 sections 3.6 to 3.8, RFC 7323."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.parts.ecn import Ecn
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import ACK, RST, Segment
from scapy_tfo.tcp_mutants.agreed import OtherMarks
from scapy_tfo.tcp_mutants.headers import Dressed
from scapy_tfo.tcp_mutants.sending import FLIGHT, DressedAck

SIZELESS = "TCP-MSS-2.a-syn-without-a-segment-size"
GAP = "TCP-TS-12.a-gap-with-timestamps"


@tcp_mutant("rst-ignores-the-ack", "TCP-RST-3.segments-of-no-connection")
class ResetsByZero(Dressed):
    """An ACK of no connection is answered with a RST of the number 0."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, seq=0) if segment.flags == RST else segment


@tcp_mutant("syn-ack-after-text", "TCP-TS-6.some-seconds-of-silence")
class RepeatsSynAckForEver(PassiveConnection):
    """The timer of the SYN-ACK runs on behind the handshake."""

    def establish(self, now: float) -> None:
        timer = self.handshake_timer
        super().establish(now)
        self.handshake_timer = timer


@tcp_mutant("syn-ack-of-another-number", "TCP-TFO-6.a-syn-with-text-and-without-a-cookie")
class TakesSynTextLater(PassiveConnection):
    """A SYN-ACK that comes again acknowledges the text that the first one left out."""

    left = b""

    def open_slowly(self, syn: Segment, now: float) -> None:
        self.left = syn.payload
        super().open_slowly(syn, now)

    def retransmit_handshake(self, now: float) -> None:
        self.recv.nxt = seq.add(self.recv.nxt, len(self.left))
        self.left = b""
        super().retransmit_handshake(now)


@tcp_mutant("second-syn-unanswered", "TCP-ISN-4.a-syn-ack-that-nobody-acknowledges")
class OneSynAckOnly(PassiveConnection):
    """A SYN-ACK is sent once, whatever comes or does not."""

    def start_handshake(self, now: float) -> None:
        self.handshake_sent_at = now

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        """Say nothing."""


@tcp_mutant("over-the-default-mss", SIZELESS, settings=Settings(initial_window=3))
class KnowsEthernetOnly(PassiveConnection):
    """Where the SYN has no MSS, segments are as long as a line takes."""

    def resize(self) -> None:
        default = self.mss_offered in (536, 1220)
        super().resize()
        self.send.mss = 1400 if default else self.send.mss


@tcp_mutant("over-the-default-mss", "TCP-MSS-2.timestamps-without-a-segment-size")
class FillsTheDefault(PassiveConnection):
    """Where the SYN has no MSS, timestamps come on top of what a segment carries by default."""

    def resize(self) -> None:
        super().resize()
        if self.mss_offered in (536, 1220):
            self.send.mss = self.mss_offered


@tcp_mutant("uninitialised-window", SIZELESS)
class NoWindowToBeginWith(PassiveConnection):
    """Where the SYN has no MSS, the initial window is without a limit."""

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.mss_offered in (536, 1220):
            self.send.cwnd = 1 << 20


@tcp_mutant("over-the-unscaled-window", "TCP-WS-6.a-small-window-that-is-not-scaled")
class ScalesUnasked(PassiveConnection):
    """The window of a peer that offered no scale is scaled."""

    def agree(self, offer: object) -> None:
        super().agree(offer)  # type: ignore[arg-type]
        if not self.scaling:
            self.send.shift = 7


@tcp_mutant("over-the-syn-window", "TCP-WS-4.a-small-window-of-a-syn")
class ScalesTheSynWindow(PassiveConnection):
    """The window of a SYN is scaled."""

    def early_window(self, syn: Segment) -> int:
        return syn.window << self.send.shift


@tcp_mutant("again-too-soon", "TCP-RTO-7.a-long-round-trip")
class KnowsNoRoundTrip(SendSide):
    """Text is sent again after a tenth of a second, however long the round trip is."""

    def measure(self, sample: float) -> None:
        super().measure(sample)
        self.rto = 0.1


@tcp_mutant("again-before-its-time", "TCP-RTO-7.acknowledgements-just-in-time")
class NeverRestartsItsTimer(SendSide):
    """The timer of a segment that is acknowledged runs on for those behind it."""

    def acknowledged(self, ack: int, now: float) -> bool:
        running = self.timer
        again = super().acknowledged(ack, now)
        if self.timer is not None and running is not None:
            self.timer = running
        return again


@tcp_mutant("number-below-una", "TCP-KEEP-5.a-keepalive")
class AcksFromTheBeginning(DressedAck):
    """ACKs have the number of the first text."""

    first = 0

    def dress(self, segment: Segment) -> Segment:
        if segment.is_syn_ack:
            self.first = segment.end
        return super().dress(segment)

    def empty(self, segment: Segment) -> Segment:
        return replace(segment, seq=self.first)


@tcp_mutant("keepalive-beside-text", FLIGHT)
class AsksBesideText(PassiveConnection):
    """A peer that is silent for half a second is probed, though text is under way."""

    def arrive(self, segment: Segment, now: float) -> None:
        self.alarms["keep-alive"] = (now + 0.5, self.probe)
        super().arrive(segment, now)

    def probe(self, now: float) -> None:
        """Ask whether the peer is there."""
        if self.send.outstanding:
            self.transmit(seq.add(self.send.una, -1), ACK, now)


@tcp_mutant("fin-missing", "TCP-FIN-6.a-fin")
class NeverCloses(PassiveConnection):
    """A FIN is never sent."""

    def shutdown(self, now: float) -> None:
        """Say nothing."""


@tcp_mutant("text-behind-their-fin", "TCP-FIN-11.text-behind-a-fin")
class TakesTextBehindAFin(PassiveConnection):
    """Text behind a FIN is acknowledged."""

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if self.recv.finished and start == self.recv.nxt:
            self.recv.nxt = seq.add(start, len(segment.payload))
        super().text_arrives(segment, start, now)


@tcp_mutant("early-text-echoed", GAP)
class EchoesTheLatest(PassiveConnection):
    """The latest timestamp is echoed, in its turn or not."""

    def note_timestamp(self, segment: Segment, start: int, now: float) -> None:
        if self.timestamps and segment.timestamps is not None:
            self.recv.ts_recent, self.recv.ts_recent_at = segment.timestamps[0], now


@tcp_mutant("gap-not-echoed", GAP)
class EchoesFromBeforeTheGap(PassiveConnection):
    """What fills a gap is not echoed."""

    def note_timestamp(self, segment: Segment, start: int, now: float) -> None:
        if not self.recv.has_gap:
            super().note_timestamp(segment, start, now)


class MarkingProbes(Ecn):
    """The first probe of a closed window is marked."""

    seen: int | None = None

    def dress(self, segment: Segment) -> Segment:
        dressed = super().dress(segment)
        if len(segment.payload) == 1 and self.seen != segment.seq:
            self.seen = segment.seq
            return replace(dressed, traffic_class=2)
        return dressed


@tcp_mutant(
    "probe-marked",
    "TCP-ECN-7.a-window-that-stays-closed-with-ecn",
    settings=Settings(ecn=True),
)
class MarksProbes(OtherMarks):
    """A probe of a closed window is marked as ECN-capable."""

    marks = MarkingProbes
