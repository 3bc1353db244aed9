"""Runs cases against a target and turns how each one ended into a verdict."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scapy_tfo.lab.hooks import HooksBrokenError, NotOfferedError
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.runner import preflight
from scapy_tfo.runner.clock import VirtualLoop, beside
from scapy_tfo.runner.judging.excuses import (
    ENOUGH,
    comes_back,
    connections_at_a_time,
    cookies_are_good_once,
)
from scapy_tfo.runner.judging.job import Job, job_at, longest_first, silence_of, was_accepted
from scapy_tfo.runner.judging.verdicts import TRIES, Verdicts
from scapy_tfo.runner.record import TOOL, Record
from scapy_tfo.runner.shared_keys import look_for_holders
from scapy_tfo.silence.pace import AT_ONCE_AT_OURS, Pace
from scapy_tfo.spec import Catalogue
from scapy_tfo.stacks.small_port import leave, used_small_port, waits_its_turn
from scapy_tfo.suite.concurrently import AT_ONCE, until_one_raises
from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.control import Control, PathRecord
from scapy_tfo.suite.outcome import (
    BROKEN,
    Absent,
    Ending,
    Inconclusive,
    Missing,
    Refused,
    Skipped,
    broken,
)
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result, Run
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.suite.target import Target

_LATE = 1.0
"""Seconds by which a busy host may be late; virtual time waits for everybody."""

_MORE_PATIENCE = (1.0, 2.0, 3.0)


@dataclass(frozen=True, slots=True)
class Options:
    """slow, intrusive: also run such cases. families: addresses to judge, None for all.

    attempts: 1 where the path is known to lose nothing, so that a case that heard nothing once need
    not be run again; else as often as it takes, at most. impairment: of the path to a target in
    memory. capture: keep the packets. requests: cookies asked for at the end, to count the servers
    with keys of their own at an address; 0 for none. on_plan: called before the first case with the
    number of results, on_result: with each once its verdict stands. record: is told where the
    packets are kept. context: of each case, less the factors that it fixes. on_note: called with
    what is to be known before the first case, such as that it takes long.
    """

    slow: bool = False
    intrusive: bool = False
    families: Sequence[int] | None = None
    seed: int = 0
    attempts: int = TRIES
    impairment: Impairment | None = None
    capture: bool = True
    requests: int = 0
    on_plan: Callable[[int], None] | None = None
    on_result: Callable[[Result], None] | None = None
    record: Record | None = None
    context: Context = USUAL
    on_note: Callable[[str], None] | None = None


async def judge(
    target: Target, cases: Sequence[Case], catalogue: Catalogue, options: Options | None = None
) -> Run:
    """Judge a target by the cases, at each of its addresses.

    Raises TargetError where no control handshake succeeds, or where another application answers
    than the one named, and SetupError from the link.
    """
    options, began, started = options or Options(), asyncio.get_running_loop().time(), time.time()
    board = Switchboard(target.link, seed=options.seed, capture=options.capture)
    watch = board.watch
    watch.ordered = (target.is_ours or target.direct) and options.impairment is None
    watch.whole = target.whole
    watch.met = target.met
    watch.grace = 0.0 if options.attempts == 1 else _LATE
    await target.link.prepare()
    await preflight.serve(target, options.context)
    path = PathRecord()
    control = Control(target, board, path)
    families = [each for each in sorted(options.families or (4, 6)) if each in target.addresses]
    await control.establish(families)
    runner = _Runner(target, board, control, path, options)
    if not target.is_ours and target.main.app.answers:
        for each in families:
            peer = runner.peer(each, "control request")
            await preflight.meet_the_applications(peer, set[str]().union(*(c.needs for c in cases)))
            await runner.finds_it_slow(each)
    jobs = [job_at(target, case, family, catalogue) for family in families for case in cases]
    if options.on_plan:
        options.on_plan(len(jobs))
    if options.record:
        options.record.packets = board.packets
    watches = [control.keep_watch(families, runner.pace)]
    if not isinstance(asyncio.get_running_loop(), VirtualLoop):
        watches.append(watch.keep_time(target.link.now))
    async with beside(*watches):
        await runner.run(jobs)
    await runner.look_into_refusals(jobs)
    await control.conclude(families)
    results = [runner.verdicts.result(job) for job in jobs]
    runner.tell_deferred()
    wanted = options.requests and not board.bounds.over
    keys = [await runner.look_for_holders(each) for each in families if wanted]
    more = filter(None, [*watch.notes, *keys, target.broken()])
    for result in results:
        said = f"{result.verdict.name}: {result.reason or result.title}"
        board.conclude(f"{result.case} [ipv{result.family}]", result.packets, said)
    return Run(
        target=target.name,
        tool=TOOL,
        started=started,
        seconds=asyncio.get_running_loop().time() - began,
        results=tuple(results),
        packets=tuple(board.packets),
        notes=(*path.notes, *(() if path.room else runner.pace.notes), *board.bounds.notes, *more),
        gone=path.gone or board.bounds.over or target.broken(),
        loses=not path.is_clean,
        breaches=tuple(watch.breaches),
        watched=watch.tally.by_name,
    )


class _Runner:
    """Runs jobs in waves: each wave repeats, in a quieter setting, those that heard nothing."""

    def __init__(
        self,
        target: Target,
        board: Switchboard,
        control: Control,
        path: PathRecord,
        options: Options,
    ) -> None:
        self._target, self._board, self._path, self._options = target, board, path, options
        self._control, self._timed, self._asked_for_room = control, set[int](), set[int]()
        self._deferred: list[Job] = []
        self.verdicts = self._verdicts = Verdicts(path, loses_nothing=options.attempts == 1)
        self.pace = Pace(AT_ONCE_AT_OURS, AT_ONCE_AT_OURS) if target.is_ours else Pace()

    async def run(self, jobs: Sequence[Job]) -> None:
        """Run every job, at last those that leave behind what may disturb others for minutes."""
        self._verdicts.plan(jobs)
        for job in jobs:
            if unmet := self._unmet(job):
                job.ending, job.attempts = Skipped(unmet), 1
                self._tell(job)
        for last in (False, True):
            await self._in_waves([each for each in jobs if each.exclusive is last])
        self._deferred = [job for job in jobs if job.is_silent]

    async def _in_waves(self, jobs: Sequence[Job]) -> None:
        for number in range(max(self._options.attempts, 2)):
            wave = [job for job in jobs if self._verdicts.wants(job)]
            if not wave:
                return
            self._path.begin_period()
            self.pace.begin_wave(number)
            shared = [job for job in wave if not self._goes_alone(job)]
            alone = [job for job in wave if self._goes_alone(job)]
            await until_one_raises(self._in_turn(job) for job in longest_first(shared))
            for job in alone:
                await self._attempt(job)
            if any(job.is_open for job in wave):
                await self._control.conclude(sorted({job.family for job in jobs}))
            if self._path.gone:
                return
            await self._look_for_room(wave)
            await self._search(wave)

    async def _look_for_room(self, wave: Sequence[Job]) -> None:
        """Ask once for how many connections the target has room, if cases heard nothing.

        Where there is little, what was lost so far was lost for that: it counts no more.
        """
        silent = {job.family for job in wave if job.heard_nothing}
        for family in sorted(silent - self._asked_for_room):
            self._asked_for_room.add(family)
            peer = functools.partial(self.peer, family, "search for room")
            room = await connections_at_a_time(peer)
            if room is not None:
                self._path.roomy |= {family} if room >= ENOUGH else set()
            if room is None or room >= ENOUGH:
                continue
            self._path.has_room_for(family, room)
            self.pace.at_most(1)
            for job in wave:
                if job.family == family:
                    job.silences.clear()

    async def _search(self, wave: Sequence[Job]) -> None:
        """Look for loss, until it is known whether it explains the silences of a wave."""
        if self._options.attempts == 1:
            return
        for family in sorted({job.family for job in wave}):
            jobs = [each for each in wave if each.family == family]
            # On a path that is made to lose, most silences end with the second attempt.
            first = any(each.attempts == 1 for each in jobs)
            if first and self._options.impairment is not None:
                continue
            enough = functools.partial(self._verdicts.will_settle, jobs)
            await self._control.search(family, enough, self.pace.limit)

    def _goes_alone(self, job: Job) -> bool:
        return job.goes_alone or waits_its_turn(self._target, job.case)

    def _unmet(self, job: Job) -> str:
        """Why a case cannot run here, "" where it can."""
        if job.case.slow and not self._options.slow:
            return "waits for long timers: give --slow"
        for need in sorted(job.case.needs):
            if need == "bulk" and self._target.loses_bulk:
                return self._target.loses_bulk
            if lacking := self._target.lacks(need, job.family):
                return f"needs {lacking}"
        if job.case.intrusive and not self._options.intrusive:
            return "fills queues or uses a second address: give --intrusive"
        return ""

    async def _in_turn(self, job: Job) -> None:
        async with self.pace.turn():
            await self._attempt(job)

    def _within_a_case(self, job: Job) -> int:
        """Conversations of a case under way at a time."""
        crossed = job.was_refused or job.was_reset
        if job.family in self._path.room or (crossed and job.attempts > 1):
            return 1
        return self.pace.within_a_case(job.attempts)

    async def _attempt(self, job: Job) -> None:
        await self._run_once(job)
        # Measured where it matters alone: a target of our own answers at once, as a rule.
        if isinstance(job.ending, Missing) and await self.finds_it_slow(job.family):
            job.ending = None
            job.silences.clear()
            await self._run_once(job)

    async def finds_it_slow(self, family: int) -> bool:
        """Measure once how long the application takes to answer; whether it is longer than was
        allowed so far."""
        if family in self._timed or not self._target.main.app.answers:
            return False
        self._timed.add(family)
        known = self._path.thinking
        taken = await preflight.think_time(self.peer(family, "control request"))
        self._path.thinking = max(known, taken)
        return taken > known

    async def _run_once(self, job: Job) -> None:
        AT_ONCE.set(self._within_a_case(job))
        factor = _MORE_PATIENCE[min(job.attempts, len(_MORE_PATIENCE) - 1)]
        job.attempts += 1
        job.queue_was_full = job.target_was_full = False
        began = (loop := asyncio.get_running_loop()).time()
        context = self._options.context.without(job.case.fixed)
        usual = functools.partial(self.peer, job.family, preflight.AROUND)
        await preflight.grow_old(int(context["age"]), usual)
        peer = self.peer(job.family, job.owner, factor, job.attempts, context)
        silent_before, reset_before = job.heard_nothing, job.was_reset
        tally = self._path.tally(job.family)
        try:
            if job.exclusive:
                self._path.holding.add(job.owner)
            self._board.bounds.begin()
            await job.run(peer)
            job.ending = None
        except Ending as raised:
            ended = raised, loop.time() - began
            job.ending = ending = await preflight.explained(*ended, peer.flows, context, usual)
            if isinstance(ending, Missing | Absent):
                job.silences.append(silence_of(ending, peer.flows, tally))
            # Now, while this case still holds all that it opened at the target.
            if job.was_reset and not self._path.reset:
                await self._control.handshake(job.family)
            if isinstance(ending, Missing):
                self._path.holding.add(job.owner)
                job.opened = len(peer.flows)
                job.target_was_full = await self._is_full(job)
            if isinstance(ending, Refused):
                job.queue_was_full = await self._queue_is_full(job.family)
        except NotOfferedError as error:
            job.ending = Skipped(f"needs {error}")
        except HooksBrokenError as error:
            job.ending = Inconclusive(f"the hooks failed, not the stack: {error}")
        except BROKEN as error:
            job.ending = broken(error, job.case.run.__module__)
        finally:
            job.ending = self._board.bounds.judged(job.owner, job.ending)
            if any(was_accepted(flow) for flow in peer.flows):
                self._path.accepts.add(job.family)
            peer.hang_up()
            if used_small_port(peer):
                await leave(job.ending, lambda: self.peer(job.family, "control of the small port"))
            job.seconds += loop.time() - began
            job.observed = peer.observed
        answered = not isinstance(job.ending, Missing | Absent | Inconclusive)
        if answered:
            tally.count()
        if reset_before and answered:
            self._path.squeezed += 1
        elif silent_before and answered and job.family not in self._path.room:
            self._path.recovered += 1
            for each in job.silences:
                each.tally.count(lost=True)
        if not job.is_silent:
            self._tell(job)

    async def _is_full(self, job: Job) -> bool:
        """Whether not even plain handshakes are answered at the moment."""
        if self._options.attempts == 1 or job.family in self._path.room:
            return False
        fails = self._control.handshake
        return bool(await fails(job.family) and await fails(job.family))

    def peer(
        self, family: int, owner: str, factor: float = 1, attempt: int = 1, context: Context = USUAL
    ) -> Peer:
        return Peer(
            self._target,
            self._board,
            family=family,
            owner=owner,
            patience=self._path.patience * factor,
            path=self._path,
            attempt=attempt,
            context=context,
        )

    async def _queue_is_full(self, family: int) -> bool:
        """Whether an ordinary fast open is refused now, by a listener that took one before.

        A listener of our own has room for all cases: there a refusal is never explained away.
        """
        if self._target.is_ours or family not in self._path.accepts:
            return False
        with self._asking(family, "control fast open") as peer:
            try:
                return not await peer.accepts(await peer.cookie())
            except Ending:
                return True

    @contextlib.contextmanager
    def _asking(self, family: int, owner: str) -> Iterator[Peer]:
        """A peer for a question of the run's own, which hangs up afterwards."""
        peer = self.peer(family, owner)
        try:
            yield peer
        finally:
            peer.hang_up()

    async def look_into_refusals(self, jobs: Sequence[Job]) -> None:
        """Find out what else than a fault explains that valid cookies were refused.

        Each may be good for one fast open; and a full queue empties once all our flows have ended:
        what stays off was not full.
        """
        for family in {job.family for job in jobs if isinstance(job.ending, Refused)}:
            with self._asking(family, "search for one-time cookies") as peer:
                if await cookies_are_good_once(peer):
                    self._path.one_time.add(family)
        for family in {job.family for job in jobs if job.found_no_room}:
            with self._asking(family, "wait for fast open") as peer:
                if not await comes_back(peer):
                    self._path.off.add(family)

    async def look_for_holders(self, family: int) -> str:
        """What holds the keys at an address, which several servers may share; "" for nothing."""
        with self._asking(family, "search for key holders") as peer:
            return await look_for_holders(peer, self._options.requests)

    def tell_deferred(self) -> None:
        """Announce the jobs whose verdict waited for what the whole run says of the path."""
        for job in self._deferred:
            self._tell(job)

    def _tell(self, job: Job) -> None:
        if self._options.on_result is not None:
            self._options.on_result(self._verdicts.result(job))
