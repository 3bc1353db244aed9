"""One batch of a campaign: makes its programs, and collects their verdicts.

A batch has eight sections. Two of them hold mutations of programs that reached something in the
earlier sections, except the section just before: its programs keep the target busy while those of
the others are judged. A batch depends on nothing but its number, the target, and the corpus that
the campaign began with. That makes shards and resumed runs send what one uninterrupted run would.

On a target in real time, programs that wait for long are put off: a batch is whole without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.generation.corpus import Ring, mutated
from scapy_tfo.fuzz.generation.plan import SECTIONS, Plan
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program import fingerprint
from scapy_tfo.program.program import Program, waits

Maker = Callable[[int, str], Program]
"""The grammar: a program of a seed and a profile."""

Kind = tuple[str, str, str, str]
"""Requirement, rule, state and reply class of a violation, as it was first seen."""

MUTATED = (4, 7)
"""Sections whose programs are mutations."""

LONG = 1.0
"""Seconds of waiting from which on a program is put off."""


@dataclass(slots=True)
class Sighting:
    """Violations of one kind. number, program: of the first that showed it; count: of programs.
    program: None where its batch makes it of the number."""

    number: int
    violation: Violation
    count: int = 1
    program: Program | None = None


@dataclass(slots=True)
class Tally:
    """What some programs came to.

    programs: judged; probes: segments sent; singles: those of them that are SYNs of volleys;
    heard: packets that came; unjudged: programs of which nothing can be said; silent: those in
    which something was missing. seeded, mutated: fingerprints of what was sent. first: lowest
    number of a program for each pair of state and reply. sightings: violations by kind.
    """

    programs: int = 0
    probes: int = 0
    singles: int = 0
    heard: int = 0
    unjudged: int = 0
    silent: int = 0
    seeded: int = 0
    mutated: int = 0
    first: dict[str, int] = field(default_factory=dict)
    sightings: dict[Kind, Sighting] = field(default_factory=dict)

    def add(self, number: int, verdict: Verdict, program: Program | None = None) -> None:
        """Count one verdict. program: where its number does not make it."""
        self.programs += 1
        self.probes += verdict.sent
        self.heard += verdict.heard
        if verdict.unjudged:
            self.unjudged += 1
        first = self.first
        for pair in verdict.reached:
            if number < first.get(pair, number + 1):
                first[pair] = number
        if verdict.violations:
            self.silent += any(each.reply == "none" for each in verdict.violations)
            # Of several of one kind the first counts.
            for each in {kind_of(each): each for each in reversed(verdict.violations)}.values():
                self.note(number, each, program)

    def note(self, number: int, violation: Violation, program: Program | None = None) -> None:
        """Count a violation of one program."""
        kind = kind_of(violation)
        seen = self.sightings.get(kind)
        if seen is None:
            self.sightings[kind] = Sighting(number, violation, program=program)
            return
        seen.count += 1
        if number < seen.number:
            seen.number, seen.violation, seen.program = number, violation, program


@dataclass(frozen=True, slots=True)
class Late:
    """A program that was put off. seeded, mutated: what it adds to the fingerprints."""

    number: int
    program: Program
    seeded: int = 0
    mutated: int = 0


def kind_of(violation: Violation) -> Kind:
    """By what violations are told apart before they are reduced."""
    return violation.requirement, violation.rule, violation.state, violation.reply


class Batch:
    """A batch that is being sent. tally: so far. late: what was put off.

    number: of the batch; numbers: of its programs; next: of the one that is sent next.
    """

    def __init__(
        self,
        plan: Plan,
        number: int,
        numbers: range,
        make: Maker,
        corpus: Mapping[str, Program],
    ) -> None:
        self.number = number
        self.numbers = numbers
        self.next = numbers.start
        self.tally = Tally()
        self.late: list[Late] = []
        self._plan = plan
        self._make = make
        self._corpus = corpus
        # Sections are those of a whole batch, also where the campaign ends in the middle of one.
        self._bounds = [
            numbers.start + each * plan.batch // SECTIONS for each in range(SECTIONS + 1)
        ]
        self._flying = [0] * SECTIONS
        self._rings: dict[int, Ring] = {}

    @property
    def is_sent(self) -> bool:
        """Whether every program of it was sent, or put off."""
        return self.next >= self.numbers.stop

    @property
    def is_busy(self) -> bool:
        """Whether verdicts are still to come of what was sent."""
        return any(self._flying)

    @property
    def is_whole(self) -> bool:
        """Whether it is sent, and all verdicts are there that will ever be."""
        return self.is_sent and self._is_judged(SECTIONS)

    def add(self, number: int, verdict: Verdict) -> None:
        """Take the verdict of one of its programs."""
        self._flying[self._section_of(number)] -= 1
        self.tally.add(number, verdict)

    def give_up(self) -> None:
        """What was sent and not judged until now never will be."""
        self._flying = [0] * SECTIONS

    def program(self, number: int) -> Program:
        """The program of a number that was sent."""
        seed = self._plan.seed_of(number)
        made = self._make(seed, self._plan.themes)
        ring = self._rings.get(self._section_of(number))
        return mutated(ring.choose(seed)[0], made, seed) if ring else made

    def programs(self) -> Iterator[tuple[int, Program]]:
        """Programs to be sent now: until the next ones wait for verdicts, or all are sent."""
        while not self.is_sent:
            section = self._section_of(self.next)
            end = min(self._bounds[section + 1], self.numbers.stop)
            if section not in MUTATED or not self._plan.mutate:
                yield from self._seeded(section, end)
                continue
            if section not in self._rings:
                if not self._is_judged(section - 1):
                    return
                self._rings[section] = Ring(self._parents(section - 1))
            ring = self._rings[section]
            yield from self._mutated(ring, section, end) if ring else self._seeded(section, end)

    def _seeded(self, section: int, end: int) -> Iterator[tuple[int, Program]]:
        make, themes, tally, live = self._make, self._plan.themes, self.tally, self._plan.live
        offset = self._plan.seed_of(0)
        while self.next < end:
            number = self.next
            self.next += 1
            program = make(offset + number, themes)
            mark = fingerprint.of_seeded(offset + number, program)
            if live and waits(program) >= LONG:
                self.late.append(Late(number, program, seeded=mark))
                continue
            tally.seeded += mark
            self._flying[section] += 1
            yield number, program

    def _mutated(self, ring: Ring, section: int, end: int) -> Iterator[tuple[int, Program]]:
        tally, themes = self.tally, self._plan.themes
        while self.next < end:
            number = self.next
            self.next += 1
            seed = self._plan.seed_of(number)
            parent, parents_hash = ring.choose(seed)
            program = mutated(parent, self._make(seed, themes), seed)
            mark = fingerprint.of_mutated(seed, parents_hash, program)
            if self._plan.live and waits(program) >= LONG:
                self.late.append(Late(number, program, mutated=mark))
                continue
            tally.mutated += mark
            self._flying[section] += 1
            yield number, program

    def _is_judged(self, sections: int) -> bool:
        """Whether the first sections are sent, and their verdicts there, or never will be."""
        end = min(self._bounds[sections], self.numbers.stop)
        return self.next >= end and not any(self._flying[:sections])

    def _parents(self, sections: int) -> dict[str, Program]:
        """The corpus, and what the first sections added to it."""
        end = self._bounds[sections]
        made: dict[int, Program] = {}
        parents = dict(self._corpus)
        for pair, number in self.tally.first.items():
            if number < end and pair not in parents:
                if number not in made:
                    made[number] = self.program(number)
                parents[pair] = made[number]
        return parents

    def _section_of(self, number: int) -> int:
        return (number - self.numbers.start) * SECTIONS // self._plan.batch
