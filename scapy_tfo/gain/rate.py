"""Measures short transactions a second in a closed loop, with and without fast open (paper 6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from scapy_tfo.gain.closed_loops import Loop, PinnedServer
from scapy_tfo.gain.estimate import Estimate, ratio
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.names import AUTO

RTTS = (0.0, 0.0001, 0.0005, 0.001, 0.005, 0.02)
SIZE = 100
ROUNDS, SECONDS = 16, 0.5

PAPER = 0.0001, 1.234
"""The paper's round-trip time in seconds, and its ratio of fast open's rate to TCP's (6.2)."""

WAITING = "waiting"
"""What limits a rate if neither client nor server does: both wait, for packets and each other."""

_BUSY = 0.9
"""Part of the time that a process must compute to be what limits the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rtts: of the links, in seconds; 0 is the bare veth pair. size: of each response, in bytes.
    clients: loops at a time. rounds: of each way, in turn, each of `seconds`. line: all else of the
    links; the veth pair is for a bare one whose maker is `AUTO`."""

    rtts: Sequence[float] = RTTS
    size: int = SIZE
    clients: int = 1
    rounds: int = ROUNDS
    seconds: float = SECONDS
    line: Line = BARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One link. rtt: that was asked for; measured: that handshakes saw. link: who made it. tcp,
    tfo: transactions a second. ratio: of fast open's rate to TCP's. predicted: what it would be if
    each transaction took exactly the measured round trip less, None where one takes less than that.
    control: of TCP's own rate, measured once more, to TCP's. cpu: of the server's processor time
    for a transaction, fast open's to TCP's; None where it is too little to be measured.
    client_busy, server_busy: parts of the time. early: part of the fast opens looked at whose data
    the server took from the SYN. limit: what kept the rate from being higher: "client", "server",
    or `WAITING`. samples: by way, the rounds in turn."""

    rtt: float
    measured: float
    link: str
    tcp: float
    tfo: float
    ratio: Estimate
    predicted: float | None
    control: Estimate
    cpu: Estimate | None
    client_busy: float
    server_busy: float
    early: float
    limit: str
    samples: Mapping[str, Sequence[Loop]]


def measure(plan: Plan) -> Iterator[Point]:
    """Measure point by point; each is told as soon as it is known. Raises SetupError and
    TargetError."""
    with PinnedServer(plan.size, plan.line) as server:
        for rtt in plan.rtts:
            choose_link(server, rtt, plan.line)
            found = turns(server, plan.rounds, plan.seconds, plan.clients)
            yield _point(rtt, server.link, found, plan.clients)


def choose_link(server: PinnedServer, rtt: float, line: Line) -> None:
    """The veth pair where nothing is asked of the link, nor who makes it. rtt: seconds. Raises
    TargetError."""
    if rtt or not line.is_bare or line.link != AUTO:
        server.use_link(rtt)
    else:
        server.use_bare()


class Turns(NamedTuple):
    """Loops of each way, in the order of their rounds."""

    tcp: list[Loop]
    tfo: list[Loop]
    control: list[Loop]


def turns(
    server: PinnedServer, rounds: int, seconds: float, clients: int, rate: float | None = None
) -> Turns:
    """Loops with TCP, with fast open, and with TCP again, in turn, after a short one for the
    cookie."""
    found = Turns([], [], [])
    ways = (("tcp", found.tcp), ("tfo", found.tfo), ("tcp", found.control))
    server.loop("tfo", seconds / 5, clients, rate)
    for number in range(rounds):
        for step in range(len(ways)):
            way, loops = ways[(number + step) % len(ways)]
            loops.append(server.loop(way, seconds, clients, rate))
    return found


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


def _point(rtt: float, link: str, found: Turns, clients: int) -> Point:
    tcp, tfo, control = ([each.rate for each in loops] for loops in found)
    slow = median(tcp)
    each_takes = clients / slow
    both = [*found.tcp, *found.tfo]
    measured = median(each.rtt for each in found.tcp if each.rtt is not None)
    return Point(
        rtt=rtt,
        measured=measured,
        link=link,
        tcp=slow,
        tfo=median(tfo),
        ratio=ratio(tfo, tcp),
        predicted=each_takes / (each_takes - measured) if each_takes > measured else None,
        control=ratio(control, tcp),
        cpu=cpu_ratio(found.tfo, found.tcp),
        client_busy=median(each.client_busy for each in both),
        server_busy=median(each.server_busy for each in both),
        early=taken(found.tfo),
        limit=limit(both),
        samples=found._asdict(),
    )
