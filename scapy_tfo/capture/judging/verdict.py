"""What the rules say of captured connections, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scapy_tfo.capture.judging.doubts import Doubt


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that one end broke. rule: its name, as specs/ refers to it. count: how often. packets:
    the first frames that show it. expected, actual: of the first."""

    rule: str
    count: int
    packets: tuple[int, ...]
    expected: str
    actual: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndVerdict:
    """One end of a connection.

    end: `address:port`, of that address. is_there: it was captured at this end. role: `client`,
    which connects, or `server`. packets: that it sent. held: by the name of a rule, how many
    packets it was held against. broken: breaches. unsure: what is one unless the capture lacks
    packets or has spoiled ones. unjudged: rules that could not be held against all of its packets,
    by the reason. lacking: frames that show that packets are lacking.
    """

    end: str
    address: str
    is_there: bool
    role: str
    packets: int
    held: Mapping[str, int]
    broken: tuple[Finding, ...]
    unsure: tuple[Finding, ...]
    unjudged: Mapping[Doubt, tuple[str, ...]]
    lacking: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionVerdict:
    """first: its first frame. interface: it was captured at, counted from 0. place: the address of
    the end it was captured at, "" where the file does not say. case: of this project's own
    captures, whose packet it was, or ""."""

    first: int
    client: EndVerdict
    server: EndVerdict
    interface: int = 0
    place: str = ""
    case: str = ""

    @property
    def ends(self) -> tuple[EndVerdict, EndVerdict]:
        return self.client, self.server

    def is_suite(self, end: EndVerdict) -> bool:
        """Whether an end is this suite, which breaks rules on purpose: it captures where it is,
        whatever else a user says of the place."""
        return bool(self.case) and end.address == self.place

    @property
    def is_broken(self) -> bool:
        return any(each.broken for each in self.ends)

    @property
    def is_unsure(self) -> bool:
        return any(each.unsure for each in self.ends)


@dataclass(slots=True)
class Judgement:
    """A whole capture.

    packets, segments: frames, and those that are TCP. connections: those with findings first found,
    and of the others the first ones. count, broken, unsure: of all. doubts: ends by the reason why
    some rule was not judged. rules: packets that each rule was held against. left_out: connections
    that are counted only. notes: on the file as a whole.
    """

    packets: int = 0
    segments: int = 0
    count: int = 0
    broken: int = 0
    unsure: int = 0
    left_out: int = 0
    connections: list[ConnectionVerdict] = field(default_factory=list)
    doubts: Counter[Doubt] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
