"""Counts connections in bounded memory: medians of samples, rows for hosts, and a time series."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from statistics import median

from scapy_tfo.dissector.connections import Connection

SAMPLE = 1000
"""Values of which a median is exact; of more, it is that of so many drawn at random."""

MOST_ROWS = 10_000
"""Rows of a table; what belongs to others is counted in one more."""

OTHERS = "others"
MOST_BUCKETS = 60
"""Parts of a time series."""


class Sample:
    """Values of which the median is asked for."""

    __slots__ = ("_dice", "_kept", "count")

    def __init__(self) -> None:
        self._kept = array("d")
        self._dice = Random(0)
        self.count = 0

    def add(self, value: float | None) -> None:
        """None is no value."""
        if value is None:
            return
        self.count += 1
        if self.count <= SAMPLE:
            self._kept.append(value)
        elif (place := int(self._dice.random() * self.count)) < SAMPLE:
            self._kept[place] = value

    @property
    def median(self) -> float | None:
        """None where there is no value."""
        return median(self._kept) if self._kept else None


@dataclass(slots=True)
class Row:
    """Connections that have something in common. sent, acknowledged, resent: bytes in SYNs.
    trips: round trips saved, less those lost; None where none is known. seconds_lost: waited for
    retransmissions of SYNs. seconds_saved: round trips saved, where their time is known."""

    name: str
    connections: int = 0
    sent: int = 0
    acknowledged: int = 0
    resent: int = 0
    round_trips: int | None = None
    seconds_lost: float = 0.0
    seconds_saved: float = 0.0
    rtts: Sample = field(default_factory=Sample)
    first_answers: Sample = field(default_factory=Sample)

    def add(self, each: Connection) -> None:
        """Count a connection."""
        self.connections += 1
        self.sent += each.sent or 0
        self.acknowledged += each.acknowledged or 0
        self.resent += each.resent or 0
        if each.round_trips is not None:
            self.round_trips = (self.round_trips or 0) + each.round_trips
        self.seconds_lost += each.seconds_lost or 0.0
        self.seconds_saved += each.seconds_saved
        self.rtts.add(each.rtt)
        self.first_answers.add(each.first_answer)


@dataclass(slots=True)
class Endpoint:
    """A server, a client or a subnet, and how many of its connections came to what."""

    name: str
    connections: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    seconds_lost: float = 0.0
    seconds_saved: float = 0.0
    rtts: Sample = field(default_factory=Sample)

    def add(self, each: Connection) -> None:
        """Count a connection."""
        self.connections += 1
        self.counts[each.outcome] += 1
        self.seconds_lost += each.seconds_lost or 0.0
        self.seconds_saved += each.seconds_saved
        self.rtts.add(each.rtt)

    def among(self, outcomes: Iterable[str]) -> int:
        """How many came to one of these."""
        return sum(self.counts[each] for each in outcomes)


class Endpoints:
    """Rows by name, of which there are never more than MOST_ROWS and one for the rest."""

    def __init__(self) -> None:
        self._rows: dict[str, Endpoint] = {}

    def add(self, name: str, each: Connection) -> None:
        """Count a connection of that name."""
        row = self._rows.get(name)
        if row is None:
            name = name if len(self._rows) < MOST_ROWS else OTHERS
            row = self._rows.setdefault(name, Endpoint(name))
        row.add(each)

    def ordered(self) -> list[Endpoint]:
        """The busiest first, the rest last."""
        rows = self._rows.values()
        return sorted(rows, key=lambda row: (row.name == OTHERS, -row.connections, row.name))


@dataclass(slots=True)
class Bucket:
    """Connections that began in `width` seconds from `began` on (seconds since the epoch)."""

    began: float
    width: float
    counts: Counter[str] = field(default_factory=Counter)
    seconds_lost: float = 0.0

    def among(self, outcomes: Iterable[str]) -> int:
        """How many came to one of these."""
        return sum(self.counts[each] for each in outcomes)


class Series:
    """Connections by the time of their beginning, in at most MOST_BUCKETS parts of equal width: of
    a second, or as many as it takes."""

    def __init__(self, most: int = MOST_BUCKETS) -> None:
        self._most = most
        self._width = 1
        self._parts: dict[int, Bucket] = {}
        self._low = self._high = 0

    def add(self, each: Connection) -> None:
        """Count a connection, in whatever order they come; one of an unknown time is left out."""
        if each.began is None:
            return
        place = int(each.began // self._width)
        part = self._parts.get(place) or self._new(place)
        part.counts[each.outcome] += 1
        part.seconds_lost += each.seconds_lost or 0.0

    def coarse(self, most: int) -> Series:
        """The same in fewer parts."""
        other = Series(most)
        other._width = self._width
        other._low, other._high = self._low, self._high
        other._parts = dict(self._parts)
        while other._parts and other._high - other._low >= most:
            other._widen()
        return other

    def _new(self, place: int) -> Bucket:
        """The part of that number, or of a wider one where there would be too many."""
        if not self._parts:
            self._low = self._high = place
        self._low, self._high = min(self._low, place), max(self._high, place)
        while self._high - self._low >= self._most:
            self._widen()
            place //= 2
        return self._parts.setdefault(place, self._bucket(place))

    def _bucket(self, place: int) -> Bucket:
        return Bucket(float(place * self._width), float(self._width))

    def _widen(self) -> None:
        self._width *= 2
        self._low, self._high = self._low // 2, self._high // 2
        before, self._parts = self._parts, {}
        for place, part in before.items():
            wide = self._parts.setdefault(place // 2, self._bucket(place // 2))
            wide.counts.update(part.counts)
            wide.seconds_lost += part.seconds_lost

    def buckets(self) -> Iterator[Bucket]:
        """From the first to the last, with those in which nothing began."""
        if self._parts:
            for place in range(self._low, self._high + 1):
                yield self._parts.get(place) or self._bucket(place)
