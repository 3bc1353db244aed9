"""Short transactions a second in a closed loop, with fast open and without (paper 6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from scapy_tfo.gain.loops import Loop, PinnedServer
from scapy_tfo.gain.saving import Estimate, ratio

RTTS = (0.0, 0.0001, 0.0005, 0.001, 0.005, 0.02)
SIZE = 100
ROUNDS, SECONDS = 16, 0.5

PAPER = 0.0001, 1.234
"""Round-trip time in seconds, and fast open's rate over TCP's, of the paper (section 6.2)."""

_BUSY = 0.9
"""Part of the time that a process computes, from which on it is what limits the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """rtts: of the links, in seconds; 0 is the bare veth pair. size: of each response, in bytes.
    clients: loops at a time. rounds: of each way, in turn, each of `seconds`."""

    rtts: Sequence[float] = RTTS
    size: int = SIZE
    clients: int = 1
    rounds: int = ROUNDS
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One link. rtt: that was asked for; measured: that handshakes saw. bare: no emulator. tcp,
    tfo: transactions a second. ratio: of fast open's rate to TCP's. predicted: what it would be if
    each transaction took exactly the measured round trip less, None where one takes less than that.
    cpu: of the server's processor time for a transaction, fast open's to TCP's; None where it is
    too little to be measured. client_busy, server_busy: parts of the time. limit: what kept the
    rate from being higher: "client", "server", or "waiting" for packets and for one another."""

    rtt: float
    measured: float
    bare: bool
    tcp: float
    tfo: float
    ratio: Estimate
    predicted: float | None
    cpu: Estimate | None
    client_busy: float
    server_busy: float
    limit: str


def measure(plan: Plan) -> Iterator[Point]:
    """Measure point by point; each is told as soon as it is known. Raises SetupError and
    TargetError."""
    with PinnedServer(plan.size) as server:
        for rtt in plan.rtts:
            bare = server.bare and not rtt
            if bare:
                server.use_bare()
            else:
                server.use_emulator(rtt)
            tcp, tfo = turns(server, plan.rounds, plan.seconds, plan.clients)
            yield _point(rtt, bare, tcp, tfo, plan.clients)


def turns(
    server: PinnedServer, rounds: int, seconds: float, clients: int, rate: float | None = None
) -> tuple[list[Loop], list[Loop]]:
    """Loops with TCP and with fast open, in pairs, after a short one for the cookie."""
    loops: dict[str, list[Loop]] = {"tcp": [], "tfo": []}
    server.loop("tfo", seconds / 5, clients, rate)
    for number in range(rounds):
        for way in ("tcp", "tfo") if number % 2 else ("tfo", "tcp"):
            loops[way].append(server.loop(way, seconds, clients, rate))
    return loops["tcp"], loops["tfo"]


def cpu_ratio(tcp: Sequence[Loop], tfo: Sequence[Loop]) -> Estimate | None:
    """Of the server's processor time for a transaction; None where it is too little."""
    costs = [[each.server_cpu / each.count for each in loops] for loops in (tfo, tcp)]
    return ratio(*costs) if all(costs[0]) and all(costs[1]) else None


def limit(loops: Sequence[Loop]) -> str:
    """Who kept the rate from being higher: "client", "server", or neither: they wait."""
    if median(each.client_busy for each in loops) > _BUSY:
        return "client"
    return "server" if median(each.server_busy for each in loops) > _BUSY else "waiting"


def _point(rtt: float, bare: bool, tcp: Sequence[Loop], tfo: Sequence[Loop], clients: int) -> Point:
    rates = [each.rate for each in tcp], [each.rate for each in tfo]
    slow = median(rates[0])
    each_takes = clients / slow
    both = [*tcp, *tfo]
    measured = median(each.rtt for each in tcp if each.rtt is not None)
    return Point(
        rtt=rtt,
        measured=measured,
        bare=bare,
        tcp=slow,
        tfo=median(rates[1]),
        ratio=ratio(rates[1], rates[0]),
        predicted=each_takes / (each_takes - measured) if each_takes > measured else None,
        cpu=cpu_ratio(tcp, tfo),
        client_busy=median(each.client_busy for each in both),
        server_busy=median(each.server_busy for each in both),
        limit=limit(both),
    )
