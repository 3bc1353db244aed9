"""The outcomes of the fast opens in captures, counted as they come, for every kind of report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_network

from scapy_tfo.dissector.connections import OUTCOMES, Connection
from scapy_tfo.dissector.reading import Reading
from scapy_tfo.report.capture.tally import MOST_ROWS, Endpoint, Endpoints, Row, Series
from scapy_tfo.units import plural

ACCEPTED = ("accepted", "accepted-partially", "cookieless-accepted")
REFUSED = (
    *("requested-not-granted", "refused-cookie"),
    *("refused-silently", "cookieless-refused"),
)
LOST = ("syn-lost-fallback", "syn-ack-lost")
WRONG = ("over-acknowledged", "replayed")
FINE = (*ACCEPTED, "requested-granted")
"""Outcomes of which a reader need not be told one by one."""

GROUPS = (
    ("accepted", ACCEPTED),
    ("granted", ("requested-granted",)),
    ("refused", REFUSED),
    ("lost", LOST),
    ("wrong", WRONG),
    ("unknown", ("unknown",)),
)
"""What the columns of tables by host and by time count."""

SEVERITIES = ("error", "warning", "note", "chat")
MOST_CONNECTIONS = 5000
"""Connections kept, of those that came to FINE and of the others: rows beyond these make a page
that no browser shows at once. JSON and CSV have all."""

_MOST_FRAMES = 12
_SUBNET = {4: 24, 6: 48}
_TOLD = 2


@dataclass(slots=True)
class Broken:
    """A rule that was broken. times: how often. frames: where, the first of them."""

    rule: str
    severity: str
    times: int = 0
    frames: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Blackhole:
    """A client and a server between which SYNs with data are lost. lost: so many. arrived: SYNs
    with data that came to the server. seconds_lost: waited for their retransmission."""

    client: str
    server: str
    lost: int = 0
    arrived: int = 0
    seconds_lost: float = 0.0


class Summary:
    """The connections of captures, counted one by one; of them, a bounded number is kept."""

    def __init__(self, tool: str = "") -> None:
        self.tool = tool
        self.readings: list[Reading] = []
        self.total = Row("all")
        self.series = Series()
        self._servers, self._clients, self._subnets = Endpoints(), Endpoints(), Endpoints()
        self._rows: dict[str, Row] = {}
        self._broken: dict[tuple[str, str], Broken] = {}
        self._pairs: dict[tuple[str, str], Blackhole] = {}
        self._subnet_of: dict[str, str] = {}
        self.telling: list[Connection] = []
        self.fine: list[Connection] = []
        self.telling_count = 0

    def take(self, each: Connection) -> None:
        """Count a connection."""
        self.total.add(each)
        row = self._rows.get(each.outcome)
        if row is None:
            row = self._rows[each.outcome] = Row(each.outcome)
        row.add(each)
        self._servers.add(each.endpoint, each)
        self._clients.add(each.client, each)
        self._subnets.add(self._subnet(each.client), each)
        self.series.add(each)
        if each.sent:
            self._note_pair(each)
        for problem in dict.fromkeys(each.problems):
            self._note_problem(problem.rule, problem.severity, problem.frame)
        is_telling = each.outcome not in FINE or each.problems
        self.telling_count += bool(is_telling)
        kept = self.telling if is_telling else self.fine
        if len(kept) < MOST_CONNECTIONS:
            kept.append(each)

    def end(self, reading: Reading) -> None:
        """A capture was read."""
        self.readings.append(reading)

    def _subnet(self, address: str) -> str:
        known = self._subnet_of.get(address)
        if known is None:
            if len(self._subnet_of) >= MOST_ROWS:
                self._subnet_of.clear()
            size = _SUBNET[6 if ":" in address else 4]
            with suppress(ValueError):
                known = str(ip_network(f"{address}/{size}", strict=False))
            known = known or address
            self._subnet_of[address] = known
        return known

    def _note_pair(self, each: Connection) -> None:
        key = each.client, each.endpoint
        pair = self._pairs.get(key)
        if pair is None:
            if len(self._pairs) >= MOST_ROWS:
                return
            pair = self._pairs[key] = Blackhole(*key)
        if each.outcome == "syn-lost-fallback":
            pair.lost += 1
            pair.seconds_lost += each.seconds_lost or 0.0
        elif each.outcome != "unknown":
            pair.arrived += 1

    def _note_problem(self, rule: str, severity: str, frame: int) -> None:
        if (severity, rule) not in self._broken and len(self._broken) >= MOST_ROWS:
            return
        broken = self._broken.setdefault((severity, rule), Broken(rule, severity))
        broken.times += 1
        if len(broken.frames) < _MOST_FRAMES and frame not in broken.frames:
            broken.frames.append(frame)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of all captures."""
        return tuple(warning for each in self.readings for warning in each.warnings)

    @property
    def captures(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(each.capture for each in self.readings)

    @property
    def outcomes(self) -> list[Row]:
        """A row for each outcome that there is."""
        order = [*OUTCOMES, *sorted(self._rows.keys() - set(OUTCOMES))]
        return [self._rows[name] for name in order if name in self._rows]

    @property
    def servers(self) -> list[Endpoint]:
        """By address and port, the busiest first."""
        return self._servers.ordered()

    @property
    def clients(self) -> list[Endpoint]:
        """By address, the busiest first."""
        return self._clients.ordered()

    @property
    def subnets(self) -> list[Endpoint]:
        """Of clients, /24 and /48, the busiest first."""
        return self._subnets.ordered()

    @property
    def blackholes(self) -> list[Blackhole]:
        """Pairs of which at least two SYNs with data were lost, and none arrived; the most time
        lost first. One that is lost alone is a matter of chance."""
        found = [each for each in self._pairs.values() if each.lost >= _TOLD and not each.arrived]
        return sorted(found, key=lambda each: (-each.seconds_lost, each.client, each.server))

    @property
    def problems(self) -> list[Broken]:
        """The worst first, then the most frequent."""
        return sorted(
            self._broken.values(), key=lambda each: (_rank(each.severity), -each.times, each.rule)
        )

    def headline(self) -> str:
        """How many, and what they came to, in one sentence."""
        if not self.total.connections:
            return _nothing(self.readings)
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
        text = f"{plural(self.total.connections, 'connection')} with fast open: {', '.join(parts)}"
        if self.total.round_trips is not None:
            text += f"; round trips saved, less lost: {signed(self.total.round_trips)}"
        if self.total.seconds_saved:
            text += f"; saved: {self.total.seconds_saved:,.1f} s"
        waited = self.total.seconds_lost
        return f"{text}; waited for lost SYNs: {waited:,.1f} s" if waited else text


def _nothing(readings: Sequence[Reading]) -> str:
    packets = plural(sum(each.packets for each in readings), "packet")
    text = "no connection with a fast open option or data in its SYN"
    counts = [each.tcp for each in readings]
    if not counts or None in counts:
        return f"{text} in {packets}"
    tcp = sum(count or 0 for count in counts)
    return f"{text} in {packets}, {tcp:,} of TCP" if tcp else f"{text}: none of {packets} is TCP"


def signed(number: int | None) -> str:
    """`+3`, `0`, `-1`; "" for None."""
    return "" if number is None else f"{number:+,}" if number else "0"


def milliseconds(seconds: float | None) -> str:
    """`20.31`; "" for None."""
    return "" if seconds is None else f"{seconds * 1000:,.2f}"


def seconds(number: float) -> str:
    """`4.2`; "" for none."""
    return f"{number:,.1f}" if number else ""


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
