"""Servers that get timestamps wrong on a fast open (RFC 7323 sections 3.2, 4.3 and 5.3)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.parts.pending import Ticket
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Segment


@mutant("AFT-6", also=("OPT-9",))
class EchoesNoTimestamp(PassiveConnection):
    """TSecr is zero in every segment."""

    def timestamps_option(self, now: float, *, echo: bool = True) -> opt.RawOption:
        return super().timestamps_option(now, echo=False)


@mutant("AFT-6")
class EchoesTheSynForEver(PassiveConnection):
    """TSecr stays the TSval of the SYN."""

    def note_timestamp(self, segment: Segment, start: int, now: float) -> None:
        """Never a newer one."""


@mutant("AFT-6")
class EchoesNoEmptyAck(PassiveConnection):
    """Only segments with text or FIN bring a TSval to echo, as RFC 1323 had it."""

    def note_timestamp(self, segment: Segment, start: int, now: float) -> None:
        if segment.payload or segment.is_fin:
            super().note_timestamp(segment, start, now)


@mutant("AFT-6", also=("OPT-9",))
class ForgetsTheTimestampOfTheSyn(PassiveConnection):
    """The first TSval that counts is that of the ACK, not the SYN's."""

    def open_fast(self, syn: Segment, ticket: Ticket, now: float) -> None:
        self.recv.ts_recent = 0
        super().open_fast(syn, ticket, now)


@mutant("AFT-6", also=("OPT-9",))
class EarlyDataEchoesNothing(PassiveConnection):
    """Data before the ACK has a TSecr of zero."""

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        if self.state is State.SYN_RCVD and self.timestamps:
            return [opt.nop(), opt.nop(), self.timestamps_option(now, echo=False)]
        return super().segment_options(now, payload=payload)


@mutant("AFT-6", also=("OPT-9",))
class EarlyDataHasNoTimestamps(PassiveConnection):
    """Data before the ACK carries no timestamps, though they were agreed."""

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        if self.state is State.SYN_RCVD:
            return []
        return super().segment_options(now, payload=payload)


@mutant("AFT-6")
class DropsTimestampsAfterTheHandshake(PassiveConnection):
    """After the handshake of a fast open no segment carries timestamps."""

    def establish(self, now: float) -> None:
        super().establish(now)
        self.timestamps = self.timestamps and not self.fast_opened


@mutant("AFT-6")
class BelievesOldTimestamps(PassiveConnection):
    """On a connection that began as a fast open a segment with an old TSval is taken."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        return self.fast_opened or super().passes_paws(segment, now)


@mutant("AFT-6")
class BelievesOldTimestampsInSynRcvd(PassiveConnection):
    """The segment that ends the handshake may have an old TSval."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        return self.state is State.SYN_RCVD or super().passes_paws(segment, now)


@mutant("AFT-6")
class BelievesOldTimestampsOfAcks(PassiveConnection):
    """A segment without data or FIN is taken whatever its TSval."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        return not segment.length or super().passes_paws(segment, now)


@mutant("AFT-6")
class RejectsEqualTimestamps(PassiveConnection):
    """A TSval that is not newer than the last one is rejected."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        times = segment.timestamps
        if self.timestamps and times and times[0] == self.recv.ts_recent:
            return False
        return super().passes_paws(segment, now)


@mutant("AFT-6")
class ComparesTimestampsUnsigned(PassiveConnection):
    """A TSval that wrapped to zero is taken for an old one."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        times = segment.timestamps
        if self.timestamps and times and times[0] < self.recv.ts_recent:
            self.reject(segment, now)
            return False
        return super().passes_paws(segment, now)


@mutant("AFT-6")
class EchoesWhatCameLast(PassiveConnection):
    """TSecr is the TSval of whatever came last, past a gap as well."""

    def note_timestamp(self, segment: Segment, start: int, now: float) -> None:
        times = segment.timestamps
        if times is not None and seq.at_most(self.recv.nxt, start):
            self.recv.ts_recent, self.recv.ts_recent_at = times[0], now


@mutant("AFT-6")
class OldTimestampResets(PassiveConnection):
    """A segment with an old TSval ends the connection."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        if not super().passes_paws(segment, now):
            self.abort(now)
            return False
        return True


@mutant("AFT-6")
class SynAckHasAnotherClock(PassiveConnection):
    """TSval goes back ten minutes between the SYN-ACK of a fast open and what follows it."""

    def syn_ack_options(self, now: float) -> list[opt.RawOption]:
        out = super().syn_ack_options(now)
        if not self.fast_opened:
            return out
        ahead = opt.timestamps(seq.add(self.timestamp(now), 600_000), self.recv.ts_recent)
        return [ahead if each.kind == opt.TIMESTAMPS else each for each in out]


@mutant("AFT-6")
class BelievesTimestampsOutsideTheWindow(PassiveConnection):
    """A newer TSval is recorded before the segment is held against the window."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        if not super().passes_paws(segment, now):
            return False
        self.note_timestamp(segment, segment.seq, now)
        return True
