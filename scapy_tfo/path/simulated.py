"""A path in memory, on virtual time: the reference client, middleboxes, the reference server."""

from __future__ import annotations

import random
from collections.abc import Sequence

from scapy_tfo.lab.boxed import BoxedPath
from scapy_tfo.lab.path import Impairment
from scapy_tfo.lab.reference import SOURCES, TARGET_V4, TARGET_V6, MemoryLink
from scapy_tfo.middleboxes.box import Box
from scapy_tfo.path.far import MIRROR, Far
from scapy_tfo.path.near import observe
from scapy_tfo.path.observation import Heard, Observations, Sighting
from scapy_tfo.path.prober import Patience, Prober
from scapy_tfo.suite.clock import run_virtually

PORT = 7413

CLOCKS_DIFFER = 1234.5
"""Seconds: the ends' clocks are two."""


def observe_simulated(
    boxes: Sequence[type[Box]],
    family: int,
    *,
    seed: int = 0,
    impairment: Impairment | None = None,
    agent: bool = True,
) -> Observations:
    """All connections of a run, through these boxes. Deterministic.

    family: 4 or 6. agent: the far end tells what it saw.
    """
    return run_virtually(_observed(boxes, family, seed, impairment or Impairment(), agent))


async def _observed(
    boxes: Sequence[type[Box]], family: int, seed: int, impairment: Impairment, agent: bool
) -> Observations:
    dice = random.Random(seed)
    server = TARGET_V4 if family == 4 else TARGET_V6
    link = MemoryLink(impairment=impairment, sources=SOURCES, seed=seed)
    path = BoxedPath(
        [each(dice) for each in boxes], link.answer, lambda packet: far.receive(packet)
    )
    link.attach(path.from_client)
    far = Far(
        path.from_server,
        lambda: link.now() + CLOCKS_DIFFER,
        keys=[dice.randbytes(16)],
        seed=seed + (1 << 32),
    )
    await far.listen(PORT, mirror=PORT + MIRROR)

    async def report() -> tuple[Sequence[Sighting], Sequence[Heard]] | None:
        seen = far.sightings()
        return (seen, await far.heard(seen)) if agent else None

    prober = Prober(link, server, echoes=True, seed=seed, patience=Patience())
    try:
        return await observe(prober, server, PORT, mirror=PORT + MIRROR * agent, report=report)
    finally:
        path.close()
        far.close()
        link.close()
