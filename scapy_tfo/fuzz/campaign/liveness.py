"""Finds the program after which a target stopped answering."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scapy_tfo import __version__
from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import Bench
from scapy_tfo.fuzz.findings.finding import ALIVE, BALANCED, ROBUST, Finding, Status
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.oracle.counters import MISCOUNTS
from scapy_tfo.program.program import Program
from scapy_tfo.program.reduce import reduced

MOST_RUNS = 60
"""Runs of a reduction, each with a control handshake and often with a new target."""

AFTER, NONE, COUNTERS = "after", "none", "counters"
"""State of a finding about that, and its reply class: no answer, or a wrong count."""

_ALIVE = "a control handshake and a fast open succeed"
_BALANCED = "each SYN counted once at most, and each fast open that was seen"


def rule_of(ill: str) -> str:
    """The rule that is broken by a target of which a bench says what ails it."""
    return BALANCED if MISCOUNTS in ill else ALIVE


@dataclass(slots=True)
class Patient:
    """A target that may die: opened anew where it does.

    reopen: a new bench of the same target.
    """

    reopen: Callable[[], Bench]
    bench: Bench

    def ails(self) -> str:
        """What does not work, "" for nothing; a bench that cannot tell is ill as well."""
        try:
            return self.bench.alive()
        except TargetError as error:
            return str(error)

    def revive(self) -> None:
        """A new bench in place of the old. Raises TargetError where that is dead, too."""
        self.bench.close()
        self.bench = self.reopen()
        what = self.ails()
        if what:
            raise TargetError(f"{self.bench.name} does not recover: {what}")

    def dies_of(self, programs: Sequence[Program]) -> str:
        """What does not work after these programs, "" where all does; it is alive again then."""
        try:
            for _ in self.bench.run(enumerate(programs)):
                pass
            what = self.ails()
        except TargetError as error:
            what = str(error)
        if what:
            self.revive()
        return what


def culprit(
    patient: Patient, plan: Plan, suspects: Sequence[tuple[int, Program]], what: str
) -> Finding:
    """The finding for a target that died after the suspects and was opened anew.

    It is flaky where they do not kill it again, or no single one does. Raises TargetError where it
    does not come back.
    """
    programs = [program for _, program in suspects]
    if not patient.dies_of(programs):
        return _finding(plan, suspects[-1], suspects[-1][1], Status.FLAKY, what)
    # The shortest beginning that kills it ends with the one that did.
    alive, dead = 0, len(programs)
    while dead - alive > 1:
        middle = (alive + dead) // 2
        if patient.dies_of(programs[:middle]):
            dead = middle
        else:
            alive = middle
    last = suspects[dead - 1]
    told = patient.dies_of([last[1]])
    if not told:
        what = f"{what}, after {dead} programs, the last of which alone does no harm"
        return _finding(plan, last, last[1], Status.FLAKY, what)
    smallest = reduced(
        last[1], lambda some: [bool(patient.dies_of([each])) for each in some], MOST_RUNS
    )
    return _finding(plan, last, smallest, Status.CONFIRMED, told)


def unexplained(plan: Plan, last: tuple[int, Program], what: str) -> Finding:
    """The finding for a target that died for good, with the last program before that."""
    return _finding(plan, last, last[1], Status.FLAKY, f"{what}; it does not come back")


def _finding(
    plan: Plan, last: tuple[int, Program], smallest: Program, status: Status, what: str
) -> Finding:
    number, program = last
    miscounts = what.startswith(MISCOUNTS)
    return Finding(
        signature=(ROBUST, AFTER, COUNTERS if miscounts else NONE, ""),
        rule=BALANCED if miscounts else ALIVE,
        status=status,
        number=number,
        seed=plan.seed_of(number),
        program=program,
        reduced=smallest,
        expected=_BALANCED if miscounts else _ALIVE,
        actual=what,
        packets=(),
        packet=-1,
        target=plan.target,
        version=__version__,
        first_seen=time.time(),
    )
