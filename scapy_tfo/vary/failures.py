"""What failed in some context and not in the usual one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scapy_tfo.errors import TargetError
from scapy_tfo.runner.runner import Options
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Breach, Result, Run, Verdict
from scapy_tfo.vary.bench import Bench, within
from scapy_tfo.vary.reduce import reduce

_REDUCED_AT_MOST = 40
"""Failures whose contexts are reduced: a stack that fails so much has a few faults, not many."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that fails in a context, or a rule of TCP that its conversations break there.

    rule: its name, "" where the case itself fails.
    """

    case: Case
    rule: str
    context: Context


def failures(run: Run, cases: Mapping[str, Case], context: Context) -> Iterator[Failure]:
    """What went wrong in a run."""
    for result in run.results:
        if result.verdict is Verdict.FAIL and result.case in cases:
            yield Failure(cases[result.case], "", context)
    for breach in run.breaches:
        owner = _case_of(breach)
        if owner in cases:
            yield Failure(cases[owner], breach.rule, context)


def _case_of(breach: Breach) -> str:
    return breach.owner.partition(" [")[0]


@dataclass(frozen=True, slots=True)
class Shown:
    """A failure that was seen again by itself. result, breach: one of the two. run: that shows it,
    with its packets."""

    failure: Failure
    run: Run
    result: Result | None
    breach: Breach | None


class Prover:
    """Has each failure happen again, alone, in the smallest context."""

    def __init__(self, bench: Bench, options: Options) -> None:
        self._bench, self._options = bench, options
        self._known: list[Context] = []
        self._left = _REDUCED_AT_MOST

    def prove(self, failure: Failure) -> Shown | None:
        """What a failure comes down to; None where it does not happen again.

        Raises TargetError where the target is gone.
        """
        context = self._reduced(failure)
        shown = self._shown(failure, context)
        if shown is None and context != failure.context:
            shown = self._shown(failure, failure.context)
        return shown

    def _reduced(self, failure: Failure) -> Context:
        def fails(context: Context) -> bool:
            return self._happens(failure, context)

        whole = dict(failure.context.values)
        for known in self._known:
            part = known.without(failure.case.fixed)
            if part == known and dict(known.values).items() <= whole.items() and fails(known):
                return known
        if not self._left or not fails(failure.context):
            return failure.context
        self._left -= 1
        context = reduce(failure.context, fails)
        self._known.append(context)
        return context

    def _happens(self, failure: Failure, context: Context) -> bool:
        try:
            run = self._run(failure.case, context, capture=False)
        except TargetError:
            return False
        return bool(_of(run, failure))

    def _shown(self, failure: Failure, context: Context) -> Shown | None:
        run = self._run(failure.case, context, capture=True)
        found = _of(run, failure)
        if not found:
            return None
        there = dataclasses.replace(failure, context=context)
        first = found[0]
        if isinstance(first, Result):
            return Shown(there, run, first, None)
        return Shown(there, run, None, first)

    def _run(self, case: Case, context: Context, *, capture: bool) -> Run:
        options = dataclasses.replace(within(self._options, context), capture=capture)
        return self._bench.run([case], options)


def _of(run: Run, failure: Failure) -> Sequence[Result | Breach]:
    if failure.rule:
        return [
            each
            for each in run.breaches
            if each.rule == failure.rule and _case_of(each) == failure.case.id
        ]
    return [each for each in run.results if each.verdict is Verdict.FAIL]
