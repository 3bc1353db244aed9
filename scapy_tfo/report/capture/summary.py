"""The outcomes of the fast opens in a capture, counted for the text, the JSON and the HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median

from scapy_tfo.dissector.connections import OUTCOMES, Connection, Problem, Reading

ACCEPTED = ("accepted", "accepted-partially", "cookieless-accepted")
REFUSED = (
    *("requested-not-granted", "refused-cookie"),
    *("refused-silently", "cookieless-refused"),
)
LOST = ("syn-lost-fallback", "syn-ack-lost")
WRONG = ("over-acknowledged", "replayed")
FINE = (*ACCEPTED, "requested-granted")
"""Outcomes of which a reader need not be told one by one."""

SEVERITIES = ("error", "warning", "note", "chat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Connections that have something in common. sent, acknowledged, resent: bytes in SYNs.
    round_trips: saved, less those lost; None where none is known. seconds_lost: waited for
    retransmissions of SYNs, in all. rtt, first_answer: medians in seconds, None where none is
    known."""

    name: str
    connections: int
    sent: int
    acknowledged: int
    resent: int
    round_trips: int | None
    seconds_lost: float
    rtt: float | None
    first_answer: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server or a client, and how many of its connections came to what."""

    name: str
    connections: int
    counts: Counter[str]
    rtt: float | None

    def among(self, outcomes: Iterable[str]) -> int:
        """How many came to one of these."""
        return sum(self.counts[each] for each in outcomes)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that was broken. frames: where, in order."""

    rule: str
    severity: str
    frames: tuple[int, ...]


class Summary:
    """The connections of a capture, counted."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.connections = reading.connections
        self.outcomes = [_row(name, each) for name, each in self._by_outcome().items()]
        self.total = _row("all", self.connections)
        self.servers = _endpoints(self.connections, lambda each: each.endpoint)
        self.clients = _endpoints(self.connections, lambda each: each.client)
        self.problems = _problems(self.connections)

    @property
    def telling(self) -> list[Connection]:
        """Connections that did not come to one of FINE, or broke a rule."""
        return [each for each in self.connections if each.outcome not in FINE or each.problems]

    def headline(self) -> str:
        """How many, and what they came to, in one sentence."""
        if not self.connections:
            return self._nothing()
        count = self.total.connections
        parts = [
            f"{sum(row.connections for row in self.outcomes if row.name in names):,} {what}"
            for names, what in (
                (ACCEPTED, "with data accepted"),
                (("requested-granted",), "granted a cookie"),
                (REFUSED, "refused"),
                (LOST, "with a loss"),
                (WRONG, "wrong"),
                (("unknown",), "unknown"),
            )
            if any(row.name in names for row in self.outcomes)
        ]
        text = f"{plural(count, 'connection')} with fast open: {', '.join(parts)}"
        trips, waited = self.total.round_trips, self.total.seconds_lost
        if trips is not None:
            text += f"; round trips saved, less lost: {signed(trips)}"
        return f"{text}; waited for lost SYNs: {waited:,.1f} s" if waited else text

    def _nothing(self) -> str:
        text = "no connection with a fast open option or data in its SYN"
        packets, tcp = self.reading.packets, self.reading.tcp
        if packets is None:
            return text
        if not tcp:
            return f"{text}: none of {plural(packets, 'packet')} is TCP"
        return f"{text} in {plural(packets, 'packet')}, {tcp:,} of TCP"

    def _by_outcome(self) -> dict[str, list[Connection]]:
        found: dict[str, list[Connection]] = {}
        for each in self.connections:
            found.setdefault(each.outcome, []).append(each)
        order = [*OUTCOMES, *sorted(found.keys() - set(OUTCOMES))]
        return {name: found[name] for name in order if name in found}


def plural(count: int, noun: str) -> str:
    """`1 packet`, `1,234 packets`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def signed(number: int | None) -> str:
    """`+3`, `0`, `-1`; "" for None."""
    return "" if number is None else f"{number:+,}" if number else "0"


def milliseconds(seconds: float | None) -> str:
    """`20.31`; "" for None."""
    return "" if seconds is None else f"{seconds * 1000:,.2f}"


def _row(name: str, connections: Iterable[Connection]) -> Row:
    members = list(connections)
    trips = [each.round_trips for each in members if each.round_trips is not None]
    return Row(
        name=name,
        connections=len(members),
        sent=sum(each.sent or 0 for each in members),
        acknowledged=sum(each.acknowledged or 0 for each in members),
        resent=sum(each.resent or 0 for each in members),
        round_trips=sum(trips) if trips else None,
        seconds_lost=round(sum(each.seconds_lost or 0 for each in members), 6),
        rtt=_median(each.rtt for each in members),
        first_answer=_median(each.first_answer for each in members),
    )


def _endpoints(
    connections: Iterable[Connection], name_of: Callable[[Connection], str]
) -> list[Endpoint]:
    """The busiest first."""
    found: dict[str, list[Connection]] = {}
    for each in connections:
        found.setdefault(name_of(each), []).append(each)
    endpoints = [
        Endpoint(
            name=name,
            connections=len(members),
            counts=Counter(each.outcome for each in members),
            rtt=_median(each.rtt for each in members),
        )
        for name, members in found.items()
    ]
    return sorted(endpoints, key=lambda each: (-each.connections, each.name))


def _problems(connections: Iterable[Connection]) -> list[Broken]:
    """The worst first, then the most frequent."""
    found: dict[tuple[str, str], list[int]] = {}
    each: Problem
    for connection in connections:
        for each in connection.problems:
            found.setdefault((each.severity, each.rule), []).append(each.frame)
    broken = [
        Broken(rule, severity, tuple(sorted(set(frames))))
        for (severity, rule), frames in found.items()
    ]
    return sorted(broken, key=lambda each: (_rank(each.severity), -len(each.frames), each.rule))


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _median(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None
