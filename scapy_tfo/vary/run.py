"""Judges a target by its cases, first as ever, then each of them in many contexts."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo.errors import TargetError
from scapy_tfo.runner import session
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Breach, Result, Run, Verdict, numbered
from scapy_tfo.vary.bench import Bench, opened, within
from scapy_tfo.vary.failures import Failure, Prover, Shown, failures
from scapy_tfo.vary.plan import STRENGTH, planned
from scapy_tfo.vary.scan import scanned

_EVERY = 10
"""Contexts after which a line says how far a run is."""


@dataclass(frozen=True, slots=True)
class Vary:
    """strength: how many factors are combined in every way. seed: of the contexts. tell: called
    with a line before the contexts are run, and with others as they are."""

    strength: int = STRENGTH
    seed: int = 0
    tell: Callable[[str], None] = lambda _: None


def run(request: Request, vary: Vary | None = None) -> Run:
    """As `session.run`; a failure that takes a context says which, reduced to what matters."""
    return session.run(request, judge_in(vary or Vary()))


def judge_in(vary: Vary) -> session.Judge:
    """What judges by each case in many contexts."""
    return functools.partial(_judged, vary)


def _judged(vary: Vary, request: Request, cases: Sequence[Case], catalogue: Catalogue) -> Run:
    with opened(request, catalogue) as bench:
        base = bench.run(cases, request.options)
        if base.gone:
            return base
        found = Found(base)
        try:
            _run_all(vary, bench, request.options, _worth_it(base, cases), found)
        except KeyboardInterrupt:
            found.notes.append("interrupted: not every context was tried")
            found.interrupted = True
        except TargetError as error:
            found.gone = str(error)
    return found.run()


def _worth_it(base: Run, cases: Sequence[Case]) -> list[Case]:
    """The cases that ran, and failed nowhere: what fails anyhow need not be told again."""
    failed = {each.case for each in base.results if each.verdict is Verdict.FAIL}
    ran = {each.case for each in base.results if each.verdict is not Verdict.SKIPPED}
    return [each for each in cases if each.id in ran - failed]


@dataclass(slots=True)
class Found:
    """What a run has found so far. base: of the usual context. unsure: cases that ended without a
    verdict in some context, and why, but had one in the usual one."""

    base: Run
    notes: list[str] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    seconds: float = 0.0
    gone: str = ""
    interrupted: bool = False
    unsure: dict[str, str] = field(default_factory=dict)
    watched: Counter[str] = field(default_factory=Counter)

    def run(self) -> Run:
        """All of it, as one run."""
        base = self.base
        results = {(each.case, each.family): each for each in base.results}
        packets, breaches = list(base.packets), list(base.breaches)
        for each in self.shown:
            shift = len(packets)
            packets += [numbered(packet, packet.number + shift) for packet in each.run.packets]
            if each.result is not None:
                result = _told(each.result, each.failure.context, shift)
                results.setdefault((result.case, result.family), result)
                if results[result.case, result.family].verdict is not Verdict.FAIL:
                    results[result.case, result.family] = result
            if each.breach is not None:
                breaches.append(_breach(each.breach, each.failure.context, shift))
        notes = [*base.notes, *self.notes, *self._doubts()]
        if self.shown:
            notes.append("a failure in a context happens again with --only CASE --context CONTEXT")
        return replace(
            base,
            results=tuple(results.values()),
            packets=tuple(packets),
            breaches=tuple(breaches),
            seconds=base.seconds + self.seconds,
            notes=tuple(notes),
            gone=self.gone,
            interrupted=self.interrupted,
            watched=Counter(base.watched) + self.watched,
        )

    def _doubts(self) -> list[str]:
        if not self.unsure:
            return []
        case, why = next(iter(self.unsure.items()))
        return [
            f"vary: {len(self.unsure)} cases had no verdict in some context, first {case}: {why}"
        ]


def _run_all(
    vary: Vary, bench: Bench, options: Options, cases: Sequence[Case], found: Found
) -> None:
    model = scanned(bench, options)
    plan = planned(model, cases, vary.strength, vary.seed)
    found.notes += [plan.told(), *model.left_out]
    per_case = found.base.seconds / max(len(found.base.results), 1)
    vary.tell(f"{plan.told()}, about {per_case * plan.size:.0f} s")
    by_id = {each.id: each for each in cases}
    prover = Prover(bench, options)
    decided = {each.case for each in found.base.results if _is_decided(each)}
    told: set[tuple[str, str]] = {("", each.rule) for each in found.base.breaches}
    done = 1
    for context, these in plan.runs()[1:]:
        left = [case for case in these if (case.id, "") not in told]
        run = bench.run(left, replace(within(options, context), capture=False))
        found.seconds += run.seconds
        found.watched.update(run.watched)
        for each in run.results:
            if each.verdict is Verdict.INCONCLUSIVE and each.case in decided:
                found.unsure.setdefault(each.case, f"{each.reason} (in context {context})")
        for failure in failures(run, by_id, context):
            _prove(vary, failure, prover, told, found)
        done += 1
        if done % _EVERY == 0:
            vary.tell(f"vary: {done} of {len(plan.contexts)} contexts")
        if run.gone:
            found.gone = f"{run.gone} (in context {context})"
            found.notes.append(f"vary: only {done} of {len(plan.contexts)} contexts were tried")
            return


def _prove(
    vary: Vary, failure: Failure, prover: Prover, told: set[tuple[str, str]], found: Found
) -> None:
    """Tell a failure, once for each case, and once for each rule."""
    key = ("", failure.rule) if failure.rule else (failure.case.id, "")
    if key in told:
        return
    shown = prover.prove(failure)
    if shown is None:
        reason = f"failed once, and not when run alone (in context {failure.context})"
        found.unsure.setdefault(failure.case.id, reason)
        return
    told.add(key)
    found.shown.append(shown)
    what = f"{failure.rule} in {failure.case.id}" if failure.rule else failure.case.id
    vary.tell(f"fail         {what} in context {shown.failure.context}")


def _is_decided(result: Result) -> bool:
    return result.verdict not in (Verdict.INCONCLUSIVE, Verdict.SKIPPED)


def _told(result: Result, context: Context, shift: int) -> Result:
    return replace(
        result,
        reason=f"{result.reason} (in context {context})",
        packets=tuple(each + shift for each in result.packets),
        observed={**result.observed, "context": str(context)},
    )


def _breach(breach: Breach, context: Context, shift: int) -> Breach:
    return replace(
        breach,
        actual=f"{breach.actual} (in context {context})",
        packet=breach.packet and breach.packet + shift,
    )
