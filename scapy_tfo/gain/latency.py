"""Measures the time to the first and the last byte of one request, with and without fast open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.gain.estimate import Estimate, saving
from scapy_tfo.gain.link import LinkedServer, carrier, check_sizes
from scapy_tfo.gain.link_shape import BARE, Line

RTTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3)
SIZES = (1_000, 10_000, 60_000, 1_000_000)
"""None ends with a flight of slow start (10, 30, 70 ... segments): there, a late acknowledgement
would cost one round trip more."""
TIMES = 20
WAYS = ("tcp", "tfo", "control")
_BASE_PATIENCE = 20.0
_LOSS_PATIENCE = 10.0
"""Additional seconds for each request if packets are lost and have to be sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """clients, servers: see names.py; each with each. rtts: of the link, in seconds. sizes: of
    responses, in bytes. times: requests of each way. line: all else of the link."""

    clients: Sequence[str] = ("kernel",)
    servers: Sequence[str] = ("nginx",)
    rtts: Sequence[float] = RTTS
    sizes: Sequence[int] = SIZES
    times: int = TIMES
    line: Line = BARE

    @property
    def cells(self) -> int:
        """How many there are to measure."""
        return len(self.clients) * len(self.servers) * len(self.rtts) * len(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One client and server, one round-trip time (seconds) and one size (bytes). tcp, tfo: median
    seconds to the last byte; tcp_first, tfo_first: to the first. link: who made it, "" where it is
    none of ours. early: the part of fast opens
    whose data was accepted. saved: seconds for the whole request. trips, trips_first: round trips
    saved, to the last byte and the first. control: the same of TCP against itself, which saves
    nothing; None where the RTT is 0. samples: by way, each request as it was measured (see
    fetcher.py), in turn."""

    client: str
    server: str
    link: str
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
    samples: Mapping[str, Sequence[Mapping[str, Any]]]


def measure(plan: Plan) -> Iterator[Cell]:
    """Measure cell by cell; each is told as soon as it is known, so that what was measured stays
    when it is broken off. Raises SetupError and TargetError."""
    check_sizes(plan.sizes)
    pairs = [(client, server) for client in plan.clients for server in plan.servers]
    links = {each: carrier(plan.line, kernels="reference" not in each) for each in pairs}
    for client, server in pairs:
        kind = links[client, server]
        with LinkedServer(plan.sizes, server=server, client=client, link=kind) as link:
            yield from _measure(plan, link, client, server, kind)


def _measure(plan: Plan, link: LinkedServer, client: str, server: str, kind: str) -> Iterator[Cell]:
    for rtt in plan.rtts:
        link.shape(*plan.line.shapes(rtt))
        for size in plan.sizes:
            trips = 4 + size / 14_000
            slow = 0.0 if plan.line.down is None else size * 8 / plan.line.down
            again = _LOSS_PATIENCE if plan.line.loss else 0.0
            each = trips * (rtt + 2 * plan.line.jitter) + 2 * slow + again
            patience = _BASE_PATIENCE + 3 * plan.times * each
            told = link.fetch(f"/bytes/{size}", WAYS, plan.times, 2 * patience)
            short = [one for one in told if one["bytes"] < size]
            if short:
                raise TargetError(f"only {short[0]['bytes']} bytes of a response of {size} arrived")
            yield cell(told, client=client, server=server, link=kind, rtt=rtt, size=size)


def cell(
    told: Sequence[Any], *, client: str, server: str, link: str, rtt: float, size: int
) -> Cell:
    """Of what a fetcher told. Raises SetupError where SciPy is missing."""
    by_way = {way: [each for each in told if each["way"] == way] for way in WAYS}
    firsts = {way: [each["first"] for each in by_way[way]] for way in WAYS}
    lasts = {way: [each["last"] for each in by_way[way]] for way in WAYS}

    def trips(times: dict[str, list[float]], way: str) -> Estimate | None:
        return saving(times["tcp"], times[way], rtt) if rtt else None

    return Cell(
        client=client,
        server=server,
        link=link,
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
        samples=by_way,
    )
