"""Explores a client: plays schedules in some order, and keeps the smallest of each cause."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo.client_laws.schedules import plan
from scapy_tfo.client_laws.schedules.play import play
from scapy_tfo.client_laws.schedules.schedule import Schedule
from scapy_tfo.clients.server import Server
from scapy_tfo.spec import Level
from scapy_tfo.suite.outcome import Skipped
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Breach, CapturedPacket, Result, Run, Verdict, moved

_AT_A_TIME = 48
"""Schedules between two looks at the clock."""
_SMALLER = 40
"""Attempts at most to make a schedule of a cause smaller."""
_AGAIN = 2
"""Times that what went wrong is played again, at most, until it shows again."""
_COUNTED = "CLI-6a.what-the-kernel-counted"

Judge = Callable[[Sequence[Case], bool], Awaitable[Run]]
"""Plays cases at the client; whether to keep their packets."""


@dataclass(slots=True)
class Cause:
    """What went wrong in one way. schedule: the smallest of those that showed it."""

    schedule: Schedule
    family: int
    count: int = 1


@dataclass(slots=True)
class _Tally:
    """played: by stage and verdict. doubts: why schedules could not be judged."""

    played: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)


class Explorer:
    """judge: how the client is played with. seed: of the order. stop: asked before each schedule.
    times: schedules at most, None for any number. certain: the same schedule is the same each time,
    as on virtual time."""

    def __init__(
        self,
        judge: Judge,
        *,
        seed: int = 0,
        stop: Callable[[], bool] = lambda: False,
        times: int | None = None,
        certain: bool = True,
    ) -> None:
        self._judge, self._stop, self._left = judge, stop, times
        self._dice = random.Random(seed)
        self._certain = certain
        self._orders: dict[Schedule, plan.Order] = {}
        self._tally = _Tally()
        self.causes: dict[str, Cause] = {}
        self._last = Run(target="", tool="", started=0.0, seconds=0.0, results=())

    async def explore(self, some: Sequence[Schedule]) -> Run:
        """some: schedules without faults and contexts, which come first. What was found, as a run:
        one result for each stage and each cause."""
        some = list(some)
        self._dice.shuffle(some)
        await self._play(some)
        if not self._is_over:
            await self._play(plan.further(self._orders, self._dice))
        return await self._told()

    async def replay(self, schedule: Schedule) -> Run:
        """One schedule, with its packets."""
        return await self._judge([self._case(schedule)], True)

    @property
    def _is_over(self) -> bool:
        return self._stop() or self._left == 0

    async def _play(self, schedules: Iterable[Schedule]) -> None:
        every = iter(schedules)
        while not self._is_over:
            size = _AT_A_TIME if self._left is None else min(self._left, _AT_A_TIME)
            some = list(dict.fromkeys(itertools.islice(every, size)))
            if not some:
                return
            self._left = None if self._left is None else self._left - len(some)
            self._take(await self._judge([self._case(each) for each in some], False), some)

    def _case(self, schedule: Schedule) -> Case:
        async def run(server: Server) -> None:
            if self._stop():
                raise Skipped("the time was over")
            played = await play(server, schedule)
            if not schedule.faults and not schedule.context:
                self._orders[schedule] = played.order

        return Case(
            id=_name(schedule),
            title=str(schedule),
            requirements=("CLI-6a",),
            run=run,
        )

    def _take(self, run: Run, some: Sequence[Schedule]) -> None:
        """Take in what a run of schedules showed."""
        self._last = run
        by_name = {_name(each): each for each in some}
        for result in run.results:
            schedule = by_name.get(result.case)
            if schedule is not None and result.verdict is not Verdict.SKIPPED:
                self._tally.played[plan.stage_of(schedule), result.verdict] += 1
            if result.verdict is Verdict.INCONCLUSIVE:
                self._tally.doubts[result.reason] += 1
            if result.verdict is Verdict.FAIL and result.case.startswith(_COUNTED):
                # Of all connections together: a schedule that shows it alone tells more.
                self._tally.doubts[f"{result.reason}: {result.actual}"] += len(some)
            elif result.verdict is Verdict.FAIL:
                self._keep(cause_of(result), schedule or some[0], result.family)
        for breach in run.breaches:
            schedule = by_name.get(breach.owner.partition(" ")[0].partition(",")[0])
            self._keep(breach.rule, schedule or some[0], breach.family)

    def _keep(self, cause: str, schedule: Schedule, family: int) -> None:
        known = self.causes.get(cause)
        if known is None:
            self.causes[cause] = Cause(schedule, family)
            return
        known.count += 1
        if schedule.size < known.schedule.size:
            known.schedule, known.family = schedule, family

    # What is told

    async def _told(self) -> Run:
        self._stop = lambda: False
        results: list[Result] = [_of_stage(*each) for each in self._stages()]
        packets: list[CapturedPacket] = []
        breaches: list[Breach] = []
        notes = [f"inconclusive: {count} schedules: {why}" for why, count in self._doubts]
        for name, cause in sorted(self.causes.items(), key=lambda each: each[1].schedule.size):
            run = await self._shown(name, cause)
            if run is None:
                notes.append(f"shown once, and not again: {name}; {cause.schedule}")
                continue
            shift = len(packets)
            packets += (replace(each, number=each.number + shift) for each in run.packets)
            breaches += moved([each for each in run.breaches if each.rule == name], shift)
            for each in run.results:
                if each.verdict is Verdict.FAIL and cause_of(each) == name:
                    numbers = tuple(number + shift for number in each.packets)
                    many = each.observed | {"schedules that showed it": str(cause.count)}
                    results.append(replace(each, packets=numbers, observed=many))
        return replace(
            self._last,
            results=tuple(results),
            packets=tuple(packets),
            breaches=tuple(breaches),
            notes=(*self._last.notes, *notes),
        )

    def _stages(self) -> list[tuple[str, Counter[Verdict]]]:
        stages: dict[str, Counter[Verdict]] = {}
        for (stage, verdict), count in self._tally.played.items():
            stages.setdefault(stage, Counter())[verdict] += count
        return list(stages.items())

    @property
    def _doubts(self) -> list[tuple[str, int]]:
        return self._tally.doubts.most_common(5)

    async def _shown(self, name: str, cause: Cause) -> Run | None:
        """A run of the smallest schedule that shows it, with its packets; None where none does."""
        found = await self._shows(name, cause.schedule)
        if found is None or not self._certain:
            return found
        tried = 0
        is_smaller = True
        while is_smaller and tried < _SMALLER:
            is_smaller = False
            for simpler in cause.schedule.simpler():
                tried += 1
                again = await self._shows(name, simpler)
                if again is not None:
                    cause.schedule, found, is_smaller = simpler, again, True
                    break
        return found

    async def _shows(self, name: str, schedule: Schedule) -> Run | None:
        for _ in range(1 if self._certain else _AGAIN):
            run = await self._judge([self._case(schedule)], True)
            failed = {cause_of(each) for each in run.results if each.verdict is Verdict.FAIL}
            if name in failed | {each.rule for each in run.breaches}:
                return run
        return None


def _name(schedule: Schedule) -> str:
    """Of its case: the same for the same schedule."""
    return f"CLI-6a.schedule-{hashlib.sha256(str(schedule).encode()).hexdigest()[:8]}"


def cause_of(result: Result) -> str:
    """What a failure is of, whatever the numbers in it."""
    return result.reason.partition(":")[0] if " after CLI-" in result.reason else result.reason


def _of_stage(stage: str, verdicts: Counter[Verdict]) -> Result:
    """That schedules were played, and what became of them."""
    told = {str(verdict): str(count) for verdict, count in verdicts.items()}
    return Result(
        case=f"CLI-6a.schedules-with-{stage.replace(' ', '-')}",
        title=f"Schedules with {stage}: both ends get what the other one wrote.",
        family=4,
        requirements=("CLI-6a",),
        level=Level.ROBUST,
        verdict=Verdict.PASS,
        observed=told,
    )
