"""Explores one target: plays schedules in worlds that live for a while, and audits each world."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.accepting import unaccepted
from scapy_tfo.explore.audits import REST, Served, compared, served
from scapy_tfo.explore.conversation.judge import is_advice, judged
from scapy_tfo.explore.conversation.run import Problem, Run
from scapy_tfo.explore.conversation.schedule import FAULTS, Schedule, program_of
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.conversation.wrong import KINDS
from scapy_tfo.explore.covered import Covered
from scapy_tfo.explore.keys import mistaken
from scapy_tfo.explore.limits import COUNTED, accounts, closed
from scapy_tfo.explore.programs import PER_BATCH, played, programs
from scapy_tfo.explore.signatures import unsigned
from scapy_tfo.explore.stages import plan
from scapy_tfo.explore.stages.alone import alone
from scapy_tfo.explore.stages.crossed import crossed, with_three_faults
from scapy_tfo.explore.stages.crossed import how_many as how_many_crossed
from scapy_tfo.explore.stages.deeds import Length, how_many, with_deeds
from scapy_tfo.explore.stages.mixed import how_many as how_many_mixed
from scapy_tfo.explore.stages.mixed import mixed
from scapy_tfo.explore.stages.plan import (
    batches,
    cells,
    in_contexts,
    interleaved,
    stage_of,
    with_a_wrong_segment,
    with_an_outage,
    with_one_more,
    with_the_client_gone,
)
from scapy_tfo.explore.stages.rows import STRENGTH, Row, rows
from scapy_tfo.explore.stages.single import (
    with_a_deed,
    with_a_fault,
    with_a_wrong_segment_in_each_state,
)
from scapy_tfo.explore.walk import Mistaken
from scapy_tfo.variants.registry import named

_PROGRAMS = 1 << 20
"""By how much the numbers of the fuzzer's programs differ from one seed to the next."""
_WALKS = (mistaken, unaccepted, unsigned)
_TRIED = 3
"""Schedules of one rule that are played again; the others are only counted."""


@dataclass(slots=True)
class Found:
    """One cause: a rule, and the smallest schedule that breaks it. before: schedules that it takes
    in the same world, first. count: schedules that broke it. packets: as the target got and sent
    them, where they cannot be had again. outcome: of its applications, as far as it is known."""

    problem: Problem
    schedule: Schedule
    before: tuple[Schedule, ...] = ()
    count: int = 1
    packets: Sequence[TracedPacket] = ()
    outcome: str = ""

    @property
    def is_advice(self) -> bool:
        """The rule is advice, which a stack may have reason not to follow."""
        return is_advice(self.problem.rule)


@dataclass(slots=True)
class Result:
    """What an exploration did. played: schedules by stage. merged: runs whose packets came as those
    of another run of their cell, and which were not gone into. covered: by all of it.
    interrupted: somebody ended it."""

    target: str
    seed: int
    played: dict[str, int] = field(default_factory=dict)
    merged: int = 0
    audits: int = 0
    found: dict[str, Found] = field(default_factory=dict)
    complete: bool = True
    interrupted: bool = False
    covered: Covered = field(default_factory=Covered)

    @property
    def failed(self) -> bool:
        """Whether something was found that no right target does."""
        return any(not each.is_advice for each in self.found.values())

    @property
    def total(self) -> int:
        return sum(self.played.values())

    def join(self, other: Result) -> None:
        """Add what another process did."""
        for stage, count in other.played.items():
            self.played[stage] = self.played.get(stage, 0) + count
        self.merged += other.merged
        self.audits += other.audits
        self.covered.join(other.covered)
        self.complete = self.complete and other.complete
        for rule, each in other.found.items():
            known = self.found.get(rule)
            count = each.count + (0 if known is None else known.count)
            if known is None or _order(each) < _order(known):
                self.found[rule] = known = each
            known.count = count


class Explorer:
    """name: of a simulated stack, without `sim:`. strength: of the covering array of contexts.
    stop: asked before each schedule.

    Raises SetupError where there is no such stack, TargetError where it is not to be judged.
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        strength: int = STRENGTH,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stack = named(name)
        self._profile = SimulatedBench(f"sim:{name}").profile
        self._stop, self._seed, self._rows = stop, seed, rows(strength)
        self._world = World(self._stack, self._profile, seed)
        self._lived: list[Schedule] = []
        self._served: dict[str, Served] = {}
        self._numbers: Iterator[int] | None = None
        self.mistaken: list[Mistaken] = []
        self.result = Result(f"sim:{name}", seed)

    def explore(self, faults: int = 2, *, shard: int = 0, of: int = 1) -> Result:
        """Everything within bounds, until it is stopped. faults: at most, in one schedule. shard,
        of: explore this part of so many."""
        dice = random.Random(self._seed)
        self._numbers = itertools.count(self._seed * _PROGRAMS + shard, of)
        some = cells()
        dice.shuffle(some)
        bases = []
        for run in self._all(batches(some[shard::of], dice)):
            self.result.covered.add(run)
            if not plan.is_long(run.schedule):
                bases.append(run)
        if not shard and self.result.complete:
            self.try_listeners()
        marks: set[tuple[Schedule, int]] = {(run.schedule, run.mark) for run in bases}
        single = with_a_wrong_segment_in_each_state(bases)
        once = [*single, *with_a_deed()[shard::of], *(with_a_fault()[shard::of] if faults else ())]
        for run in self._all(batches(once, dice)):
            self.result.covered.add(run)
        places = [(run, after) for run in bases for after in range(run.passed + 1)]
        dice.shuffle(places)
        dice.shuffle(bases)
        mixtures = mixed(random.Random(self._seed), self.length_of, shard=shard, of=of)
        stages = [
            (with_one_more(run.schedule, run.order) for run in bases if faults),
            (with_a_wrong_segment(run.schedule, after) for run, after in places),
            mixtures,
            (in_contexts(run.schedule, self._rows) for run in bases),
            (with_the_client_gone(run.schedule, run.order) for run in bases if faults),
            mixtures,
            (with_an_outage(run.schedule, run.order) for run in bases if faults),
            batches(with_three_faults()[shard::of] if faults > 2 else (), dice),
            batches(alone()[shard::of], dice),
            mixtures,
            with_deeds(random.Random(self._seed), self.length_of, shard=shard, of=of),
            crossed(dice, self.length_of, self._rows, shard=shard, of=of),
            mixtures,
        ]
        firsts: list[plan.First] = []
        for run in self._all(interleaved(stages, firsts)):
            self.result.covered.add(run)
            if stage_of(run.schedule) != plan.FAULT:
                continue
            mark = run.schedule.cell, run.mark
            if mark in marks:
                self.result.merged += 1
            else:
                marks.add(mark)
                if faults > 1:
                    firsts.append((run.schedule, run.order))
        return self.result

    def explore_these(self, schedules: Iterable[Schedule]) -> Result:
        """Play these schedules and no others, until it is stopped."""
        for run in self._all(batches(schedules, random.Random(self._seed))):
            self.result.covered.add(run)
        return self.result

    def played(self, batch: plan.Batch) -> Iterator[Run]:
        """Play a batch in a world of its own."""
        return self._all([batch])

    def explore_deeds(self) -> Result:
        """Conversations with legal deeds, and mixtures, until it is stopped."""
        dice = random.Random(self._seed)
        stages = [
            with_deeds(dice, self.length_of),
            crossed(random.Random(self._seed), self.length_of, self._rows),
            mixed(random.Random(self._seed), self.length_of),
        ]
        for run in self._all(interleaved(stages, [])):
            self.result.covered.add(run)
        return self.result

    def _all(self, some: Iterable[plan.Batch]) -> Iterator[Run]:
        """Play batches, each in a world that is audited behind it."""
        for batch in some:
            for schedule in batch:
                if self._stop():
                    self.result.complete = False
                    self.audit()
                    return
                yield self._counted(schedule)
            for each in programs(self._numbers) if self._numbers is not None else ():
                if not self._stop():
                    self._counted(each)
            self.audit()

    def _counted(self, schedule: Schedule) -> Run:
        run = self.play(schedule)
        name = stage_of(schedule)
        self.result.played[name] = self.result.played.get(name, 0) + 1
        return run

    def play(self, schedule: Schedule) -> Run:
        """Play a schedule, and keep what it shows."""
        if schedule.server not in self._served and program_of(schedule) is None:
            self._serve_first(schedule.server)
        run = played(self._world, schedule)
        self._lived.append(schedule)
        problems = judged(run)
        if problems:
            self._wrong(first_of(problems), schedule)
        return run

    def length_of(self, schedule: Schedule) -> Length:
        """How long a conversation is without deeds, for which it is played."""
        run = played(self._new_world(), schedule)
        return run.passed, run.talks

    def _serve_first(self, application: str) -> None:
        """See what a listener does in a new world, and what is wrong with that."""
        fresh = self._new_world()
        found = () if self._served else tuple(closed(fresh))
        first = self._served[application] = served(fresh, application)
        again = compared(first, served(fresh, application))
        counted = self._miscounted(fresh, application, first.room)
        for each in (*first.wrong, *found, *again, *counted):
            self._keep(Found(each, Schedule(server=application)))

    def try_listeners(self) -> None:
        """See which cookies are good while keys change, what becomes of connections that wait to be
        accepted, and of signed ones, in worlds of their own."""
        for found in self._walked():
            self._keep(Found(found.problem, Schedule(), packets=found.packets))

    def _walked(self) -> list[Mistaken]:
        return [found for walk in _WALKS if (found := walk(self._new_world)) is not None]

    def _new_world(self, number: int = 0) -> World:
        return World(self._stack, self._profile, self._seed + number)

    def _miscounted(self, world: World, application: str, limit: int) -> tuple[Problem, ...]:
        """What is wrong with how a listener counts. limit: fast opens that it lets pend at once."""
        return accounts(world, world.port_of(application), limit) if application in COUNTED else ()

    def audit(self) -> None:
        """See whether the world is as at first, and begin another one."""
        lived, self._lived = self._lived, []
        talks = [each for each in lived if program_of(each) is None] or lived
        for application in dict.fromkeys(each.server for each in talks):
            self.result.audits += 1
            if application not in self._served:
                self._serve_first(application)
            problems = compared(self._served[application], served(self._world, application))
            if problems:
                self._left_behind(problems[0], application, lived)
        self._seed += 1
        self._world = self._new_world()

    def _wrong(self, problem: Problem, schedule: Schedule) -> None:
        known = self.result.found.get(problem.rule)
        if known is not None:
            known.count += 1
            if known.count > _TRIED and known.schedule.size <= schedule.size:
                return
        alone = self.problems_of(schedule)
        if any(each.rule == problem.rule for each in alone):
            self._keep(Found(first_of(alone), schedule))
        elif known is None and self._shows_after_rests(problem, schedule):
            self._keep(Found(problem, schedule, tuple(self._lived[:-1])))

    def _shows_after_rests(self, problem: Problem, schedule: Schedule) -> bool:
        """Whether those before it leave something behind for good: what a host holds for minutes,
        as connections in TIME-WAIT, may leave no room for more."""
        world = self._new_world()
        for each in self._lived[:-1]:
            played(world, each)
            world.pass_time(REST)
        return any(each.rule == problem.rule for each in judged(played(world, schedule)))

    def _left_behind(self, problem: Problem, application: str, lived: list[Schedule]) -> None:
        known = self.result.found.get(problem.rule)
        if known is not None:
            known.count += 1
            if known.count > _TRIED:
                return
        of_it = (each for each in lived if each.server == application)
        for schedule in sorted(of_it, key=lambda each: each.size):
            if self.left_by((schedule,), application):
                self._keep(Found(problem, schedule))
                return
        self._keep(Found(problem, lived[-1], tuple(lived[:-1])))

    def _keep(self, found: Found) -> None:
        known = self.result.found.get(found.problem.rule)
        if known is not None:
            found.count = known.count
            if known.schedule.size < found.schedule.size and len(known.before) <= len(found.before):
                return
        self.result.found[found.problem.rule] = found

    def replay(self, schedule: Schedule, before: Sequence[Schedule]) -> tuple[Run, list[Problem]]:
        """Play a schedule in a world of its own, with its packets; what shows, and what is left."""
        application = schedule.server
        fresh = self._new_world()
        first = served(fresh, application)
        wrong = [*first.wrong, *compared(first, served(fresh, application)), *closed(fresh)]
        wrong += self._miscounted(fresh, application, first.room)
        self.mistaken = self._walked()
        wrong += [each.problem for each in self.mistaken]
        world = self._new_world()
        for each in before:
            played(world, each)
        run = played(world, schedule, keep=True)
        left = compared(first, served(world, application))
        return run, [*judged(run), *left, *wrong]

    def plan(self, faults: int) -> dict[str, int]:
        """Schedules by stage, by what is known when each cell was played once."""
        some = [played(self._world, each) for each in cells()]
        return sizes(some, faults, self._rows)

    # Playing alone

    def problems_of(self, schedule: Schedule) -> list[Problem]:
        """What a schedule shows in a world of its own."""
        return judged(played(self._new_world(), schedule))

    def left_by(self, schedules: Sequence[Schedule], application: str) -> list[Problem]:
        """What schedules leave behind in a world of their own."""
        world = self._new_world()
        for each in schedules:
            played(world, each)
        return compared(self._served[application], served(world, application))


def sizes(some: Sequence[Run], faults: int, contexts: Sequence[Row]) -> dict[str, int]:
    """Schedules by stage, by a run of each cell. faults: at most in one."""
    packets = [len(run.order) for run in some]
    counts = {plan.CELLS: len(some), plan.ALONE: len(alone())}
    if faults:
        counts[plan.FAULT] = sum(size * len(FAULTS) for size in packets) + len(with_a_fault())
        counts[plan.SILENCED] = sum(packets)
        counts[plan.VANISHED] = sum(max(0, sum(run.order) - 1) for run in some)
    counts[plan.WRONG] = sum((run.passed + 1) * len(KINDS) for run in some)
    counts[plan.DEEDS] = how_many() + len(with_a_deed())
    counts[plan.CROSSED] = how_many_crossed(contexts)
    counts[plan.MIXED] = how_many_mixed()
    counts[plan.CONTEXT] = len(some) * len(contexts)
    if faults > 1:
        each = len(FAULTS) ** 2
        counts[plan.FAULTS_TWO] = sum(each * size * (size - 1) // 2 for size in packets)
    if faults > 2:
        counts[plan.FAULTS_THREE] = len(with_three_faults())
    counts[plan.PROGRAMS] = sum(counts.values()) // plan.BATCH * PER_BATCH
    return counts


def first_of(problems: Sequence[Problem]) -> Problem:
    """The one that shows at the earliest packet. Those at the end come after all packets, and
    breaches of mere advice after everything else."""
    return min(problems, key=lambda each: (is_advice(each.rule), each.packet < 0, each.packet))


def _order(found: Found) -> tuple[int, tuple[int, int, int]]:
    return len(found.before), found.schedule.size
