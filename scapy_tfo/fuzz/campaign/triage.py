"""Turns violations into findings: confirms them, reduces their programs, and confirms those."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from dataclasses import replace

from scapy_tfo import __version__
from scapy_tfo.executor.bench import Bench
from scapy_tfo.executor.differences import DIFFERS
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.findings.causes import manner_of
from scapy_tfo.fuzz.findings.finding import Finding, Status
from scapy_tfo.fuzz.findings.naming import named
from scapy_tfo.fuzz.findings.sightings import OpenSighting
from scapy_tfo.fuzz.generation.batches import LONG
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.oracle.parts.violation import Signature, Violation
from scapy_tfo.program.program import Program, waits
from scapy_tfo.program.reduce import MOST_RUNS, reduced_together, reduction

CONFIRMATIONS = 3
"""Runs that must all show a violation."""

REDUCING = 60.0
"""Seconds after which programs are as small as they are, however many are being reduced."""

MOST_LONG = 96
"""Programs that a reduction may run of one that waits for long."""

Rule = tuple[str, str]
"""A rule of the model, and the class of reply that broke it."""

_Judge = Callable[[Verdict, Rule], Violation | None]


def resolve(
    bench: Bench,
    plan: Plan,
    sightings: Sequence[OpenSighting],
    known: Container[Signature] = (),
    most: int = MOST_RUNS,
    until: float = math.inf,
) -> Iterator[tuple[OpenSighting, Finding]]:
    """Confirm violations, reduce their programs, and confirm those.

    All are tried and reduced at the same time, as a live target makes each run wait; those that
    wait for long come last, and are reduced less. known: signatures of which there is a finding
    with its packets. most: programs that one reduction may run. A violation that does not come
    each time, or not alone, makes a flaky finding, as it was first seen: among others the target
    may be short of something, such as the 200 resets that FreeBSD sends in a second. Raises
    TargetError where the target has gone.
    """
    long = [each for each in sightings if plan.live and waits(each.program) >= LONG]
    quick = [each for each in sightings if each not in long]
    found = set[Signature]()
    longest = max((waits(each.program) for each in long), default=0.0)
    for some, runs, end in (
        (quick, most, until),
        (long, min(most, MOST_LONG), max(until, time.monotonic()) + 2 * longest),
    ):
        for seen, finding in _resolved(bench, plan, some, runs, end):
            if finding.status is Status.CONFIRMED and not finding.packets:
                if finding.signature not in known and finding.signature not in found:
                    if time.monotonic() > end:
                        continue
                    finding = _traced(bench, finding)
                if finding.packets:
                    found.add(finding.signature)
            yield seen, finding


def _resolved(
    bench: Bench, plan: Plan, sightings: Sequence[OpenSighting], most: int, until: float
) -> Iterator[tuple[OpenSighting, Finding]]:
    """Findings, still without their packets. Each of the three parts has half of the time that the
    one before has left, so that some of it remains for the packets."""
    rules = {each.kind: _rule_of(each) for each in sightings}
    first = [(each.program, rules[each.kind]) for each in sightings]
    steady = _steady(bench, first, _half(until))
    kept = [each for at, each in enumerate(sightings) if steady.get(at) is not None]
    end = min(time.monotonic() + REDUCING, _half(until))

    def trial(some: Sequence[tuple[int, Program]]) -> list[bool]:
        asked = [(each, rules[kept[at].kind]) for at, each in some]
        shown = _show(bench, asked, end, breaks)
        return [shown.get(number) is not None for number in range(len(some))]

    smallest = reduced_together([reduction(each.program, most) for each in kept], trial, end)
    again = _steady(
        bench,
        [(each, rules[seen.kind]) for seen, each in zip(kept, smallest, strict=True)],
        _half(until),
    )
    reduced = {
        seen.kind: (program, violation)
        for number, (seen, program) in enumerate(zip(kept, smallest, strict=True))
        if (violation := again.get(number)) is not None
    }
    for number, violation in sorted(steady.items()):
        seen = sightings[number]
        if violation is None:
            yield seen, given_up(plan, seen)
        else:
            # What is reduced may need the others beside it: then the whole program has to do.
            program, shown = reduced.get(seen.kind, (seen.program, violation))
            shown = _named(bench, program, shown, _half(until))
            yield seen, _finding(plan, seen, Status.CONFIRMED, program, shown)


def _named(bench: Bench, program: Program, violation: Violation, until: float) -> Violation:
    """With the clause and the wrong cookies that neighbouring programs point to; as it is where
    there is no time to run them."""
    if violation.requirement == DIFFERS:
        return violation

    def ask(programs: Sequence[Program]) -> list[Sequence[Violation]]:
        shown = dict(_verdicts(bench, programs, until))
        if len(shown) < len(programs):
            raise _NoTimeError
        return [shown[at].violations for at in range(len(programs))]

    try:
        return named(program, violation, ask)
    except _NoTimeError:
        return violation


class _NoTimeError(Exception):
    """Not all neighbours of a program were run."""


def _half(until: float) -> float:
    """When half of the time from now on is over."""
    now = time.monotonic()
    return now + (until - now) / 2


def given_up(plan: Plan, seen: OpenSighting) -> Finding:
    """A violation as it was first seen, when it could not be shown again."""
    requirement, rule, state, reply, cookie = seen.kind
    violation = Violation(
        requirement, rule, state, reply, 0, 0, seen.expected, seen.actual, cookie=cookie
    )
    return _finding(plan, seen, Status.FLAKY, seen.program, violation)


def happens(bench: Bench, program: Program, rule: Rule) -> bool:
    """Whether any of a few runs of a program shows a violation of the rule, by whatever reply: that
    of a known one may be "*"."""
    return any(_breaks_anyhow(bench.trace(program)[0], rule) for _ in range(CONFIRMATIONS))


def breaks(verdict: Verdict, rule: Rule) -> Violation | None:
    """The first violation of a rule of the model by a class of reply, or None.

    Which requirement that breaks depends on what else the program holds, and a reduced one holds
    less: so it names the broadest that is broken.
    """
    return next((each for each in verdict.violations if (each.rule, each.reply) == rule), None)


def _breaks_anyhow(verdict: Verdict, rule: Rule) -> Violation | None:
    """The same, or else by another class: how busy a live target is decides whether its answer
    comes with its FIN, or with text."""
    others = (each for each in verdict.violations if each.rule == rule[0])
    return breaks(verdict, rule) or next(others, None)


def _rule_of(seen: OpenSighting) -> Rule:
    _, rule, _, reply, _ = seen.kind
    return rule, reply


def _steady(
    bench: Bench, some: Sequence[tuple[Program, Rule]], until: float
) -> dict[int, Violation | None]:
    """By the number of each program that could be run in time, what it shows that breaks its rule
    each time, None where it does not.

    Those that do sometimes have another chance, with less company.
    """
    found: dict[int, Violation | None] = {}
    open_ = list(range(len(some)))
    for _ in range(2):
        runs_of_each = [some[at] for at in open_ for _ in range(CONFIRMATIONS)]
        shown = _show(bench, runs_of_each, until, _breaks_anyhow)
        undecided = []
        for place, at in enumerate(open_):
            runs = range(place * CONFIRMATIONS, (place + 1) * CONFIRMATIONS)
            if not all(run in shown for run in runs):
                continue
            violations = [shown[run] for run in runs]
            found[at] = violations[-1] if all(violations) else None
            if any(violations) and not all(violations):
                undecided.append(at)
        open_ = undecided
    return found


def _show(
    bench: Bench, some: Sequence[tuple[Program, Rule]], until: float, judge: _Judge
) -> dict[int, Violation | None]:
    """How the programs, run among each other, break their rules; not those that were not done in
    time."""
    verdicts = _verdicts(bench, [program for program, _ in some], until)
    return {number: judge(verdict, some[number][1]) for number, verdict in verdicts}


def _verdicts(
    bench: Bench, programs: Sequence[Program], until: float
) -> Iterator[tuple[int, Verdict]]:
    """Of programs, by their place, that are run among each other, until there is no time left."""
    if not programs or time.monotonic() > until:
        return
    running = bench.run(enumerate(programs))
    try:
        for number, verdict in running:
            yield number, verdict
            if time.monotonic() > until:
                break
    finally:
        if isinstance(running, Generator):
            running.close()


def _traced(bench: Bench, finding: Finding) -> Finding:
    """With the packets of a run; as it is where none of a few runs alone shows it."""
    rule = finding.rule, finding.reply
    for _ in range(CONFIRMATIONS):
        verdict, packets = bench.trace(finding.reduced)
        violation = _breaks_anyhow(verdict, rule)
        if violation is not None:
            return replace(
                finding,
                signature=(finding.requirement, violation.state, violation.reply, finding.cookie),
                expected=violation.expected,
                actual=violation.actual,
                packets=tuple(packets),
                packet=violation.packet,
                beside=tuple(
                    dict.fromkeys(
                        manner_of(each) for each in verdict.violations if each != violation
                    )
                ),
            )
    return replace(finding, status=Status.FLAKY)


def _finding(
    plan: Plan, seen: OpenSighting, status: Status, program: Program, violation: Violation
) -> Finding:
    return Finding(
        signature=violation.signature,
        rule=violation.rule,
        status=status,
        number=seen.number,
        seed=plan.seed_of(seen.number),
        program=seen.program,
        reduced=program,
        expected=violation.expected,
        actual=violation.actual,
        packets=(),
        packet=-1,
        target=plan.target,
        version=__version__,
        first_seen=time.time(),
    )
