"""Measures the server's CPU time at constant rates, with and without fast open (figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from scapy_tfo.gain.closed_loops import Loop, PinnedServer
from scapy_tfo.gain.estimate import Estimate, typical
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.names import VETH
from scapy_tfo.gain.rate import Turns, choose_link, cpu_ratio, limit, taken, turns

RATES = (500, 1000, 2000, 3000, 4000, 5000, 6000)
SIZE = 5000
CLIENTS, ROUNDS, SECONDS = 4, 8, 1.0

_REACHED = 0.98
"""Part of a rate that must be reached for the rate to count as held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rates: requests a second. size: of each response, in bytes. clients: processes that send
    them, together at that rate. rounds: of each way, in turn, each of `seconds`. rtt: of the link,
    in seconds; line: all else of it. With 0 and a bare line whose maker is `AUTO`
    it is the veth pair."""

    rates: Sequence[int] = RATES
    size: int = SIZE
    clients: int = CLIENTS
    rounds: int = ROUNDS
    seconds: float = SECONDS
    rtt: float = 0.0
    line: Line = BARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One rate. tcp_rate, tfo_rate: that were reached. tcp, tfo: part of its core that the server
    took. ratio: of its processor time for a request, fast open's to TCP's; None where it is too
    little to be measured; control: TCP's own, measured once more, to TCP's. early: part of the fast
    opens looked at whose data the server took from the SYN. whole: with what the
    kernel took to receive. limit: what kept the rate from being reached, "" where it was. link:
    who made it. samples: by way, the rounds in turn."""

    rate: int
    link: str
    tcp_rate: float
    tfo_rate: float
    tcp: Estimate
    tfo: Estimate
    ratio: Estimate | None
    control: Estimate | None
    early: float
    whole: bool
    client_busy: float
    limit: str
    samples: Mapping[str, Sequence[Loop]]


def measure(plan: Plan) -> Iterator[Level]:
    """Measure rate by rate; each is told as soon as it is known. Raises SetupError and
    TargetError."""
    with PinnedServer(plan.size, plan.line) as server:
        choose_link(server, plan.rtt, plan.line)
        for rate in plan.rates:
            found = turns(server, plan.rounds, plan.seconds, plan.clients, rate)
            yield _level(rate, server.link, found, server.whole and server.link == VETH)


def _level(rate: int, link: str, found: Turns, whole: bool) -> Level:
    tcp, tfo, control = found
    reached = [median(each.rate for each in loops) for loops in (tcp, tfo)]
    both = [*tcp, *tfo]
    return Level(
        rate=rate,
        link=link,
        tcp_rate=reached[0],
        tfo_rate=reached[1],
        tcp=typical([each.server_busy for each in tcp]),
        tfo=typical([each.server_busy for each in tfo]),
        ratio=cpu_ratio(tfo, tcp),
        control=cpu_ratio(control, tcp),
        early=taken(tfo),
        whole=whole,
        client_busy=median(each.client_busy for each in both),
        limit="" if min(reached) > _REACHED * rate else limit(both),
        samples=found._asdict(),
    )
