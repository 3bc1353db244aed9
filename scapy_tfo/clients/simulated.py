"""The reference client, a mutant or a variant of it, in memory and on virtual time."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address

from scapy_tfo.client_variants.registry import client_named
from scapy_tfo.clients.application import PADDING, Application, Dialogue, Ended
from scapy_tfo.clients.dialogue import Raw
from scapy_tfo.clients.judge import Options, judge
from scapy_tfo.lab.links.boxed import BoxedPath
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.memory.target import MemoryLink
from scapy_tfo.middleboxes.box import Box
from scapy_tfo.reference.stack import Stack
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.record import TOOL
from scapy_tfo.segment import Address
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Breach, CapturedPacket, Result, Run, moved
from scapy_tfo.variants.registry import AnyStack
from scapy_tfo.wire.link import Link

CLIENTS: tuple[Address, ...] = (ip_address("192.0.2.1"), ip_address("fd00:7413::1"))
SERVERS: dict[int, Address] = {4: ip_address("198.18.0.1"), 6: ip_address("fd00:7413:2::1")}


_CROWD = 12
"""Bytes that something else takes of a SYN's options; TCP MD5 would take 18, and no timestamps."""


class SimulatedApplication:
    """A `fetch` of the reference host as an application."""

    def __init__(self, host: ReferenceHost, address: Address, port: int, text: bytes, ask: bool):
        self._task = asyncio.ensure_future(host.fetch(address, port, text, fast_open=ask))

    async def ended(self) -> Ended:
        try:
            return Ended(0, await asyncio.shield(self._task))
        except OSError as error:
            return Ended(1, b"", str(error))

    def kill(self) -> None:
        self._task.cancel()


class SimulatedClient:
    """`sim:NAME`. See Client. Needs a running asyncio loop.

    boxes: on its path to our servers, from it on.
    """

    families: tuple[int, ...] = (4, 6)
    can_be_plain = writes_at_once = True
    is_fresh = True
    crowding = PADDING

    def __init__(
        self,
        name: str,
        mutant: AnyStack,
        seed: int,
        epoch: float,
        boxes: Sequence[type[Box]] = (),
    ) -> None:
        self.name = name
        self.direct = self.unchanged = not boxes
        self.dialogue: Dialogue = Raw()
        self._memory = MemoryLink(epoch=epoch, sources=tuple(SERVERS.values()), seed=seed)
        stack: Stack = mutant.stack(CLIENTS, mutant.settings, seed=seed + (1 << 32))
        dice = random.Random(seed)
        self._path = BoxedPath(
            [each(dice) for each in boxes],
            lambda packet: self._host.receive(packet),
            self._memory.answer,
        )
        self._host = ReferenceHost(stack, self._path.from_client)
        self._memory.attach(self._path.from_server)
        self.link: Link = self._memory
        self._servers = itertools.count()

    def server(self, family: int) -> Address:
        return SERVERS[family] + next(self._servers)

    async def start(
        self, address: Address, port: int, text: bytes, *, ask: bool, crowded: bool = False
    ) -> Application:
        if crowded:
            stack = self._host.stack
            usual = stack.settings
            stack.settings = replace(usual, other_syn_options=_CROWD)
            # A connection keeps the settings that it began with, two turns of the loop from now.
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, setattr, stack, "settings", usual)
        return SimulatedApplication(self._host, address, port, text, ask)

    def counters(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        self.link.close()
        self._path.close()
        self._host.close()


def simulate(
    name: str,
    cases: Sequence[Case],
    catalogue: Catalogue,
    options: Options | None = None,
    boxes: Sequence[type[Box]] = (),
) -> Run:
    """Judge a simulated client. Each case meets a fresh stack, so that none disturbs another.

    boxes: on its path to our servers, from it on. Deterministic: the same seed gives the same
    packets. Raises SetupError for an unknown name.
    """
    options = replace(options or Options(), attempts=1)
    mutant = client_named(name.removeprefix("sim:"))
    started, began = time.time(), time.perf_counter()
    results: list[Result] = []
    packets: list[CapturedPacket] = []
    notes: dict[str, None] = {}
    breaches: list[Breach] = []
    watched: Counter[str] = Counter()
    families = options.families or (4, 6)
    options.on_plan(len(families) * len(cases))
    if options.record is not None:
        options.record.packets = packets
    quiet = replace(options, on_plan=lambda _: None, on_result=lambda _: None, record=None)
    for family in families:
        for case in cases:
            seed = zlib.crc32(f"{options.seed} {case.id} {family}".encode())
            alone = replace(quiet, families=(family,), seed=seed)
            run = run_virtually(_one(name, mutant, case, catalogue, alone, started, boxes))
            notes |= dict.fromkeys(run.notes)
            shift = len(packets)
            packets += (replace(each, number=each.number + shift) for each in run.packets)
            breaches += moved(run.breaches, shift)
            watched.update(run.watched)
            for each in run.results:
                # What stands beside the cases may fail after each of them; once is enough.
                if any((each.case, family) == (one.case, one.family) for one in results):
                    continue
                numbers = tuple(number + shift for number in each.packets)
                results.append(replace(each, packets=numbers))
                options.on_result(results[-1])
    return Run(
        target=name,
        tool=TOOL,
        started=started,
        seconds=time.perf_counter() - began,
        results=tuple(results),
        packets=tuple(packets),
        notes=tuple(notes),
        breaches=tuple(breaches),
        watched=dict(watched),
    )


async def _one(
    name: str,
    mutant: AnyStack,
    case: Case,
    catalogue: Catalogue,
    options: Options,
    epoch: float,
    boxes: Sequence[type[Box]],
) -> Run:
    client = SimulatedClient(name, mutant, options.seed, epoch, boxes)
    try:
        return await judge(client, [case], catalogue, options)
    finally:
        client.close()
