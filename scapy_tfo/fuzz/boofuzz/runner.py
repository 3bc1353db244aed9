"""Runs the cases of a boofuzz session on a bench, and repeats programs that look wrong.

This module does not need boofuzz.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import Bench, Volleyer
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.fuzz.boofuzz.cases import LEADING_UP, Deck, Numbers, Volley, decoded
from scapy_tfo.fuzz.campaign.liveness import Patient
from scapy_tfo.fuzz.campaign.triage import CONFIRMATIONS, breaks
from scapy_tfo.fuzz.generation.batches import LONG, Kind, Tally, kind_of
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Program, dumps, waits

MOST_TRIED = 8
"""Violations of new kinds in one case that are tried again: each takes several runs alone."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A violation that came each time it was tried, with the packets of the last run.

    number: of the program, None where it is that of no number. count: programs of the case.
    """

    violation: Violation
    program: Program
    number: int | None
    packets: Sequence[TracedPacket]
    count: int

    @property
    def line(self) -> str:
        """For people, the requirement first."""
        each = self.violation
        times = "" if self.count == 1 else f" ({self.count} programs)"
        what = f"{each.requirement} {each.rule}, state {each.state}, reply {each.reply}"
        return f"{what}: expected {each.expected}; got {each.actual}{times}"


@dataclass(slots=True)
class Outcome:
    """What one case came to.

    tally: of its programs; syns: segments sent at most. packets: of its only program. shown:
    violations that count. unsteady: those that did not come again. trouble: what broke it off.
    """

    tally: Tally = field(default_factory=Tally)
    syns: int = 0
    packets: Sequence[TracedPacket] = ()
    program: Program | None = None
    shown: list[Shown] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    trouble: str = ""

    @property
    def line(self) -> str:
        """For people: how much was sent, and how much of that was wrong."""
        tally = self.tally
        wrong = sum(each.count for each in tally.sightings.values())
        if tally.singles:
            said = f"{tally.singles:,} single SYNs"
        else:
            said = f"{_number(tally.programs, 'program')}, {_number(tally.probes, 'segment')}"
        left = f", {tally.unjudged.total()} unjudged" if tally.unjudged else ""
        return f"{said}, {_number(tally.heard, 'packet')} back, {wrong} wrong at first sight{left}"


class Runner:
    """deck: where programs come from. patient: the target. on_case: told of each that is judged.

    seen: kinds of violations that came again when they were tried. causes: why cases failed, once
    each: the number of the first, and what was said of it.
    """

    def __init__(
        self, deck: Deck, patient: Patient, on_case: Callable[[Outcome], None] = lambda _: None
    ) -> None:
        self.deck = deck
        self.patient = patient
        self.outcome = Outcome()
        self.seen: set[Kind] = set()
        self.causes: dict[str, tuple[int, str]] = {}
        self._on_case = on_case

    @property
    def bench(self) -> Bench:
        """The target as it is now."""
        return self.patient.bench

    def begin(self) -> None:
        """A new case."""
        self.outcome = Outcome()

    def send(self, data: bytes) -> None:
        """Send an encoded case, or what leads up to one. A target that has gone is the outcome's
        trouble. Raises ProgramError."""
        case, outcome = decoded(data), self.outcome
        try:
            if isinstance(case, Volley):
                self._fire(case)
            elif isinstance(case, Numbers):
                for number, verdict in self.bench.run(self.deck.programs(case)):
                    outcome.tally.add(number, verdict)
            elif data in LEADING_UP:
                for _, verdict in self.bench.run([(0, case)]):
                    outcome.syns += 2 * verdict.sent
                    for each in verdict.violations:
                        outcome.tally.note(0, each, case)
            else:
                verdict, outcome.packets = self.bench.trace(case)
                outcome.program = case
                outcome.tally.add(0, verdict, case)
        except TargetError as error:
            outcome.trouble = str(error)

    def judge(self) -> Outcome:
        """Try again what looks wrong, for the first time; the outcome is complete then."""
        outcome = self.outcome
        # What is run twice is counted once.
        outcome.syns += 2 * outcome.tally.probes
        tried = 0
        for kind, sighting in sorted(outcome.tally.sightings.items()):
            number = None if sighting.program is not None else sighting.number
            program = sighting.program or self.deck.program(sighting.number)
            shown = Shown(sighting.violation, program, number, (), sighting.count)
            if kind in self.seen:
                outcome.shown.append(shown)
            elif tried < MOST_TRIED and not outcome.trouble:
                tried += 1
                self._try(kind, shown)
        self._on_case(outcome)
        return outcome

    def _fire(self, case: Volley) -> None:
        bench, tally = self.bench, self.outcome.tally
        assert isinstance(bench, Volleyer)
        result = bench.volley(self.deck.plan.seed_of(case.number))
        tally.singles += result.sent
        tally.probes += result.sent
        tally.heard += result.heard
        suspects = [program for program, _ in result.suspects]
        for at, verdict in bench.run(enumerate(suspects)):
            self.outcome.syns += 2 * verdict.sent
            for violation in verdict.violations:
                tally.note(0, violation, suspects[at])

    def _try(self, kind: Kind, first: Shown) -> None:
        outcome, again = self.outcome, first
        try:
            for verdict, packets in self._runs(first.program):
                violation = breaks(verdict, (kind[1], kind[3]))
                if violation is None:
                    program = dumps(first.program)
                    outcome.unsteady.append(f"{kind[0]} {kind[1]} did not come again: {program}")
                    return
                again = replace(first, violation=violation, packets=packets)
        except TargetError as error:
            outcome.trouble = str(error)
            return
        outcome.shown.append(again)
        self.seen |= {kind, kind_of(again.violation)}

    def _runs(self, program: Program) -> Iterator[tuple[Verdict, Sequence[TracedPacket]]]:
        """A program several times, one after another; all at once where it waits for long."""
        if self.deck.plan.live and waits(program) >= LONG:
            for _, verdict in self.bench.run(enumerate([program] * CONFIRMATIONS)):
                yield verdict, ()
            return
        for _ in range(CONFIRMATIONS):
            yield self.bench.trace(program)


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
