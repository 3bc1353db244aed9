"""Runs cases against a stack live: in real time, through raw sockets, this kernel and a TUN."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import resource
import zlib
from collections.abc import Sequence

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.device import Device
from scapy_tfo.lab.served import ServedNetwork
from scapy_tfo.mutants.registry import named
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.labs import reference_target
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result
from scapy_tfo.suite.runner import Options, judge
from scapy_tfo.suite.simulation import unheard

_AT_ONCE = 24
"""Cases under way at a time."""


async def judge_live(
    name: str, device: Device, cases: Sequence[Case], catalogue: Catalogue, options: Options
) -> list[Result]:
    """Judge a stack of mutants/registry.py, as `simulate` does: each case meets a fresh one.

    device: of `open_network`, with an address of each family for every case. Raises SetupError
    from the links.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    network = ServedNetwork(device)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def within(case: Case, family: int) -> Result:
        async with gate:
            return await _one(name, network, case, family, catalogue, options)

    wanted = [(case, family) for family in options.families or (4, 6) for case in cases]
    return await asyncio.gather(*(within(case, family) for case, family in wanted))


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
    lab = await network.start(
        family,
        stack_class=mutant.stack,
        settings=mutant.settings,
        keys=random.Random(seed + 1).randbytes(16),
        seed=seed + 2,
    )
    alone = dataclasses.replace(options, families=(family,), seed=seed)
    try:
        run = await judge(reference_target(name, lab), [case], catalogue, alone)
    except TargetError as error:
        return unheard(case, family, catalogue, str(error))
    finally:
        lab.close()
    return run.results[0]
