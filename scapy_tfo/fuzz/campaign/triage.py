"""Turns violations into findings: confirms them, reduces their programs, and confirms those."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from scapy_tfo import __version__
from scapy_tfo.executor.bench import Bench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.findings.finding import Finding, Status
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


def resolve(
    bench: Bench,
    plan: Plan,
    sightings: Sequence[OpenSighting],
    known: Container[Signature] = (),
    most: int = MOST_RUNS,
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
    for some, runs in ((quick, most), (long, min(most, MOST_LONG))):
        for seen, finding in _resolved(bench, plan, some, runs):
            if finding.status is Status.CONFIRMED and not finding.packets:
                if finding.signature not in known and finding.signature not in found:
                    finding = _traced(bench, finding)
                if finding.packets:
                    found.add(finding.signature)
            yield seen, finding


def _resolved(
    bench: Bench, plan: Plan, sightings: Sequence[OpenSighting], most: int
) -> Iterator[tuple[OpenSighting, Finding]]:
    """Findings, still without their packets."""
    rules = {each.kind: _rule_of(each) for each in sightings}
    steady = _steady(bench, [(each.program, rules[each.kind]) for each in sightings])
    kept = [each for each, violation in zip(sightings, steady, strict=True) if violation]
    smallest = reduced_together(
        [reduction(each.program, most) for each in kept],
        lambda some: list(
            map(bool, _show(bench, [(each, rules[kept[at].kind]) for at, each in some]))
        ),
        time.monotonic() + REDUCING,
    )
    again = _steady(
        bench, [(each, rules[seen.kind]) for seen, each in zip(kept, smallest, strict=True)]
    )
    reduced = {
        seen.kind: (program, violation)
        for seen, program, violation in zip(kept, smallest, again, strict=True)
        if violation is not None
    }
    for seen, violation in zip(sightings, steady, strict=True):
        if violation is None:
            yield seen, given_up(plan, seen)
        else:
            # What is reduced may need the others beside it: then the whole program has to do.
            program, shown = reduced.get(seen.kind, (seen.program, violation))
            yield seen, _finding(plan, seen, Status.CONFIRMED, program, shown)


def given_up(plan: Plan, seen: OpenSighting) -> Finding:
    """A violation as it was first seen, when it could not be shown again."""
    violation = Violation(*seen.kind, flow=0, step=0, expected=seen.expected, actual=seen.actual)
    return _finding(plan, seen, Status.FLAKY, seen.program, violation)


def happens(bench: Bench, program: Program, rule: Rule) -> bool:
    """Whether any of a few runs of a program shows a violation of rule and class of reply."""
    return any(breaks(bench.trace(program)[0], rule) for _ in range(CONFIRMATIONS))


def breaks(verdict: Verdict, rule: Rule) -> Violation | None:
    """The first violation of a rule of the model by a class of reply, or None.

    Which requirement that breaks depends on what else the program holds, and a reduced one holds
    less: so it names the broadest that is broken.
    """
    return next((each for each in verdict.violations if (each.rule, each.reply) == rule), None)


def _rule_of(seen: OpenSighting) -> Rule:
    _, rule, _, reply = seen.kind
    return rule, reply


def _steady(bench: Bench, some: Sequence[tuple[Program, Rule]]) -> list[Violation | None]:
    """What each program shows that breaks its rule each time, None where it does not.

    Those that do sometimes have another chance, with less company.
    """
    found: list[Violation | None] = [None] * len(some)
    open_ = list(range(len(some)))
    for _ in range(2):
        shown = _show(bench, [some[at] for at in open_ for _ in range(CONFIRMATIONS)])
        times = [shown[at : at + CONFIRMATIONS] for at in range(0, len(shown), CONFIRMATIONS)]
        for at, violations in zip(open_, times, strict=True):
            found[at] = violations[-1] if all(violations) else None
        open_ = [
            at
            for at, violations in zip(open_, times, strict=True)
            if any(violations) and not all(violations)
        ]
    return found


def _show(bench: Bench, some: Sequence[tuple[Program, Rule]]) -> list[Violation | None]:
    """How the programs, run among each other, break their rules."""
    shown: list[Violation | None] = [None] * len(some)
    if not some:
        return shown
    for number, verdict in bench.run(enumerate(program for program, _ in some)):
        shown[number] = breaks(verdict, some[number][1])
    return shown


def _traced(bench: Bench, finding: Finding) -> Finding:
    """With the packets of a run; as it is where none of a few runs alone shows it."""
    rule = finding.rule, finding.reply
    for _ in range(CONFIRMATIONS):
        verdict, packets = bench.trace(finding.reduced)
        violation = breaks(verdict, rule)
        if violation is not None:
            return replace(
                finding,
                signature=violation.signature,
                expected=violation.expected,
                actual=violation.actual,
                packets=tuple(packets),
                packet=violation.packet,
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
