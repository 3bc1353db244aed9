"""From a violation that was seen to a finding: tried again, then reduced."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from scapy_tfo import __version__
from scapy_tfo.fuzz.bench import Bench
from scapy_tfo.fuzz.findings import Finding, Status
from scapy_tfo.fuzz.plan import Plan
from scapy_tfo.fuzz.program import Program
from scapy_tfo.fuzz.reduce import MOST_RUNS, reduced
from scapy_tfo.fuzz.sightings import OpenSighting
from scapy_tfo.fuzz.verdict import TracedPacket, Verdict, Violation

CONFIRMATIONS = 3
"""Runs that must all show a violation."""

_PATIENT = 4
"""How many times fewer programs a reduction may run where it runs them one after another."""


def resolve(bench: Bench, plan: Plan, seen: OpenSighting, most: int = MOST_RUNS) -> Finding:
    """Confirm a violation, reduce its program, and confirm that.

    most: runs of programs that the reduction may take. A violation that does not come each time
    makes a flaky finding, as it was first seen. Raises TargetError where the target has gone.
    """
    rule = seen.kind[1], seen.kind[3]
    shown = _confirmed(bench, seen.program, rule)
    if shown is None:
        return given_up(plan, seen)
    # Many at a time is quick, and where that misleads, one at a time is sure.
    for trial, runs in ((_together, most), (_alone, most // _PATIENT)):
        smallest = reduced(seen.program, partial(trial, bench, rule), runs)
        again = _confirmed(bench, smallest, rule)
        if again is not None:
            return _finding(plan, seen, Status.CONFIRMED, smallest, *again)
    return _finding(plan, seen, Status.CONFIRMED, seen.program, *shown)


def given_up(plan: Plan, seen: OpenSighting) -> Finding:
    """A violation as it was first seen, when it could not be shown again."""
    violation = Violation(*seen.kind, flow=0, step=0, expected=seen.expected, actual=seen.actual)
    return _finding(plan, seen, Status.FLAKY, seen.program, violation, ())


def happens(bench: Bench, program: Program, rule: tuple[str, str]) -> bool:
    """Whether any of a few runs of a program shows a violation of rule and class of reply."""
    return any(breaks(bench.trace(program)[0], rule) for _ in range(CONFIRMATIONS))


def breaks(verdict: Verdict, rule: tuple[str, str]) -> Violation | None:
    """The first violation of a rule of the model by a class of reply, or None.

    Which requirement that breaks depends on what else the program holds, and a reduced one holds
    less: so it names the broadest that is broken.
    """
    return next((each for each in verdict.violations if (each.rule, each.reply) == rule), None)


def _confirmed(
    bench: Bench, program: Program, rule: tuple[str, str]
) -> tuple[Violation, Sequence[TracedPacket]] | None:
    """What every one of several runs showed, with the packets of the last; None where one did
    not."""
    shown = None
    for _ in range(CONFIRMATIONS):
        verdict, packets = bench.trace(program)
        violation = breaks(verdict, rule)
        if violation is None:
            return None
        shown = violation, packets
    return shown


def _together(bench: Bench, rule: tuple[str, str], programs: Sequence[Program]) -> list[bool]:
    shown = [False] * len(programs)
    for number, verdict in bench.run(enumerate(programs)):
        shown[number] = breaks(verdict, rule) is not None
    return shown


def _alone(bench: Bench, rule: tuple[str, str], programs: Sequence[Program]) -> list[bool]:
    return [breaks(bench.trace(each)[0], rule) is not None for each in programs]


def _finding(
    plan: Plan,
    seen: OpenSighting,
    status: Status,
    program: Program,
    violation: Violation,
    packets: Sequence[TracedPacket],
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
        packets=tuple(packets),
        packet=violation.packet,
        target=plan.target,
        version=__version__,
        first_seen=time.time(),
    )
