"""Explores a target on the wire: the plan of `Explorer`, with many schedules under way at a time.

A target is busy with hundreds of others, so what goes wrong among many is played again among few,
and is believed where it shows more than once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile

from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.run import Problem, Run, outcome
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.explorer import Explorer, Found, Result, first_of, sizes
from scapy_tfo.explore.live import audits
from scapy_tfo.explore.live.causes import cause_of
from scapy_tfo.explore.live.engine import FEW, Engine
from scapy_tfo.explore.live.play import CALM, CROWD
from scapy_tfo.explore.live.scan import FACTORS_LEFT_OUT, LEFT_OUT, lacks
from scapy_tfo.explore.live.site import Site
from scapy_tfo.explore.live.suspects import Suspects
from scapy_tfo.explore.stages.crossed import prepare
from scapy_tfo.explore.stages.deeds import Length
from scapy_tfo.explore.stages.plan import Batch, cells, stage_of
from scapy_tfo.explore.stages.rows import STRENGTH, rows
from scapy_tfo.units import plural

_LONG = 240.0
"""Seconds of an exploration behind which there is the time to count pending fast opens."""
_CONFIRMS = 60.0
"""Seconds for playing again what went wrong; what is under way then is finished."""
_LENGTH: Length = (10, 6)
_REDUCES = 60.0
"""Seconds for making a finding smaller."""


@dataclass(slots=True)
class LiveResult(Result):
    """again: schedules that were played again; excused: those that were right then. undecided:
    causes of what went wrong that there was no time for. left_out: schedules that the target cannot
    show, by the reason. lacks: what else left the model. gone: why the target could not be judged
    any further, "" where it could."""

    again: int = 0
    excused: int = 0
    undecided: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    lacks: dict[str, str] = field(default_factory=dict)
    gone: str = ""

    def join(self, other: Result) -> None:
        """See Result."""
        super(LiveResult, self).join(other)
        if isinstance(other, LiveResult):
            self.again += other.again
            self.excused += other.excused
            self.undecided += other.undecided
            self.left_out += other.left_out
            self.lacks |= other.lacks
            self.gone = self.gone or other.gone


class LiveExplorer(Explorer):
    """site: stays the caller's. first: confirm what goes wrong at once. stop: asked before each
    schedule. tell: called with a line on what comes behind the schedules, which takes time."""

    result: LiveResult

    def __init__(
        self,
        site: Site,
        *,
        seed: int = 0,
        strength: int = STRENGTH,
        rate: float | None = None,
        first: bool = False,
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        # The explorer of simulated stacks begins with one.
        self._site = site
        self._stop, self._tell = stop, tell
        self._seed = seed
        # An array may take seconds, in which no answer is read: before the first packet.
        self._rows = rows(strength, without=LEFT_OUT)
        prepare(self._rows)
        self._engine = Engine(site, rate)
        self._first, self._halted = first, False
        self._suspects = Suspects()
        self.result = LiveResult(site.name, seed, lacks={**site.lacks, **FACTORS_LEFT_OUT})

    def explore(self, faults: int = 2, *, shard: int = 0, of: int = 1) -> LiveResult:
        """See Explorer. What the listeners do at the end is compared with what they did at
        first."""
        with self._audited():
            super().explore(faults, shard=shard, of=of)
        return self.result

    def explore_these(self, schedules: Iterable[Schedule]) -> LiveResult:
        """See Explorer, and `explore`."""
        with self._audited():
            super().explore_these(schedules)
        return self.result

    @contextmanager
    def _audited(self) -> Iterator[None]:
        first = audits.served(self._engine, self._site.ports)
        room, begun = audits.room(self._engine), time.monotonic()
        yield
        self._confirm()
        self.result.audits = len(first)
        found = list(audits.lost(self._engine, first))
        if time.monotonic() - begun > _LONG:
            self._tell("pending fast opens are counted: it takes up to 75 s")
            found += audits.moved(self._engine, room)
            self.result.audits += 1
        for server, problem in found:
            self._keep(Found(problem, Schedule(server=server)))

    def try_listeners(self) -> None:
        """On the wire keys, queues and signatures are the target's own: the cases try them, where
        hooks can."""

    def _all(self, some: Iterable[Batch]) -> Iterator[Run]:
        stream = self._stream(some)
        while True:
            self._halted = False
            for play in self._engine.run(self._gated(stream), CROWD):
                run = play.run
                name = stage_of(run.schedule)
                self.result.played[name] = self.result.played.get(name, 0) + 1
                self._suspect(run)
                yield run
            if not self._halted:
                return
            self._confirm()

    def _stream(self, some: Iterable[Batch]) -> Iterator[Schedule]:
        """What is to be played and can be shown, until it is stopped."""
        for batch in some:
            for schedule in batch:
                if self._stop():
                    self.result.complete = False
                    self._tell("no more schedules: those under way are finished")
                    return
                why = lacks(self._site, schedule)
                if why:
                    self.result.left_out[why] += 1
                else:
                    yield schedule

    def _gated(self, stream: Iterator[Schedule]) -> Iterator[Schedule]:
        """As far as something is to be confirmed first."""
        while not self._halted:
            schedule = next(stream, None)
            if schedule is None:
                return
            yield schedule

    def _suspect(self, run: Run) -> None:
        """Note what went wrong among many."""
        problems = judged(run)
        if problems:
            self._suspects.add(first_of(problems), run.schedule)
            self._halted = self._first

    def give_up(self, why: str) -> LiveResult:
        """What there is by now, where the target is gone."""
        self.result.complete, self.result.gone = False, why
        self.result.undecided += self._suspects.causes
        return self.result

    def _confirm(self) -> None:
        """Play what went wrong among many again in calm, the smallest first."""
        if self._suspects.causes:
            self._tell(
                f"what went wrong ({plural(self._suspects.causes, 'cause')}) is played again with "
                "little else: it takes up to five minutes"
            )
        end = time.monotonic() + _CONFIRMS
        bare = takewhile(lambda _: time.monotonic() < end, self._suspects.bare())
        for play in self._engine.run(bare, CALM, most=FEW):
            self._suspects.needs_none(play.schedule, judged(play.run))
        again = self._suspects.again(_CONFIRMS)
        for play in self._engine.run(again.schedules(), CALM, most=FEW, keep=True):
            again.played(play, judged(play.run))
        self.result.again += again.begun
        self.result.excused += again.excused
        self.result.undecided += again.undecided
        for found in again.confirmed:
            self._keep(found)

    def _keep(self, found: Found) -> None:
        """The smallest of each cause."""
        cause = cause_of(found.problem, found.schedule)
        known = self.result.found.get(cause)
        if known is None or found.schedule.size < known.schedule.size:
            self.result.found[cause] = found

    def plan(self, faults: int) -> dict[str, int]:
        """See Explorer; without what the target cannot show."""
        shown = [each for each in cells() if not lacks(self._site, each)]
        runs = [play.run for play in self._engine.run(shown)]
        return sizes(runs, faults, self._rows)

    def length_of(self, schedule: Schedule) -> Length:
        """See Explorer: of most, for nothing is played for this alone."""
        return _LENGTH

    def replay(self, schedule: Schedule, before: object = ()) -> tuple[Run, list[Problem]]:
        """Play a schedule in calm, with its packets."""
        play = next(iter(self._engine.run([schedule], CALM, most=1, keep=True)))
        return play.run, judged(play.run)

    def problems_of(self, schedule: Schedule) -> list[Problem]:
        """What a schedule shows in calm."""
        if lacks(self._site, schedule):
            return []
        return self.replay(schedule)[1]

    def show(self, found: Found) -> None:
        """Keep the packets of a finding, and its outcome, as its schedule gives them now."""
        play = next(iter(self._engine.run([found.schedule], CALM, most=1, keep=True)))
        for each in judged(play.run):
            if each.rule == found.problem.rule:
                found.problem, found.packets, found.outcome = each, play.packets, outcome(play.run)

    def judge_for(self, seconds: float = _REDUCES) -> Callable[[Schedule], list[Problem]]:
        """`problems_of`, which finds nothing any more after so many seconds."""
        end = time.monotonic() + seconds

        def judge(schedule: Schedule) -> list[Problem]:
            return self.problems_of(schedule) if time.monotonic() < end else []

        return judge
