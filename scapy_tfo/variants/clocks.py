"""Timestamps (RFC 7323) and initial sequence numbers (RFC 6528)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, Address, Segment
from scapy_tfo.variants.later import LaterStack
from scapy_tfo.variants.registry import add, variant


@variant({"segment-without-timestamps": "taken"})
class TakesSegmentsWithoutTimestamps(PassiveConnection):
    """A segment without the agreed timestamps is taken like any other."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        return segment.timestamps is None or super().passes_paws(segment, now)


@variant({"segment-without-timestamps": "dropped with an ACK"})
class AcknowledgesSegmentsWithoutTimestamps(PassiveConnection):
    """A segment without the agreed timestamps is dropped with an ACK."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        if self.timestamps and segment.timestamps is None:
            self.reject(segment, now)
            return False
        return super().passes_paws(segment, now)


@variant({"timestamps-on-rst": "no"})
class AbortsWithoutTimestamps(PassiveConnection):
    """The RST of an abort carries no timestamps."""

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        return [] if self.aborting else super().segment_options(now, payload=payload)

    def abort(self, now: float) -> None:
        self.aborting = True
        super().abort(now)

    aborting = False


@variant({"timestamps-on-refusal": "yes"})
class RefusesWithTimestamps(Stack):
    """A RST that answers a segment with timestamps echoes them."""

    def refuse(self, segment: Segment) -> None:
        self.refused = segment
        super().refuse(segment)
        self.refused = None

    refused: Segment | None = None

    def send(self, segment: Segment) -> None:
        times = self.refused.timestamps if self.refused is not None else None
        if times is not None and segment.is_rst:
            options = opt.push_options([opt.nop(), opt.nop(), opt.timestamps(0, times[0])])
            segment = replace(segment, options=options)
        super().send(segment)


@variant({"rst-timestamp-check": "no"})
class ChecksTheTimesOfARst(PassiveConnection):
    """A RST is dropped whose timestamps echo what was never sent."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        times = segment.timestamps
        if (
            not (self.timestamps and times and segment.flags & ACK)
            or seq.distance(times[1], self.timestamp(now)) >= 0
        ):
            super().rst_arrives(segment, now)


@variant({"timestamp-rtt": "yes"})
class MeasuresByTimestamps(PassiveConnection):
    """Each ACK of new text is a sample of the round trip, by the timestamp that it echoes."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        una, times = self.send.una, segment.timestamps
        goes_on = super().ack_arrives(segment, start, now)
        if self.timestamps and times and self.is_synchronized and seq.before(una, self.send.una):
            age = self.age_of(times[1], now)
            if age >= 0:
                self.send.measure(age)
        return goes_on


@variant({"paws": "no"}, combines=False)
class TakesOldTimestamps(PassiveConnection):
    """A segment with an old timestamp is taken like any other."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        old = self.timestamps and segment.timestamps is not None
        return old or super().passes_paws(segment, now)


@variant({"paws-expiry": "with every segment"})
class CountsIdleTimeFromTheLastSegment(PassiveConnection):
    """Old timestamps are believed again 24 days after the last segment that was taken."""

    def passes_paws(self, segment: Segment, now: float) -> bool:
        passes = super().passes_paws(segment, now)
        if passes:
            self.recv.ts_recent_at = now
        return passes


@variant({"timestamp-clock": "10 ms"})
class TicksOfTenMilliseconds(PassiveConnection):
    """The clock of the timestamps ticks every 10 ms."""

    ticks = 100


@variant({"timestamp-clock": "100 ms"})
class TicksOfATenth(PassiveConnection):
    """The clock of the timestamps ticks every 100 ms."""

    ticks = 10


@variant({"timestamp-clock": "1 s"})
class TicksOfASecond(PassiveConnection):
    """The clock of the timestamps ticks every second."""

    ticks = 1


@variant({"timestamp-offset": "the host's clock"})
class OneClockForAll(PassiveConnection):
    """The timestamps of all connections are of one clock."""

    def timestamp(self, now: float) -> int:
        self._clock_offset = 0
        return super().timestamp(now)


@variant({"timestamp-offset": "near the wrap"})
class TimestampsWrapSoon(PassiveConnection):
    """Timestamps begin shortly before they wrap."""

    first: int | None = None

    def timestamp(self, now: float) -> int:
        if self.first is None:
            self.first = 0
            self._clock_offset = 0
            self._clock_offset = -3 - super().timestamp(now)
        return super().timestamp(now)


@variant({"isn": "near the wrap"})
class IsnNearTheWrap(Stack):
    """Initial sequence numbers lie shortly before the wrap."""

    before: dict[tuple[object, ...], int] | None = None

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int:
        ends = (*local, *remote)
        if ends in self._reopened:
            return super().choose_isn(local, remote)
        # Never the same for the same ends twice in a row (RFC 9293 section 3.4.1).
        self.before = {} if self.before is None else self.before
        some = [each for each in range(40) if each != self.before.get(ends)]
        self.before[ends] = number = self.random.choice(some)
        return seq.add(0, -1 - number)


@variant({"isn": "hash and clock"})
class IsnOfHashAndClock(LaterStack):
    """Initial sequence numbers are a hash of the 4-tuple and a clock of 4 microseconds."""

    def choose_isn(self, local: tuple[Address, int], remote: tuple[Address, int]) -> int:
        if (*local, *remote) in self._reopened:
            return super().choose_isn(local, remote)
        number = hashlib.blake2b(repr((local, remote)).encode(), digest_size=4).digest()
        return seq.add(int.from_bytes(number, "big"), int(self.clock * 250_000))


add(
    "isns-in-steps",
    "Initial sequence numbers are 64,000 apart.",
    {"isn": "in steps"},
    first_isn=0xFFFF_0000,
)
