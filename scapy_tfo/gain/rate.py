"""Measures short transactions a second in a closed loop, with and without fast open (paper 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import NamedTuple, Protocol

from scapy_tfo.gain.closed_loops import Loop, PinnedServer
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.measuring.control import RATIO, off, refusal
from scapy_tfo.gain.measuring.estimate import Estimate, ratio
from scapy_tfo.gain.measuring.rounds import Budget, Tell, Until, blocks, progress
from scapy_tfo.gain.names import AUTO

RTTS = (0.0, 0.0001, 0.0005, 0.001, 0.005, 0.02)
SIZE = 100
ROUNDS, SECONDS = 16, 0.5

PAPER = 0.0001, 1.234
"""The paper's round-trip time in seconds, and its ratio of fast open's rate to TCP's (6.2)."""

WAITING = "waiting"
"""What limits a rate if neither client nor server does: both wait, for packets and each other."""

_EARLY = 3
"""Rounds after which a link that is another than was asked for is set anew, not measured on."""

_BUSY = 0.9
"""Part of the time that a process must compute to be what limits the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rtts: of the links, in seconds; 0 is the bare veth pair. size: of each response, in bytes.
    clients: loops at a time. rounds: of each way, each of `seconds`. precision: see `Until`.
    most_time: seconds for all links, None for any time. seed: of the order of the ways. line: all
    else of the links; the veth pair is for a bare one whose maker is `AUTO`."""

    rtts: Sequence[float] = RTTS
    size: int = SIZE
    clients: int = 1
    rounds: int = ROUNDS
    seconds: float = SECONDS
    precision: float | None = None
    most_time: float | None = None
    seed: int = 0
    line: Line = BARE

    @property
    def until(self) -> Until:
        """When a link has had enough rounds."""
        return Until(rounds=self.rounds, precision=self.precision, seconds=self.most_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One link. rtt: that was asked for; measured: that handshakes saw. link: who made it. tcp,
    tfo: transactions a second. ratio: of fast open's rate to TCP's. predicted: what it would be if
    each transaction took exactly the measured round trip less, None where one takes less than that.
    control: of TCP's own rate, measured once more, to TCP's. cpu: of the server's processor time
    for a transaction, fast open's to TCP's; None where it is too little to be measured.
    client_busy, server_busy: parts of the time. early: part of the fast opens looked at whose data
    the server took from the SYN. limit: what kept the rate from being higher: "client", "server",
    or `WAITING`. samples: by way, the rounds; those of the same number are of one block. refused:
    why `ratio` is no result, "" where it is one; ratio, predicted and cpu are None where they are
    withheld for that."""

    rtt: float
    measured: float
    link: str
    tcp: float
    tfo: float
    ratio: Estimate | None
    predicted: float | None
    control: Estimate
    cpu: Estimate | None
    client_busy: float
    server_busy: float
    early: float
    limit: str
    samples: Mapping[str, Sequence[Loop]]
    refused: str = ""


def measure(plan: Plan, tell: Tell = str) -> Iterator[Point]:
    """Measure point by point; each is told as soon as it is known. A link whose round-trip time
    turns out to be another than was asked for is measured twice. tell: hears how a point narrows.
    Raises SetupError and TargetError."""
    budget = Budget(until=plan.until, cells=len(plan.rtts))
    with PinnedServer(plan.size, plan.line) as server:
        for rtt in plan.rtts:
            budget.begin()
            point = _measured(server, plan, rtt, budget, tell, _EARLY)
            if _is_off(plan, point):
                budget.again()
                point = _measured(server, plan, rtt, budget, tell)
            yield replace(point, refused=_is_off(plan, point) or point.refused)


def _measured(
    server: PinnedServer, plan: Plan, rtt: float, budget: Budget, tell: Tell, early: int = 0
) -> Point:
    """early: after so many rounds, end if the round-trip time is off, 0 for never."""
    choose_link(server, rtt, plan.line)

    def known(found: Turns) -> tuple[Estimate, Estimate]:
        tcp, tfo, control = ([each.rate for each in loops] for loops in found)
        return ratio(tfo, tcp), ratio(control, tcp)

    def hopeless(found: Turns) -> bool:
        checked = len(found.tcp) == early and rtt and plan.line.is_bare
        return bool(checked and off(_seen(found), rtt))

    where = f"{rtt * 1000:g} ms"
    found = turns(
        server, plan, budget, known, lambda said: tell(f"{where}: {said}"), None, hopeless
    )
    return point(rtt, server.link, found, plan.clients)


def _seen(found: Turns) -> float:
    """The round-trip time of TCP's handshakes, in seconds."""
    return median(each.rtt for each in found.tcp if each.rtt is not None)


def _is_off(plan: Plan, point: Point) -> str:
    return off(point.measured, point.rtt) if point.rtt and plan.line.is_bare else ""


def choose_link(server: PinnedServer, rtt: float, line: Line) -> None:
    """The veth pair where nothing is asked of the link, nor who makes it. rtt: seconds. Raises
    TargetError."""
    if rtt or not line.is_bare or line.link != AUTO:
        server.use_link(rtt)
    else:
        server.use_bare()


class Turns(NamedTuple):
    """Loops of each way, in the order of their blocks."""

    tcp: list[Loop]
    tfo: list[Loop]
    control: list[Loop]


class Paced(Protocol):
    """What `turns` has to know of a plan."""

    @property
    def clients(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def seed(self) -> int: ...


Known = Callable[[Turns], tuple[Estimate | None, Estimate | None]]
"""The effect and the control, as far as they are known."""


def turns(
    server: PinnedServer,
    plan: Paced,
    budget: Budget,
    known: Known,
    tell: Tell,
    rate: float | None = None,
    hopeless: Callable[[Turns], bool] = lambda _: False,
) -> Turns:
    """Loops with TCP, with fast open, and with TCP again, in blocks of the three in a random order,
    after a short one for the cookie, until the budget has enough. rate: as in `PinnedServer.loop`.
    hopeless: ends it before.
    """
    found = Turns([], [], [])
    server.loop("tfo", plan.seconds / 5, plan.clients, rate)
    for order in blocks(Turns._fields, plan.seed):
        for name in order:
            way = "tfo" if name == "tfo" else "tcp"
            getattr(found, name).append(server.loop(way, plan.seconds, plan.clients, rate))
        rounds, (effect, control) = len(found.tcp), known(found)
        tell(progress(rounds, effect, control))
        if budget.enough(rounds, effect, control) or hopeless(found):
            return found
    raise AssertionError("blocks do not end")


def cpu_ratio(ours: Sequence[Loop], theirs: Sequence[Loop]) -> Estimate | None:
    """Of the server's processor time for a transaction; None where it is too little."""
    costs = [[each.server_cpu / each.count for each in loops] for loops in (ours, theirs)]
    return ratio(*costs) if all(costs[0]) and all(costs[1]) else None


def limit(loops: Sequence[Loop]) -> str:
    """Who kept the rate from being higher: "client", "server", or neither: they wait."""
    if median(each.client_busy for each in loops) > _BUSY:
        return "client"
    return "server" if median(each.server_busy for each in loops) > _BUSY else WAITING


def taken(loops: Sequence[Loop]) -> float:
    """Part of the fast opens looked at whose data the server took from the SYN."""
    return fmean(each.early for each in loops if each.early is not None)


def point(rtt: float, link: str, found: Turns, clients: int) -> Point:
    """What the loops say of a link. rtt: that was asked for, in seconds. Raises SetupError where
    NumPy is missing."""
    tcp, tfo, control = ([each.rate for each in loops] for loops in found)
    slow = median(tcp)
    each_takes = clients / slow
    both = [*found.tcp, *found.tfo]
    measured = _seen(found)
    gained, held = ratio(tfo, tcp), ratio(control, tcp)
    return Point(
        rtt=rtt,
        measured=measured,
        link=link,
        tcp=slow,
        tfo=median(tfo),
        ratio=gained,
        predicted=each_takes / (each_takes - measured) if each_takes > measured else None,
        control=held,
        cpu=cpu_ratio(found.tfo, found.tcp),
        client_busy=median(each.client_busy for each in both),
        server_busy=median(each.server_busy for each in both),
        early=taken(found.tfo),
        limit=limit(both),
        samples=found._asdict(),
        refused=refusal(gained, held, RATIO),
    )
