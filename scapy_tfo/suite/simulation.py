"""Runs cases against the reference stack in memory, on virtual time."""

from __future__ import annotations

import dataclasses
import time
import zlib
from collections.abc import Sequence

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.reference import ReferenceLab
from scapy_tfo.mutants.registry import Mutant, named
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.clock import run_virtually
from scapy_tfo.suite.labs import reference_target
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import CapturedPacket, Result, Run, Verdict
from scapy_tfo.suite.runner import TOOL, Options, judge


def simulate(
    name: str, cases: Sequence[Case], catalogue: Catalogue, options: Options | None = None
) -> Run:
    """Judge a simulated target. Each case meets a fresh stack, so that none disturbs another.

    Deterministic: the same seed gives the same packets. Raises SetupError for an unknown name,
    and TargetError where the target cannot be judged and the path is not to blame.
    """
    options = options or Options()
    mutant = named(name.removeprefix("sim:"))
    started, began = time.time(), time.perf_counter()
    if options.impairment is None:
        # Nothing is lost, so what does not come at first never comes.
        options = dataclasses.replace(options, attempts=1)
    results: list[Result] = []
    packets: list[CapturedPacket] = []
    notes: list[str] = []
    loses = False
    for family in options.families or (4, 6):
        for case in cases:
            # Dice of its own, or one seed would lose the same packets in every case.
            seed = zlib.crc32(f"{options.seed} {case.id} {family}".encode())
            alone = dataclasses.replace(options, families=(family,), seed=seed)
            try:
                run = run_virtually(_one(name, mutant, case, catalogue, alone, started))
            except TargetError as error:
                if options.impairment is None:
                    raise
                loses = True
                results.append(unheard(case, family, catalogue, str(error)))
                continue
            shift = len(packets)
            packets += (_renumbered(each, shift) for each in run.packets)
            results += (_shifted(each, shift) for each in run.results) if shift else run.results
            notes += run.notes
            # A target that went away loses everything, and says nothing of the path.
            loses = loses or (run.loses and not run.gone)
    return Run(
        target=name,
        tool=TOOL,
        started=started,
        seconds=time.perf_counter() - began,
        results=tuple(_doubted(each) if loses and each.silent else each for each in results),
        packets=tuple(packets),
        notes=tuple(dict.fromkeys(notes)),
        loses=loses,
    )


def unheard(case: Case, family: int, catalogue: Catalogue, reason: str) -> Result:
    """A case before which the impaired path let no control handshake through."""
    return Result(
        case=case.id,
        title=case.title,
        family=family,
        requirements=case.requirements,
        level=case.level(catalogue),
        verdict=Verdict.INCONCLUSIVE,
        reason=reason,
    )


def _doubted(result: Result) -> Result:
    """A silence, now that another case found the path to lose packets."""
    return dataclasses.replace(
        result,
        verdict=Verdict.INCONCLUSIVE,
        reason=f"{result.reason}; the path loses packets",
        silent=False,
    )


async def _one(
    name: str,
    mutant: Mutant,
    case: Case,
    catalogue: Catalogue,
    options: Options,
    epoch: float,
) -> Run:
    lab = await ReferenceLab.start(
        stack_class=mutant.stack,
        settings=mutant.settings,
        seed=options.seed,
        epoch=epoch,
        impairment=options.impairment,
    )
    try:
        return await judge(reference_target(name, lab), [case], catalogue, options)
    finally:
        lab.close()


def _renumbered(packet: CapturedPacket, shift: int) -> CapturedPacket:
    return CapturedPacket(
        number=packet.number + shift,
        when=packet.when,
        outbound=packet.outbound,
        data=packet.data,
        comment=packet.comment,
    )


def _shifted(result: Result, shift: int) -> Result:
    return dataclasses.replace(result, packets=tuple(each + shift for each in result.packets))
