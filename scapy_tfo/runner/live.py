"""Runs cases against a stack in real time, through raw sockets, this kernel and a TUN device."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import resource
import zlib
from collections.abc import Sequence

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.memory.device import Device
from scapy_tfo.lab.memory.served import ServedNetwork
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.runner.simulation import unheard
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result
from scapy_tfo.targets.own import reference_target
from scapy_tfo.variants.registry import named

STACKS = 24
"""Stacks that a device should have room for, and so cases under way at a time."""


async def judge_live(
    name: str,
    device: Device,
    wanted: Sequence[tuple[Case, int]],
    catalogue: Catalogue,
    options: Options,
    at_once: int = STACKS,
) -> list[Result]:
    """Judge a stack of variants/registry.py, as `simulate` does: each case meets a fresh one.

    device: of `open_network`. wanted: cases, each with the family, 4 or 6, to judge it in.
    at_once: cases under way at a time, no more than the device has addresses of a family.
    Raises SetupError from the links.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    network = ServedNetwork(device)
    gate = asyncio.Semaphore(at_once)

    async def within(case: Case, family: int) -> Result:
        async with gate:
            return await _one(name, network, case, family, catalogue, options)

    try:
        return await asyncio.gather(*(within(case, family) for case, family in wanted))
    finally:
        network.close()


async def _one(
    name: str,
    network: ServedNetwork,
    case: Case,
    family: int,
    catalogue: Catalogue,
    options: Options,
) -> Result:
    mutant = named(name)
    seed = zlib.crc32(f"{options.seed} {case.id} {family}".encode())
    alone = dataclasses.replace(options, families=(family,), seed=seed)
    async with network.serve(
        family,
        stack_class=mutant.stack,
        settings=mutant.settings,
        keys=random.Random(seed + 1).randbytes(16),
        seed=seed + 2,
    ) as lab:
        try:
            run = await judge(reference_target(name, lab), [case], catalogue, alone)
        except TargetError as error:
            return unheard(case, family, catalogue, str(error))
    return run.results[0]
