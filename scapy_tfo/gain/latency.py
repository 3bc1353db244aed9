"""Measures the time to the first and the last byte of one request, with and without fast open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.gain.link import LinkedServer, carrier, check_sizes
from scapy_tfo.gain.link_shape import BARE, Line
from scapy_tfo.gain.measuring.control import TRIPS, off, refusal
from scapy_tfo.gain.measuring.estimate import Estimate, saving
from scapy_tfo.gain.measuring.rounds import Budget, Tell, Until, progress

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
    responses, in bytes. times: requests of each way. precision: see `Until`. most_time: seconds for
    all cells, None for any time. seed: of the order of the ways. line: all else of the link."""

    clients: Sequence[str] = ("kernel",)
    servers: Sequence[str] = ("nginx",)
    rtts: Sequence[float] = RTTS
    sizes: Sequence[int] = SIZES
    times: int = TIMES
    precision: float | None = None
    most_time: float | None = None
    seed: int = 0
    line: Line = BARE

    @property
    def until(self) -> Until:
        """When a cell has had enough requests."""
        return Until(rounds=self.times, precision=self.precision, seconds=self.most_time)

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
    nothing; None where the RTT is 0. seen: the median round-trip time that TCP's requests saw, in
    seconds. samples: by way, each request as it was measured (see
    fetcher.py); those of the same number are of one block. refused: why the cell is no result, ""
    where it is one; saved, trips and trips_first are None where they are withheld for that."""

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
    saved: Estimate | None
    trips: Estimate | None
    trips_first: Estimate | None
    control: Estimate | None
    samples: Mapping[str, Sequence[Mapping[str, Any]]]
    seen: float = 0.0
    refused: str = ""


def measure(plan: Plan, tell: Tell = str) -> Iterator[Cell]:
    """Measure cell by cell; each is told as soon as it is known, so that what was measured stays
    when it is broken off. A cell whose round-trip time turns out to be another than was asked for
    is measured twice. tell: hears how a cell narrows. Raises SetupError and TargetError."""
    check_sizes(plan.sizes)
    budget = Budget(until=plan.until, cells=plan.cells)
    pairs = [(client, server) for client in plan.clients for server in plan.servers]
    links = {each: carrier(plan.line, kernels="reference" not in each) for each in pairs}
    for client, server in pairs:
        kind = links[client, server]
        with LinkedServer(plan.sizes, server=server, client=client, link=kind) as link:
            for rtt in plan.rtts:
                link.shape(*plan.line.shapes(rtt))
                for size in plan.sizes:
                    budget.begin()
                    common: dict[str, Any] = {"client": client, "server": server, "link": kind}
                    common |= {"rtt": rtt, "size": size}
                    found = cell(_told(plan, link, rtt, size, budget, tell), **common)
                    if _is_off(plan, found):
                        budget.again()
                        found = cell(_told(plan, link, rtt, size, budget, tell), **common)
                    yield replace(found, refused=_is_off(plan, found) or found.refused)


def _told(
    plan: Plan, link: LinkedServer, rtt: float, size: int, budget: Budget, tell: Tell
) -> list[Any]:
    trips = 4 + size / 14_000
    slow = 0.0 if plan.line.down is None else size * 8 / plan.line.down
    again = _LOSS_PATIENCE if plan.line.loss else 0.0
    each = trips * (rtt + 2 * plan.line.jitter) + 2 * slow + again
    patience = _BASE_PATIENCE + 10 * each
    kept: list[Any] = []
    with closing(link.fetch(f"/bytes/{size}", WAYS, plan.until.most, plan.seed, patience)) as told:
        for one in told:
            if one["bytes"] < size:
                raise TargetError(f"only {one['bytes']} bytes of a response of {size} arrived")
            kept.append(one)
            rounds, left = divmod(len(kept), len(WAYS))
            if not left:
                effect, control = (_trips(kept, way, rtt) for way in WAYS[1:])
                said = progress(rounds, effect, control)
                tell(f"{rtt * 1000:g} ms, {size:,} bytes: {said}")
                if budget.enough(rounds, effect, control):
                    break
    return kept


def _trips(told: Sequence[Any], way: str, rtt: float) -> Estimate | None:
    slow, fast = ([each["last"] for each in told if each["way"] == one] for one in ("tcp", way))
    return saving(slow, fast, rtt) if rtt else None


def _is_off(plan: Plan, found: Cell) -> str:
    """The reference's ends take up to a millisecond for a handshake, and are known to."""
    kernels = "reference" not in (found.client, found.server)
    checked = found.rtt and plan.line.is_bare and kernels
    return off(found.seen, found.rtt) if checked else ""


def cell(
    told: Sequence[Any], *, client: str, server: str, link: str, rtt: float, size: int
) -> Cell:
    """Of what a fetcher told. Raises SetupError where NumPy is missing."""
    by_way = {way: [each for each in told if each["way"] == way] for way in WAYS}
    firsts = {way: [each["first"] for each in by_way[way]] for way in WAYS}
    lasts = {way: [each["last"] for each in by_way[way]] for way in WAYS}

    def trips(times: dict[str, list[float]], way: str) -> Estimate | None:
        return saving(times["tcp"], times[way], rtt) if rtt else None

    gained, held = trips(lasts, "tfo"), trips(lasts, "control")
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
        trips=gained,
        trips_first=trips(firsts, "tfo"),
        control=held,
        samples=by_way,
        seen=median(each["rtt"] for each in by_way["tcp"]),
        refused=refusal(gained, held, TRIPS),
    )
