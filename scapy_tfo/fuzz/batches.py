"""One batch of a campaign: which programs it sends, and what came of them all.

A batch has eight sections. Two of them hold mutations of programs that reached something in the
sections before, up to the last but one: so the target is kept busy while those are judged. A batch
depends on nothing but its number, the target, and the corpus that the campaign began with. That
makes shards and resumed runs send what one uninterrupted run would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, runtime_checkable

from scapy_tfo.fuzz import fingerprint
from scapy_tfo.fuzz.bench import Bench
from scapy_tfo.fuzz.corpus import Ring, mutated
from scapy_tfo.fuzz.plan import SECTIONS, Plan
from scapy_tfo.fuzz.program import Program
from scapy_tfo.fuzz.verdict import Verdict, Violation
from scapy_tfo.fuzz.volley import Result

Maker = Callable[[int, str], Program]
"""The grammar: a program of a seed and a profile."""

Kind = tuple[str, str, str, str]
"""Requirement, rule, state and reply class of a violation, as it was first seen."""

MUTATED = (4, 7)
"""Sections whose programs are mutations."""


@runtime_checkable
class Volleyer(Protocol):
    """A bench that can also send single SYNs by the thousand."""

    def volley(self, seed: int) -> Result:
        """Send the volley of a seed, and tell what looked wrong."""
        ...


@dataclass(slots=True)
class Sighting:
    """Violations of one kind in a batch. number: the first program's; count: of programs.
    program: where no number makes it."""

    number: int
    violation: Violation
    count: int = 1
    program: Program | None = None


@dataclass(slots=True)
class Tally:
    """What a batch came to.

    programs: judged; probes: segments sent; singles: those of them that are SYNs of volleys;
    heard: packets that came; unjudged: programs of which nothing can be said. seeded, mutated:
    fingerprints of what was sent. first: lowest number of a program for each pair of state and
    reply. sightings: violations by kind.
    """

    programs: int = 0
    probes: int = 0
    singles: int = 0
    heard: int = 0
    unjudged: int = 0
    seeded: int = 0
    mutated: int = 0
    first: dict[str, int] = field(default_factory=dict)
    sightings: dict[Kind, Sighting] = field(default_factory=dict)

    def add(self, number: int, verdict: Verdict) -> None:
        """Count one verdict."""
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
            # Of several of one kind the first counts.
            for each in {kind_of(each): each for each in reversed(verdict.violations)}.values():
                self.note(number, each)

    def note(self, number: int, violation: Violation, program: Program | None = None) -> None:
        """Count a violation of one program, which is given where its number does not make it."""
        kind = kind_of(violation)
        seen = self.sightings.get(kind)
        if seen is None:
            self.sightings[kind] = Sighting(number, violation, program=program)
            return
        seen.count += 1
        if number < seen.number:
            seen.number, seen.violation, seen.program = number, violation, program


def kind_of(violation: Violation) -> Kind:
    """By what violations are told apart before they are reduced."""
    return violation.requirement, violation.rule, violation.state, violation.reply


class Batch:
    """A batch that is being sent: programs, then volleys. tally: so far. next: number of the
    program that is sent next.

    `run` may be called again after a target has gone and come back: it goes on behind what was
    sent.
    """

    def __init__(
        self, plan: Plan, numbers: range, make: Maker, corpus: Mapping[str, Program]
    ) -> None:
        self._plan = plan
        self._numbers = numbers
        self._make = make
        self._corpus = corpus
        # Sections are those of a whole batch, also where the campaign ends in the middle of one.
        self._bounds = [
            numbers.start + each * plan.batch // SECTIONS for each in range(SECTIONS + 1)
        ]
        self._judged = [0] * SECTIONS
        self._rings: dict[int, Ring] = {}
        self._drained = numbers.start
        self._volleys = plan.volleys
        self.next = numbers.start
        self.tally = Tally()

    @property
    def is_done(self) -> bool:
        """Whether all of it was sent."""
        return self._is_sent and not self._volleys

    @property
    def sent(self) -> int:
        """Programs, and those that were not judged, too."""
        return self.next - self._numbers.start

    @property
    def _is_sent(self) -> bool:
        return self.next >= self._numbers.stop

    def run(self, bench: Bench, stop: Callable[[], bool] = lambda: False) -> None:
        """Send what is left and count the verdicts. stop: asked before each program.

        Raises TargetError as the bench does; what was judged until then is in the tally.
        """
        while not self._is_sent and not stop():
            for number, verdict in bench.run(self._stream(stop)):
                self._judged[self._section_of(number)] += 1
                self.tally.add(number, verdict)
            self._drained = self.next
        while self._volleys and not stop():
            self._fire(bench)
            self._volleys -= 1

    def program(self, number: int) -> Program:
        """The program of a number that was sent."""
        seed = self._plan.seed_of(number)
        made = self._make(seed, self._plan.themes)
        ring = self._rings.get(self._section_of(number))
        return mutated(ring.choose(seed)[0], made, seed) if ring else made

    def _fire(self, bench: Bench) -> None:
        """One volley; what looks wrong in it is sent again as programs, for the model to judge."""
        assert isinstance(bench, Volleyer)
        seed = self._plan.seed_of(self._numbers.start) + self._volleys - 1
        result = bench.volley(seed)
        tally = self.tally
        tally.seeded += fingerprint.mix(~seed & fingerprint.MASK)
        tally.singles += result.sent
        tally.probes += result.sent
        tally.heard += result.heard
        suspects = [program for program, _ in result.suspects]
        for at, verdict in bench.run(enumerate(suspects)):
            for each in verdict.violations:
                tally.note(self._numbers.stop - 1, each, suspects[at])

    def _stream(self, stop: Callable[[], bool]) -> Iterator[tuple[int, Program]]:
        """Programs until the next ones wait for verdicts, or all are sent."""
        while not self._is_sent and not stop():
            section = self._section_of(self.next)
            end = min(self._bounds[section + 1], self._numbers.stop)
            if section not in MUTATED or not self._plan.mutate:
                yield from self._seeded(end, stop)
            elif section in self._rings or self._is_judged(section - 1):
                if section not in self._rings:
                    self._rings[section] = Ring(self._parents(section - 1))
                ring = self._rings[section]
                yield from self._mutated(ring, end, stop) if ring else self._seeded(end, stop)
            else:
                return

    def _seeded(self, end: int, stop: Callable[[], bool]) -> Iterator[tuple[int, Program]]:
        make, profile, tally = self._make, self._plan.themes, self.tally
        offset = self._plan.seed_of(0)
        while self.next < end and not stop():
            number = self.next
            program = make(offset + number, profile)
            tally.seeded += fingerprint.of_seeded(offset + number, program)
            self.next += 1
            yield number, program

    def _mutated(
        self, ring: Ring, end: int, stop: Callable[[], bool]
    ) -> Iterator[tuple[int, Program]]:
        tally, profile = self.tally, self._plan.themes
        while self.next < end and not stop():
            number = self.next
            seed = self._plan.seed_of(number)
            parent, parents_hash = ring.choose(seed)
            program = mutated(parent, self._make(seed, profile), seed)
            tally.mutated += fingerprint.of_mutated(seed, parents_hash, program)
            self.next += 1
            yield number, program

    def _is_judged(self, sections: int) -> bool:
        """Whether the verdicts of the first sections are all there, or will never be."""
        if self._drained >= self._bounds[sections]:
            return True
        sizes = zip(self._bounds, self._bounds[1:], strict=False)
        return all(
            judged >= stop - start
            for judged, (start, stop) in islice(zip(self._judged, sizes, strict=True), sections)
        )

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
        return (number - self._numbers.start) * SECTIONS // self._plan.batch
