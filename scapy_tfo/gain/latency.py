"""Time to the first byte and to the last of one request, with fast open and without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.gain.link import LinkedServer, check_sizes
from scapy_tfo.gain.saving import Estimate, saving
from scapy_tfo.lab.link_model import Shape

RTTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
SIZES = (1_000, 10_000, 60_000, 1_000_000)
"""None ends where a flight of slow start does (10, 30, 70 ... segments), from where a late
acknowledgement leads to a round trip more."""
TIMES = 20
WAYS = ("tcp", "tfo", "control")
_BASE_PATIENCE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """clients, servers: see ends.py; each with each. rtts: of the link, in seconds. sizes: of
    responses, in bytes. times: requests of each way. down, up: bits a second towards the client and
    from it, None for no limit; queue: bytes in front of each."""

    clients: Sequence[str] = ("kernel",)
    servers: Sequence[str] = ("nginx",)
    rtts: Sequence[float] = RTTS
    sizes: Sequence[int] = SIZES
    times: int = TIMES
    down: float | None = None
    up: float | None = None
    queue: int = 128 * 1024

    @property
    def cells(self) -> int:
        """How many there are to measure."""
        return len(self.clients) * len(self.servers) * len(self.rtts) * len(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One client and server, one round-trip time (seconds) and one size (bytes). tcp, tfo: median
    seconds to the last byte; tcp_first, tfo_first: to the first. early: the part of fast opens
    whose data was accepted. saved: seconds for the whole request. trips, trips_first: round trips
    saved, to the last byte and the first. control: the same of TCP against itself, which saves
    nothing; None where the RTT is 0."""

    client: str
    server: str
    rtt: float
    size: int
    tcp: float
    tfo: float
    tcp_first: float
    tfo_first: float
    early: float
    saved: Estimate
    trips: Estimate | None
    trips_first: Estimate | None
    control: Estimate | None


def measure(plan: Plan) -> Iterator[Cell]:
    """Measure cell by cell; each is told as soon as it is known, so that what was measured stays
    when it is broken off. Raises SetupError and TargetError."""
    check_sizes(plan.sizes)
    for client in plan.clients:
        for server in plan.servers:
            with LinkedServer(plan.sizes, server=server, client=client) as link:
                yield from _measure(plan, link, client, server)


def _measure(plan: Plan, link: LinkedServer, client: str, server: str) -> Iterator[Cell]:
    for rtt in plan.rtts:
        link.shape(
            Shape(delay=rtt / 2, rate=plan.up, queue=plan.queue),
            Shape(delay=rtt / 2, rate=plan.down, queue=plan.queue),
        )
        for size in plan.sizes:
            trips = 4 + size / 14_000
            slow = 0.0 if plan.down is None else size * 8 / plan.down
            patience = _BASE_PATIENCE + 3 * plan.times * (trips * rtt + 2 * slow)
            told = link.fetch(f"/bytes/{size}", WAYS, plan.times, 2 * patience)
            short = [each for each in told if each["bytes"] < size]
            if short:
                raise TargetError(f"a response of {size} bytes came with {short[0]['bytes']}")
            yield cell(told, client=client, server=server, rtt=rtt, size=size)


def cell(told: Sequence[Any], *, client: str, server: str, rtt: float, size: int) -> Cell:
    """Of what a fetcher told. Raises SetupError where SciPy is missing."""
    by_way = {way: [each for each in told if each["way"] == way] for way in WAYS}
    firsts = {way: [each["first"] for each in by_way[way]] for way in WAYS}
    lasts = {way: [each["last"] for each in by_way[way]] for way in WAYS}

    def trips(times: dict[str, list[float]], way: str) -> Estimate | None:
        return saving(times["tcp"], times[way], rtt) if rtt else None

    return Cell(
        client=client,
        server=server,
        rtt=rtt,
        size=size,
        tcp=median(lasts["tcp"]),
        tfo=median(lasts["tfo"]),
        tcp_first=median(firsts["tcp"]),
        tfo_first=median(firsts["tfo"]),
        early=sum(each["early"] for each in by_way["tfo"]) / len(by_way["tfo"]),
        saved=saving(lasts["tcp"], lasts["tfo"], 1.0),
        trips=trips(lasts, "tfo"),
        trips_first=trips(firsts, "tfo"),
        control=trips(lasts, "control"),
    )
