"""Wrong acknowledgements, windows and reports: RFC 9293 sections 3.8 and 3.10.7.4, RFC 2018."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.icmp import quoted_segment
from scapy_tfo.reference.recvside import ReceiveSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Segment
from scapy_tfo.tcp_mutants.headers import TALK, Dressed
from scapy_tfo.tcp_mutants.sending import DressedAck

GAPS = "TCP-SACK-4.gaps-and-copies"
RESTS = "TCP-WIN-10.a-reader-that-rests"
ALONE = "TCP-ACK-10.acknowledgements-alone"
READS = "TCP-ACK-3.text-to-an-application-that-only-reads"
HALF = "TCP-FIN-8.text-behind-the-fin-of-the-target"


@tcp_mutant("ack-of-nothing", TALK)
class AcksTheNextByte(Dressed):
    """A FIN acknowledges one byte that was not sent."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, ack=seq.add(segment.ack, 1)) if segment.is_fin else segment


@tcp_mutant("ack-of-a-gap", GAPS)
class AcksBeyondGaps(PassiveConnection):
    """What comes behind a gap is acknowledged."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if seq.before(self.recv.nxt, start):
            self.recv.nxt = start
        super().take_text(start, payload, fin)


@tcp_mutant("ack-before-isn", TALK)
class AcksFromBeforeTheSyn(DressedAck):
    """ACKs acknowledge less than the SYN."""

    def empty(self, segment: Segment) -> Segment:
        return replace(segment, ack=seq.add(segment.ack, -100_000))


@tcp_mutant("ack-goes-back", READS)
class TakesAcksBack(DressedAck):
    """A second ACK takes a byte of the first one back."""

    def empty(self, segment: Segment) -> Segment:
        Stack.send(self, segment)
        return replace(segment, ack=seq.add(segment.ack, -1))


@tcp_mutant("window-shrinks", TALK)
class PullsTheEdgeIn(DressedAck):
    """The window becomes smaller by a thousand bytes with each ACK."""

    less = 0

    def empty(self, segment: Segment) -> Segment:
        self.less += 1000
        return replace(segment, window=max(segment.window - self.less, 0))


@tcp_mutant("ack-late", TALK, settings=Settings(ack_delay=0.9, ack_every=1000))
class TakesItsTime(PassiveConnection):
    """An ACK waits for 0.9 s, and text of its own waits with it."""

    def flush(self, now: float) -> None:
        if self.state is not State.ESTABLISHED or self.send.outstanding or not self.send.unsent:
            super().flush(now)
        elif "slow" not in self.alarms:
            self.alarms["slow"] = (now + 0.9, super().flush)
            self.stack.arm(self)


@tcp_mutant("ack-late", "TCP-ACK-4.a-trickle-of-text", settings=Settings(ack_delay=0.4))
class PutsItsAcksOff(PassiveConnection):
    """Each segment that comes puts the ACK off that waits."""

    def ack_may_wait(self, now: float) -> bool:
        self.alarms.pop("delayed ACK", None)
        return super().ack_may_wait(now)


@tcp_mutant("probe-unanswered", RESTS)
class DeafBehindAClosedWindow(PassiveConnection):
    """What comes to a closed window is not answered."""

    def closed_window_meets(self, segment: Segment, start: int, now: float) -> None:
        self.ack_arrives(segment, start, now)


@tcp_mutant("deaf-while-closed", "TCP-WIN-13.an-ack-beside-a-probe")
class IgnoresTheAckOfAProbe(PassiveConnection):
    """A probe of a closed window is acknowledged, and what it acknowledges is not looked at."""

    def closed_window_meets(self, segment: Segment, start: int, now: float) -> None:
        self.reject(segment, now)


@tcp_mutant(
    "early-text-dropped",
    "TCP-ACK-9.pieces-before-their-turn",
    settings=Settings(keep_early_text=False),
)
class KeepsNothingEarly(Stack):
    """Text that comes before its turn is thrown away."""


@tcp_mutant(
    "acks-stretch",
    "TCP-ACK-5.full-segments-one-by-one",
    settings=Settings(ack_delay=0.45, ack_every=6),
)
class AcksEverySixth(Stack):
    """Every sixth full segment is acknowledged."""


@tcp_mutant("window-stays-shut", RESTS)
class NeverOpensAgain(PassiveConnection):
    """A window that was closed stays closed."""

    def _open_window(self, now: float) -> None:
        if self.recv.wnd:
            super()._open_window(now)


@tcp_mutant("window-moves-on", "TCP-WIN-11.nobody-reads")
class EndlessBuffer(PassiveConnection):
    """The window never closes, however much nobody reads."""

    def deliver(self, data: bytes) -> None:
        window = self.recv.wnd
        super().deliver(data)
        self.recv.wnd = window


@tcp_mutant("ack-repeated", READS)
class AcksTwice(PassiveConnection):
    """Each ACK is sent twice."""

    def send_ack(self, now: float) -> None:
        super().send_ack(now)
        super().send_ack(now)


@tcp_mutant("ack-of-an-ack", ALONE)
class AcksAcks(PassiveConnection):
    """An ACK that says nothing new is answered with an ACK."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        known = (self.send.una, self.send.wnd)
        taken = super().ack_arrives(segment, start, now)
        if taken and not segment.length and known == (self.send.una, self.send.wnd):
            self._ack_wanted = True
        return taken


@tcp_mutant("old-ack-taken", "TCP-CHAL-7.text-with-an-old-acknowledgement")
class BelievesOldAcks(PassiveConnection):
    """Text is taken, however old the acknowledgement beside it is."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is not State.SYN_RCVD and seq.before(segment.ack, self.send.una):
            return True
        return super().ack_arrives(segment, start, now)


@tcp_mutant("text-not-delivered", HALF)
class DropsTextBehindItsFin(PassiveConnection):
    """Text that comes behind a FIN of its own is acknowledged, and dropped."""

    def deliver(self, data: bytes) -> None:
        if not self.send.fin_sent:
            super().deliver(data)


@tcp_mutant("sack-not-agreed", "TCP-SEQ-1.a-gap-without-sack")
class AlwaysReports(PassiveConnection):
    """Blocks are sent to a peer that did not permit them."""

    def establish(self, now: float) -> None:
        super().establish(now)
        self.sack = True


class DressedReport(DressedAck):
    """Changes its reports."""

    def blocks(self, edges: list[bytes]) -> list[bytes]:
        """The blocks, each of eight bytes, as they go out."""
        raise NotImplementedError

    def empty(self, segment: Segment) -> Segment:
        kept = []
        for each in opt.pull_options(segment.options):
            if each.kind == opt.SACK:
                edges = [each.data[at : at + 8] for at in range(0, len(each.data), 8)]
                data = b"".join(self.blocks(edges))
                each = opt.RawOption(opt.SACK, 2 + len(data), data)
            kept.append(each)
        return replace(segment, options=opt.padded(opt.push_options(kept)))


@tcp_mutant("sack-size", GAPS)
class HalfABlock(DressedReport):
    """The last block of a report has its first edge alone."""

    def blocks(self, edges: list[bytes]) -> list[bytes]:
        return [*edges[:-1], edges[-1][:4]]


@tcp_mutant("block-of-nothing", GAPS)
class ReportsTooMuch(DressedReport):
    """Blocks end a byte behind what came."""

    def blocks(self, edges: list[bytes]) -> list[bytes]:
        return [
            each[:4] + seq.add(int.from_bytes(each[4:], "big"), 1).to_bytes(4, "big")
            for each in edges
        ]


@tcp_mutant("blocks-touch", GAPS)
class CutsBlocks(DressedReport):
    """A block is reported as two that touch."""

    def blocks(self, edges: list[bytes]) -> list[bytes]:
        first, *rest = edges
        middle = seq.add(int.from_bytes(first[:4], "big"), 5).to_bytes(4, "big")
        return [first[:4] + middle, middle + first[4:], *rest][:3]


@tcp_mutant("first-block-is-old", GAPS)
class ReportsTheOldestFirst(DressedReport):
    """The block that was reported first comes first."""

    def blocks(self, edges: list[bytes]) -> list[bytes]:
        return edges[::-1]


@tcp_mutant("first-block-is-old", "TCP-SACK-2.pieces-that-touch")
class LeavesGrownBlocksBehind(ReceiveSide):
    """A block that grows keeps its place behind a newer one."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        grows = any(
            seq.at_most(first, start) and seq.at_most(start, last) for first, last in self.blocks()
        )
        data = super().take(start, payload, fin)
        if grows and start in self._newest:
            self._newest.remove(start)
        return data


@tcp_mutant("first-block-is-old", "TCP-SACK-3.a-piece-that-waits-comes-again")
class ReportsNewsFirst(ReceiveSide):
    """What comes once more before its turn leaves the order of the blocks as it was."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        order, known = list(self._newest), self.blocks()
        data = super().take(start, payload, fin)
        if self.blocks() == known:
            self._newest = order
        return data


@tcp_mutant("report-left-out", GAPS)
class ReportsOnce(PassiveConnection):
    """Only the first ACK behind a gap has a report."""

    reported = False

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        options = super().segment_options(now, payload=payload)
        there = any(each.kind == opt.SACK for each in options)
        if there and self.reported:
            return [each for each in options if each.kind == opt.TIMESTAMPS]
        self.reported = self.reported or there
        return options


@tcp_mutant("duplicate-of-nothing", READS, settings=Settings(dsack=True))
class ReportsNewTextAsOld(ReceiveSide):
    """Text that comes for the first time is reported as a duplicate."""

    def take(self, start: int, payload: bytes, fin: bool = False) -> bytes:
        data = super().take(start, payload, fin)
        if data:
            self._duplicate = (start, seq.add(start, len(payload)))
        return data


@tcp_mutant("duplicate-again", GAPS, settings=Settings(dsack=True))
class ReportsDuplicatesTwice(PassiveConnection):
    """A duplicate is reported by two ACKs."""

    def send_ack(self, now: float) -> None:
        told = self.recv._duplicate
        super().send_ack(now)
        if told is not None and self.sack:
            self.recv._duplicate = told
            super().send_ack(now)


@tcp_mutant("slows-for-a-quench", "TCP-ICMP-4.a-source-quench")
class HeedsSourceQuenches(Stack):
    """A source quench begins slow start (RFC 1122 section 4.2.3.9, which RFC 9293 forbids)."""

    def receive(self, packet: bytes, now: float) -> None:
        error = IcmpError.from_bytes(packet)
        if error is None or (error.src.version, error.type) != (4, 4):
            super().receive(packet, now)
            return
        quoted = quoted_segment(error.quoted)
        connection = self.connections.get(quoted[:4]) if quoted is not None else None
        if connection is not None:
            connection.send.cwnd = connection.send.mss
