"""Runs cases against the reference stack in memory, on virtual time."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.lab.memory.isns import below
from scapy_tfo.lab.memory.target import ReferenceLab
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.record import TOOL, doubted
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.context.surroundings import delay_in, isn_in, mtu_in
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Breach, CapturedPacket, Result, Run, Verdict, moved, numbered
from scapy_tfo.targets.own import reference_target
from scapy_tfo.variants.registry import UPTIME, AnyStack, named


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
        options = replace(options, attempts=1)
    results: list[Result] = []
    packets: list[CapturedPacket] = []
    notes: list[str] = []
    breaches: list[Breach] = []
    watched: Counter[str] = Counter()
    loses = False
    families = options.families or (4, 6)
    tell, options = _announced(options, len(families) * len(cases), packets)
    for family in families:
        for case in cases:
            # Dice of its own, or one seed would lose the same packets in every case.
            seed = zlib.crc32(f"{options.seed} {case.id} {family}".encode())
            path = _path_in(options.context.without(case.fixed), options.impairment)
            alone = replace(options, families=(family,), seed=seed, impairment=path)
            try:
                one = _one(name, mutant, case, family, catalogue, alone, started - UPTIME)
                run = run_virtually(one, start=UPTIME)
            except TargetError as error:
                if options.impairment is None:
                    raise
                loses = True
                results.append(unheard(case, family, catalogue, str(error)))
                tell(results[-1])
                continue
            shift = len(packets)
            packets += (numbered(each, each.number + shift) for each in run.packets)
            for each in run.results:
                results.append(_shifted(each, shift) if shift else each)
                tell(results[-1])
            notes += run.notes
            breaches += moved(run.breaches, shift)
            watched.update(run.watched)
            # A target that went away loses everything, and says nothing of the path.
            loses = loses or (run.loses and not run.gone)
    return Run(
        target=name,
        tool=TOOL,
        started=started,
        seconds=time.perf_counter() - began,
        results=tuple(doubted(each) if loses else each for each in results),
        packets=tuple(packets),
        notes=tuple(dict.fromkeys(notes)),
        loses=loses,
        breaches=tuple(breaches),
        watched=dict(watched),
    )


def _announced(
    options: Options, count: int, packets: list[CapturedPacket]
) -> tuple[Callable[[Result], None], Options]:
    """Tell how many results come and where packets are kept; what to tell each result to, and the
    options of a run of one case, which tells nothing."""
    if options.on_plan is not None:
        options.on_plan(count)
    if options.record is not None:
        options.record.packets = packets
    tell = options.on_result or (lambda _: None)
    return tell, replace(options, on_plan=None, on_result=None, record=None)


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


async def _one(
    name: str,
    mutant: AnyStack,
    case: Case,
    family: int,
    catalogue: Catalogue,
    options: Options,
    epoch: float,
) -> Run:
    context = options.context.without(case.fixed)
    mtu, isn = mtu_in(context, family), isn_in(context)
    lab = await ReferenceLab.start(
        stack_class=mutant.stack if isn is None else below(mutant.stack, isn),
        settings=replace(mutant.settings, mtu=min(mtu, mutant.settings.mtu)),
        seed=options.seed,
        epoch=epoch,
        impairment=options.impairment,
        mtu=mtu,
    )
    try:
        target = reference_target(name, lab, any_source=True)
        return await judge(target, [case], catalogue, options)
    finally:
        lab.close()


def _path_in(context: Context, impairment: Impairment | None) -> Impairment | None:
    delay = delay_in(context)
    if not delay:
        return impairment
    known = impairment or Impairment()
    return replace(known, delay=known.delay + delay)


def _shifted(result: Result, shift: int) -> Result:
    return replace(result, packets=tuple(each + shift for each in result.packets))
