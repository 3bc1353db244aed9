"""What was agreed on, and is not kept: RFC 7323 on timestamps, RFC 3168 on ECN."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.parts.ecn import Ecn
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import ACK, CWR, ECE, SYN, Segment
from scapy_tfo.tcp_mutants.headers import TALK, Dressed
from scapy_tfo.tcp_mutants.sending import DressedAck

TIMED = "TCP-ACK-10.acknowledgements-alone"
SILENCE = "TCP-TS-6.some-seconds-of-silence"
MARKED = "TCP-ECN-8.marked-text"
ECHOES = "TCP-ECN-10.echoes-of-marks"
SPEAKS = Settings(ecn=True)


@tcp_mutant("times-missing", TIMED)
class AcksWithoutTimes(DressedAck):
    """ACKs lack the timestamps that were agreed."""

    def empty(self, segment: Segment) -> Segment:
        return replace(segment, options=b"")


@tcp_mutant("times-not-agreed", TALK)
class TimesForAll(PassiveConnection):
    """Timestamps are sent without agreement."""

    def establish(self, now: float) -> None:
        super().establish(now)
        self.timestamps = True

    def passes_paws(self, segment: Segment, now: float) -> bool:
        return segment.timestamps is None or super().passes_paws(segment, now)


class OtherTimes(PassiveConnection):
    """Changes its timestamps behind the handshake."""

    def times(self, value: int, echo: int) -> tuple[int, int]:
        """TSval and TSecr as they go out."""
        raise NotImplementedError

    def timestamps_option(self, now: float, *, echo: bool = True) -> opt.RawOption:
        told = super().timestamps_option(now, echo=echo)
        if not self.is_synchronized:
            return told
        value, answer = (int.from_bytes(told.data[at : at + 4], "big") for at in (0, 4))
        return opt.timestamps(*self.times(value, answer))


@tcp_mutant("echo-of-nothing", TIMED)
class EchoesTheNextTick(OtherTimes):
    """Timestamps echo a value that is yet to come."""

    def times(self, value: int, echo: int) -> tuple[int, int]:
        return value, (echo + 1) % (1 << 32)


@tcp_mutant("clock-goes-back", SILENCE)
class ClockRunsBackwards(OtherTimes):
    """The clock of the timestamps runs backwards."""

    first: int | None = None

    def times(self, value: int, echo: int) -> tuple[int, int]:
        self.first = value if self.first is None else self.first
        return (2 * self.first - value) % (1 << 32), echo


@tcp_mutant("clock-stands", SILENCE)
class ClockStands(OtherTimes):
    """The clock of the timestamps stands still."""

    first: int | None = None

    def times(self, value: int, echo: int) -> tuple[int, int]:
        self.first = value if self.first is None else self.first
        return self.first, echo


@tcp_mutant("clock-races", SILENCE)
class ClockRaces(PassiveConnection):
    """The clock of the timestamps ticks each 3 ns."""

    ticks = 300_000_000


@tcp_mutant("mark-without-text", MARKED, settings=SPEAKS)
class MarksAcks(Dressed):
    """ACKs without text are marked as ECN-capable."""

    def dress(self, segment: Segment) -> Segment:
        plain = segment.flags & ~ECE == ACK and not segment.payload
        return replace(segment, traffic_class=2) if plain else segment


@tcp_mutant("ecn-flags-not-agreed", TALK)
class EchoesWithoutAgreement(DressedAck):
    """ACKs have ECE without agreement."""

    def empty(self, segment: Segment) -> Segment:
        return replace(segment, flags=ACK | ECE)


class OtherMarks(PassiveConnection):
    """Changes what ECN does to the segments of a connection."""

    marks: type[Ecn] = Ecn

    def agree_on_ecn(self) -> None:
        self.congestion = self.marks(self.send.iss)
        self.dressings = (self.congestion.dress, *self.dressings)


class AlwaysEchoing(Ecn):
    """ECE is always set."""

    def dress(self, segment: Segment) -> Segment:
        dressed = super().dress(segment)
        flags = dressed.flags if dressed.flags & SYN else dressed.flags | ECE
        return replace(dressed, flags=flags)


@tcp_mutant("ece-without-ce", MARKED, settings=SPEAKS)
class EchoesUnmarked(OtherMarks):
    """ECE is set though nothing was marked."""

    marks = AlwaysEchoing


class NeverEchoing(Ecn):
    """ECE is never set."""

    def dress(self, segment: Segment) -> Segment:
        self._echoing = False
        return super().dress(segment)


@tcp_mutant("mark-unanswered", MARKED, settings=SPEAKS)
class NeverEchoes(OtherMarks):
    """Marks are not told to the peer."""

    marks = NeverEchoing


class NeverTelling(Ecn):
    """CWR is never set."""

    def dress(self, segment: Segment) -> Segment:
        self._answer_due = False
        return super().dress(segment)


@tcp_mutant("reduction-untold", ECHOES, settings=SPEAKS)
class NeverTellsOfReductions(OtherMarks):
    """A reduction is not told to the peer."""

    marks = NeverTelling


class MarkingCopies(Ecn):
    """Text that is sent again is marked as ECN-capable."""

    def dress(self, segment: Segment) -> Segment:
        dressed = super().dress(segment)
        return replace(dressed, traffic_class=2) if segment.payload else dressed


@tcp_mutant("copy-marked", ECHOES, settings=SPEAKS)
class MarksCopies(OtherMarks):
    """Text that is sent again is marked as ECN-capable."""

    marks = MarkingCopies


class TellingByCopies(Ecn):
    """All text has CWR."""

    def dress(self, segment: Segment) -> Segment:
        dressed = super().dress(segment)
        return replace(dressed, flags=dressed.flags | CWR) if segment.payload else dressed


@tcp_mutant("copy-with-cwr", ECHOES, settings=SPEAKS)
class TellsByCopies(OtherMarks):
    """Text that is sent again has CWR."""

    marks = TellingByCopies


@tcp_mutant("mark-not-agreed", "TCP-ECN-4.a-syn-ack-that-comes-again", settings=SPEAKS)
class MarksBehindARefusal(PassiveConnection):
    """A SYN-ACK that is sent again does not agree to ECN, and text is marked all the same."""

    def retransmit_handshake(self, now: float) -> None:
        agreed, self.congestion = self.congestion, None
        super().retransmit_handshake(now)
        self.congestion = agreed
