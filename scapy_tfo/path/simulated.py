"""A path in memory, on virtual time: the reference client, middleboxes, the reference server."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.links.boxed import BoxedPath
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.lab.memory.target import SOURCES, TARGET_V4, TARGET_V6, MemoryLink
from scapy_tfo.middleboxes.box import Box, read
from scapy_tfo.path.far import MIRROR, Far
from scapy_tfo.path.farm import Farm, Keys
from scapy_tfo.path.near import observe
from scapy_tfo.path.observation import Heard, Observations, Sighting
from scapy_tfo.path.prober import Patience, Prober
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.shared_keys import REQUESTS

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
    farm: Farm | None = None,
    requests: int = REQUESTS,
) -> Observations:
    """All connections of a run, through these boxes. Deterministic.

    family: 4 or 6. agent: the far end tells what it saw. farm: several far ends behind the last
    box, of which the first has the agent. requests: cookies asked for.
    """
    simulation = _Simulation(boxes, family, seed, impairment or Impairment(), agent, farm)
    return run_virtually(simulation.run(requests))


@dataclass
class _Simulation:
    boxes: Sequence[type[Box]]
    family: int
    seed: int
    impairment: Impairment
    agent: bool
    farm: Farm | None

    async def run(self, requests: int) -> Observations:
        dice = random.Random(self.seed)
        server = TARGET_V4 if self.family == 4 else TARGET_V6
        link = MemoryLink(impairment=self.impairment, sources=SOURCES, seed=self.seed)
        keys: list[Keys] = self.farm.keys(dice) if self.farm else [[dice.randbytes(16)]]
        boxes = [each(dice) for each in self.boxes]
        path = BoxedPath(boxes, link.answer, lambda packet: balancer.receive(packet))
        link.attach(path.from_client)
        fars = [
            Far(
                path.from_server,
                lambda: link.now() + CLOCKS_DIFFER,
                keys=each,
                seed=self.seed + (number << 32),
            )
            for number, each in enumerate(keys, 1)
        ]
        balancer = _Balancer(fars, dice)
        for each in fars:
            await each.listen(PORT, mirror=PORT + MIRROR)

        async def report() -> tuple[Sequence[Sighting], Sequence[Heard]] | None:
            seen = fars[0].sightings()
            return (seen, fars[0].heard(seen)) if self.agent else None

        def rotate() -> None:
            if self.farm is not None and self.farm.later is not None:
                for each, new in zip(fars, self.farm.later(dice, keys), strict=True):
                    each.stack.cookies = KeyRing(new)

        prober = Prober(link, server, echoes=True, seed=self.seed, patience=Patience())
        try:
            return await observe(
                prober,
                server,
                PORT,
                mirror=PORT + MIRROR * self.agent,
                report=report,
                requests=requests,
                between=rotate,
            )
        finally:
            prober.close()
            path.close()
            for each in fars:
                each.close()
            link.close()


class _Balancer:
    """Sends each connection to one of the far ends, by chance."""

    def __init__(self, fars: Sequence[Far], dice: random.Random) -> None:
        self._fars = fars
        self._dice = dice
        self._chosen: dict[tuple[bytes, int], Far] = {}

    def receive(self, packet: bytes) -> None:
        segment = read(packet)
        if segment is not None:
            client = segment.src.packed, segment.sport
            if client not in self._chosen:
                self._chosen[client] = self._dice.choice(self._fars)
            self._chosen[client].receive(packet)
