"""Measures the server's CPU time at constant rates, with and without fast open (figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from scapy_tfo.gain.closed_loops import Loop, PinnedServer
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.measuring.control import RATIO, refusal
from scapy_tfo.gain.measuring.estimate import Estimate, typical
from scapy_tfo.gain.measuring.rounds import Budget, Tell, Until
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
    them, together at that rate. rounds: of each way, each of `seconds`. precision, most_time, seed:
    as of `rate.Plan`. rtt: of the link, in seconds; line: all else of it. With 0 and a bare line
    whose maker is `AUTO` it is the veth pair."""

    rates: Sequence[int] = RATES
    size: int = SIZE
    clients: int = CLIENTS
    rounds: int = ROUNDS
    seconds: float = SECONDS
    precision: float | None = None
    most_time: float | None = None
    seed: int = 0
    rtt: float = 0.0
    line: Line = BARE

    @property
    def until(self) -> Until:
        """When a rate has had enough rounds."""
        return Until(rounds=self.rounds, precision=self.precision, seconds=self.most_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One rate. tcp_rate, tfo_rate: that were reached. tcp, tfo: part of its core that the server
    took. ratio: of its processor time for a request, fast open's to TCP's; None where it is too
    little to be measured; control: TCP's own, measured once more, to TCP's. early: part of the fast
    opens looked at whose data the server took from the SYN. whole: with what the
    kernel took to receive. limit: what kept the rate from being reached, "" where it was. link:
    who made it. samples: by way, the rounds; those of the same number are of one block. refused:
    why `ratio` is no result, "" where it is one; it is None where it is withheld for that."""

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
    refused: str = ""


def measure(plan: Plan, tell: Tell = str) -> Iterator[Level]:
    """Measure rate by rate; each is told as soon as it is known. tell: hears how a rate narrows.
    Raises SetupError and TargetError."""
    budget = Budget(until=plan.until, cells=len(plan.rates))
    with PinnedServer(plan.size, plan.line) as server:
        choose_link(server, plan.rtt, plan.line)
        for rate in plan.rates:
            budget.begin()
            narrowing = partial(_tell, tell, rate)
            found = turns(server, plan, budget, _known, narrowing, rate)
            yield _level(rate, server.link, found, server.whole and server.link == VETH)


def _tell(tell: Tell, rate: int, said: str) -> None:
    tell(f"{rate:,}/s: {said}")


def _known(found: Turns) -> tuple[Estimate | None, Estimate | None]:
    return cpu_ratio(found.tfo, found.tcp), cpu_ratio(found.control, found.tcp)


def _level(rate: int, link: str, found: Turns, whole: bool) -> Level:
    tcp, tfo, _ = found
    reached = [median(each.rate for each in loops) for loops in (tcp, tfo)]
    both = [*tcp, *tfo]
    gained, held = _known(found)
    return Level(
        rate=rate,
        link=link,
        tcp_rate=reached[0],
        tfo_rate=reached[1],
        tcp=typical([each.server_busy for each in tcp]),
        tfo=typical([each.server_busy for each in tfo]),
        ratio=gained,
        control=held,
        early=taken(tfo),
        whole=whole,
        client_busy=median(each.client_busy for each in both),
        limit="" if min(reached) > _REACHED * rate else limit(both),
        samples=found._asdict(),
        refused=refusal(gained, held, RATIO),
    )
