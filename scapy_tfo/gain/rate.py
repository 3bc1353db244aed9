"""Short transactions a second in a closed loop, with fast open and without (paper 6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from scapy_tfo.gain.link import LinkedServer, Loop
from scapy_tfo.gain.saving import Estimate, ratio
from scapy_tfo.lab.link_model import Shape

RTTS = (0.0, 0.0001, 0.0005, 0.001, 0.005, 0.02)
SIZE = 100
ROUNDS, SECONDS = 8, 0.5

PAPER = 0.0001, 1.234
"""Round-trip time in seconds, and fast open's rate over TCP's, of the paper (section 6.2)."""

_BUSY = 0.9
"""Part of the time that a process computes, from which on it is what limits the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rtts: of the link, in seconds. size: of each response, in bytes. clients: loops at a time.
    rounds: of each way, in turn, each of `seconds`."""

    rtts: Sequence[float] = RTTS
    size: int = SIZE
    clients: int = 1
    rounds: int = ROUNDS
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One round-trip time. tcp, tfo: transactions a second. ratio: of fast open's rate to TCP's.
    predicted: what it would be if each transaction took exactly one round trip less. cpu: of the
    server's processor time for a transaction, fast open's to TCP's; None where it is too little to
    be measured. limit: what kept the rate from being higher: "link", "client" or "server"."""

    rtt: float
    tcp: float
    tfo: float
    ratio: Estimate
    predicted: float
    cpu: Estimate | None
    limit: str


def measure(plan: Plan) -> Iterator[Point]:
    """Measure point by point; each is told as soon as it is known. Raises SetupError and
    TargetError."""
    with LinkedServer([plan.size]) as server:
        path = f"/bytes/{plan.size}"
        for rtt in plan.rtts:
            half = Shape(delay=rtt / 2)
            server.shape(half, half)
            # For the cookie, and to warm up.
            server.loop(path, "tfo", plan.seconds / 5, plan.clients)
            loops: dict[str, list[Loop]] = {"tcp": [], "tfo": []}
            for number in range(plan.rounds):
                ways = ("tcp", "tfo") if number % 2 else ("tfo", "tcp")
                for way in ways:
                    loops[way].append(server.loop(path, way, plan.seconds, plan.clients))
            point = _point(rtt, loops["tcp"], loops["tfo"], plan.clients)
            yield point


def _point(rtt: float, tcp: Sequence[Loop], tfo: Sequence[Loop], clients: int) -> Point:
    rates = [each.rate for each in tcp], [each.rate for each in tfo]
    slow = fmean(rates[0])
    each_takes = clients / slow
    costs = (
        [each.server_cpu / each.count for each in tcp],
        [each.server_cpu / each.count for each in tfo],
    )
    return Point(
        rtt=rtt,
        tcp=slow,
        tfo=fmean(rates[1]),
        ratio=ratio(rates[1], rates[0]),
        predicted=each_takes / (each_takes - rtt) if each_takes > rtt else float("inf"),
        cpu=ratio(costs[1], costs[0]) if all(costs[0]) and all(costs[1]) else None,
        limit=_limit([*tcp, *tfo]),
    )


def _limit(loops: Sequence[Loop]) -> str:
    if fmean(each.client_cpu / each.seconds for each in loops) > _BUSY:
        return "client"
    if fmean(each.server_cpu / each.seconds for each in loops) > _BUSY:
        return "server"
    return "link"
