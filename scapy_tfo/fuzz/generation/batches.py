"""One batch of a campaign: makes its programs, and collects their verdicts.

A batch has eight sections. Two of them hold mutations of programs that reached something in the
earlier sections, except the section just before: its programs keep the target busy while those of
the others are judged. Where the campaign began with a corpus, three more hold mutations of that. A
batch depends on nothing but its number, the target, and the corpus that
the campaign began with. That makes shards and resumed runs send what one uninterrupted run would.

On a target in real time, programs that wait for long are put off: a batch is whole without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.generation.corpus import Corpus, Ring, mutated
from scapy_tfo.fuzz.generation.plan import SECTIONS, Plan
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program import fingerprint
from scapy_tfo.program.fingerprint import mix
from scapy_tfo.program.program import Program, waits

Maker = Callable[[int, str], Program]
"""The grammar: a program of a seed and a profile."""

Kind = tuple[str, str, str, str, str]
"""Requirement, rule, state, reply class and wrong cookie of a violation, as it was first seen."""

MUTATED = (4, 7)
"""Sections whose programs are mutations of what the batch reached, or of the corpus."""

OF_CORPUS = (1, 2, 5)
"""Sections whose programs are mutations of the corpus."""

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
    heard: packets that came; unjudged: programs of which nothing can be said, by the reason;
    silent: those in which something was missing. seeded, mutated: fingerprints of what was sent.
    first: lowest number of a program for each pair of state and reply, and each edge. sightings:
    violations by kind. slowest: seconds and number of the programs that took the longest, without
    their waits.
    """

    programs: int = 0
    probes: int = 0
    singles: int = 0
    heard: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    silent: int = 0
    seeded: int = 0
    mutated: int = 0
    first: dict[str, int] = field(default_factory=dict)
    sightings: dict[Kind, Sighting] = field(default_factory=dict)
    slowest: list[tuple[float, int]] = field(default_factory=list)

    def took(self, number: int, seconds: float) -> None:
        """Remember how long a program took, if that is long."""
        self.slowest = slowest_of([*self.slowest, (seconds, number)])

    def add(self, number: int, verdict: Verdict, program: Program | None = None) -> None:
        """Count one verdict. program: where its number does not make it."""
        self.programs += 1
        self.probes += verdict.sent
        self.heard += verdict.heard
        if verdict.unjudged:
            self.unjudged[verdict.unjudged] += 1
        first = self.first
        for names in (verdict.reached, verdict.edges):
            for name in names:
                if number < first.get(name, number + 1):
                    first[name] = number
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


MOST_SLOW = 5
"""Programs that are remembered for their slowness."""


def slowest_of(some: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """The slowest of some programs, by seconds and number."""
    return sorted(some, reverse=True)[:MOST_SLOW]


def kind_of(violation: Violation) -> Kind:
    """By what violations are told apart before they are reduced."""
    return (
        *(violation.requirement, violation.rule, violation.state, violation.reply),
        violation.cookie,
    )


class Outcome(Protocol):
    """What a batch came to, as it is kept. number: of the batch; taken: how many of its programs
    were sent, or put off."""

    number: int
    tally: Tally
    late: list[Late]

    @property
    def taken(self) -> int: ...

    def program(self, number: int) -> Program:
        """One that was sent, by its number."""
        ...


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
        corpus: Corpus,
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
    def taken(self) -> int:
        return self.next - self.numbers.start

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
            if self._plan.mutate and section in OF_CORPUS and self._corpus.ring:
                self._rings[section] = self._corpus.ring
                yield from self._mutated(self._corpus.ring, section, end)
                continue
            if section not in MUTATED or not self._plan.mutate:
                yield from self._seeded(section, end)
                continue
            if section not in self._rings:
                if not self._is_judged(section - 1):
                    return
                self._rings[section] = self._parents(section - 1)
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

    def _parents(self, sections: int) -> Ring:
        """The corpus, and what the first sections added to it."""
        end = self._bounds[sections]
        known = self._corpus.names
        added = {at for name, at in self.tally.first.items() if at < end and name not in known}
        # A program's seed stands for it: to write it out costs as much as to make it.
        hashed = {mix(self._plan.seed_of(each)): self.program(each) for each in sorted(added)}
        return Ring(hashed, self._corpus.ring)

    def _section_of(self, number: int) -> int:
        return (number - self.numbers.start) * SECTIONS // self._plan.batch
