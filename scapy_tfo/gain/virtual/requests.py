"""Measures single requests and short transactions on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from scapy_tfo.gain import latency, rate
from scapy_tfo.gain.closed_loops import Loop
from scapy_tfo.gain.ends.reference_fetcher import fetch
from scapy_tfo.gain.latency import WAYS
from scapy_tfo.gain.link_shape import Line
from scapy_tfo.gain.measuring.rounds import Tell, blocks
from scapy_tfo.gain.names import VIRTUAL
from scapy_tfo.gain.virtual.network import PORT, Network
from scapy_tfo.lab.app_registry import app_factory
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.runner.clock import run_virtually

_PAUSE = 1.0
"""Seconds between two requests: what is under way of one does not meet the next."""


def measure_latency(plan: latency.Plan, tell: Tell = str) -> Iterator[latency.Cell]:
    """Cell by cell, as `latency.measure`; the ends are the reference's. Raises TargetError."""
    for rtt in plan.rtts:
        for size in plan.sizes:
            tell(f"{rtt * 1000:g} ms, {size:,} bytes")
            told = run_virtually(_requests(plan.line, rtt, size, plan.times, plan.seed))
            ends = {"client": "reference", "server": "reference"}
            yield latency.cell(told, **ends, link=VIRTUAL, rtt=rtt, size=size)


def measure_rate(
    plan: rate.Plan, tell: Tell = str, *, compute: float = 0.0
) -> Iterator[rate.Point]:
    """Point by point, as `rate.measure`, of one client. compute: seconds that the server takes for
    each transaction, for the time that real ends need. Raises TargetError."""
    for rtt in plan.rtts:
        tell(f"{rtt * 1000:g} ms")
        found = rate.Turns([], [], [])
        for way, loops in zip(WAYS, found, strict=True):
            loops.append(run_virtually(_loop(plan, rtt, way, compute)))
        yield replace(rate.point(rtt, VIRTUAL, found, 1), limit=rate.WAITING)


async def _requests(line: Line, rtt: float, size: int, times: int, seed: int) -> list[Any]:
    network = Network(*line.shapes(rtt), seed=seed)
    network.serve(app_factory("http", SessionLog()))
    told = []
    try:
        await _fetch(network, "tfo", size)
        for order, _ in zip(blocks(WAYS, seed), range(times), strict=False):
            for way in order:
                await asyncio.sleep(_PAUSE)
                told.append(await _fetch(network, way, size))
    finally:
        network.close()
    return told


async def _fetch(network: Network, way: str, size: int) -> dict[str, Any]:
    request = f"GET /bytes/{size} HTTP/1.1\r\nHost: gain\r\nConnection: close\r\n\r\n".encode()
    return await fetch(network.client, way, (str(network.places[0]), PORT), request)


async def _loop(plan: rate.Plan, rtt: float, way: str, compute: float) -> Loop:
    """Transactions one after another for the plan's seconds of virtual time."""
    network = Network(*plan.line.shapes(rtt), seed=plan.seed)
    network.serve(app_factory("http", SessionLog()))
    loop = asyncio.get_running_loop()
    rtts: list[float] = []
    early: list[bool] = []
    try:
        await _fetch(network, "tfo", plan.size)
        began, count = loop.time(), 0
        while not count or loop.time() - began < plan.seconds:
            told = await _fetch(network, way, plan.size)
            await asyncio.sleep(compute)
            count += 1
            if way == "tfo":
                early.append(told["early"])
            else:
                rtts.append(told["rtt"])
        seconds = loop.time() - began
    finally:
        network.close()
    return Loop(
        count=count,
        seconds=seconds,
        client_busy=0.0,
        server_cpu=0.0,
        rtt=rtts[0] if rtts else None,
        early=sum(early) / len(early) if early else None,
        least_rtt=min(rtts, default=None),
    )
