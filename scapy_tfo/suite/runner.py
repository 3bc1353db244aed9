"""Runs cases against a target and turns how each one ended into a verdict."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scapy_tfo import __version__
from scapy_tfo.lab.path import Impairment
from scapy_tfo.spec import Catalogue, Level
from scapy_tfo.suite.acquaintance import meet_the_application
from scapy_tfo.suite.control import Control, PathRecord
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.holders import look_for_holders
from scapy_tfo.suite.one_time import cookies_are_good_once
from scapy_tfo.suite.outcome import (
    Absent,
    Cookieless,
    Ending,
    Failed,
    Inconclusive,
    Missing,
    Refused,
    Skipped,
    Ungranted,
    Unsupported,
    WasReset,
)
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import NEEDS, Case
from scapy_tfo.suite.result import Result, Run, Verdict
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.suite.target import Target
from scapy_tfo.suite.together import AT_ONCE

TOOL = f"scapy-tfo {__version__}"

_AT_ONCE = (40, 8, 2)
"""Cases under way at a time: at first, then for those tried again, which get a quieter stack."""

_WITHIN_A_CASE = (8, 4, 4)
"""Conversations of one case under way at a time, likewise; but one where room was short."""

BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a mistake in a case raises, on an answer that nobody thought of."""

_MORE_PATIENCE = (1.0, 2.0, 3.0)


@dataclass(frozen=True, slots=True)
class Options:
    """slow, intrusive: also run such cases. families: addresses to judge, None for all.

    attempts: how often a case that heard nothing is run, at most 3; 1 where the path is known to
    lose nothing, and need not be watched for it. impairment: of the path to a target in memory.
    capture: keep the packets. requests: cookies asked for at the end, to tell how many servers
    with keys of their own share an address; 0 for no such search. on_result: called with each
    result as soon as its verdict stands.
    """

    slow: bool = False
    intrusive: bool = False
    families: Sequence[int] | None = None
    seed: int = 0
    attempts: int = len(_AT_ONCE)
    impairment: Impairment | None = None
    capture: bool = True
    requests: int = 0
    on_result: Callable[[Result], None] | None = None


@dataclass(slots=True)
class _Job:
    """One case at one address, through all its attempts."""

    case: Case
    family: int
    level: Level
    seconds: float = 0.0
    attempts: int = 0
    observed: dict[str, str] = field(default_factory=dict)
    ending: Ending | None = None
    queue_was_full: bool = False

    @property
    def is_open(self) -> bool:
        """Worth another attempt: never run, or something did not come."""
        return not self.attempts or isinstance(self.ending, Missing)

    @property
    def is_silent(self) -> bool:
        """It rests on something that did not come."""
        return self.is_open or isinstance(self.ending, Absent)

    @property
    def heard_nothing(self) -> bool:
        """It ended on something that did not come, a full queue being no explanation."""
        return isinstance(self.ending, Missing) and not self.was_refused

    @property
    def was_refused(self) -> bool:
        return isinstance(self.ending, Refused | Ungranted)

    @property
    def was_reset(self) -> bool:
        return isinstance(self.ending, WasReset)

    @property
    def goes_alone(self) -> bool:
        return self.case.exclusive or self.was_reset or self.was_refused

    @property
    def owner(self) -> str:
        attempt = f", attempt {self.attempts}" if self.attempts > 1 else ""
        return f"{self.case.id} [ipv{self.family}]{attempt}"


async def judge(
    target: Target, cases: Sequence[Case], catalogue: Catalogue, options: Options | None = None
) -> Run:
    """Judge a target by the cases, at each of its addresses.

    Raises TargetError where no control handshake succeeds, or where another application answers
    than the one named, and SetupError from the link.
    """
    options = options or Options()
    began, started = asyncio.get_running_loop().time(), time.time()
    board = Switchboard(target.link, seed=options.seed, capture=options.capture)
    await target.link.prepare()
    path = PathRecord()
    control = Control(target, board, path)
    families = [each for each in (4, 6) if each in target.addresses]
    families = [each for each in families if each in (options.families or families)]
    await control.establish(families)
    runner = _Runner(target, board, control, path, options)
    if target.hooks is None and target.main.app.answers:
        for each in families:
            await meet_the_application(runner.peer(each, "control request"))
    jobs = [_Job(case, family, case.level(catalogue)) for family in families for case in cases]
    watch = asyncio.create_task(control.keep_watch(families))
    try:
        await runner.run(jobs)
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
    for family in {job.family for job in jobs if isinstance(job.ending, Refused)}:
        await runner.look_for_one_time_cookies(family)
    await control.conclude(families)
    if options.attempts > 1 and any(runner.blames_silence(job) for job in jobs):
        await control.search(families)
    results = [runner.result(job) for job in jobs]
    runner.tell_deferred()
    keys = [await runner.look_for_holders(each) for each in families if options.requests]
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
        notes=(*path.notes, *filter(None, keys)),
        gone=path.gone,
        loses=not path.is_clean,
    )


def _was_accepted(flow: Flow) -> bool:
    """Whether data in the SYN was acknowledged by the SYN-ACK."""
    first = next((each for each in flow.heard if each.is_syn_ack), None)
    return bool(flow.opening.payload) and first is not None and flow.acknowledged(first) > 0


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
        self._control = control
        self._deferred: list[_Job] = []
        self._jobs = 0

    async def run(self, jobs: Sequence[_Job]) -> None:
        """Run every job, as often as it needs."""
        self._jobs = len(jobs)
        for job in jobs:
            unmet = self._unmet(job)
            if unmet:
                job.ending, job.attempts = Skipped(unmet), 1
                self._tell(job)
        waves = list(zip(_AT_ONCE, _MORE_PATIENCE, strict=True))
        for limit, factor in waves[: self._options.attempts]:
            wave = [job for job in jobs if job.is_open]
            shared = [job for job in wave if not job.goes_alone]
            alone = [job for job in wave if job.goes_alone]
            gate = asyncio.Semaphore(limit)
            # The last sections have the longest waits: begun first, they end with the others.
            await asyncio.gather(*(self._within(gate, job, factor) for job in reversed(shared)))
            for job in alone:
                await self._attempt(job, factor)
            if any(job.is_open for job in jobs):
                await self._control.conclude(sorted({job.family for job in jobs}))
            if self._path.gone:
                break
        self._deferred = [job for job in jobs if job.is_silent]

    def _unmet(self, job: _Job) -> str:
        """Why a case cannot run here, "" where it can."""
        if job.case.slow and not self._options.slow:
            return "waits for long timers: give --slow"
        for need in sorted(job.case.needs):
            if not self._target.meets(need, job.family):
                return f"needs {NEEDS[need]}"
        if job.case.intrusive and not self._options.intrusive:
            return "fills queues or uses a second address: give --intrusive"
        return ""

    async def _within(self, gate: asyncio.Semaphore, job: _Job, factor: float) -> None:
        async with gate:
            await self._attempt(job, factor)

    async def _attempt(self, job: _Job, factor: float) -> None:
        short = job.was_refused or job.was_reset
        AT_ONCE.set(1 if short and job.attempts > 1 else _WITHIN_A_CASE[job.attempts])
        job.attempts += 1
        job.queue_was_full = False
        loop = asyncio.get_running_loop()
        began = loop.time()
        peer = self.peer(job.family, job.owner, factor, job.attempts)
        silent_before = job.heard_nothing
        try:
            await job.case.run(peer)
            job.ending = None
        except Ending as ending:
            job.ending = ending
            if job.was_reset and not self._path.reset:
                # Now, while this case still holds all that it opened at the target.
                await self._control.handshake(job.family)
            if isinstance(ending, Refused):
                job.queue_was_full = await self._queue_is_full(job.family)
        except BROKEN as error:
            job.ending = Inconclusive(f"the case itself broke: {error!r}")
        finally:
            if any(_was_accepted(flow) for flow in peer.flows):
                self._path.accepts.add(job.family)
            peer.hang_up()
            job.seconds += loop.time() - began
            job.observed = peer.observed
        if silent_before and not isinstance(job.ending, Missing):
            self._path.recovered += 1
        if not job.is_silent:
            self._tell(job)

    def peer(self, family: int, owner: str, factor: float = 1.0, attempt: int = 1) -> Peer:
        return Peer(
            self._target,
            self._board,
            family=family,
            owner=owner,
            patience=self._path.patience * factor,
            path=self._path,
            attempt=attempt,
        )

    async def _queue_is_full(self, family: int) -> bool:
        """Whether an ordinary fast open is refused now, by a listener that took one before.

        A listener of our own has room for all cases: there a refusal is never explained away.
        """
        if self._target.hooks is not None or family not in self._path.accepts:
            return False
        peer = self.peer(family, "control fast open")
        try:
            return not await peer.accepts(await peer.cookie())
        except Ending:
            return True
        finally:
            peer.hang_up()

    async def look_for_one_time_cookies(self, family: int) -> None:
        """A refusal may be of a cookie that was used before, where each is good once."""
        peer = self.peer(family, "search for one-time cookies")
        try:
            if await cookies_are_good_once(peer):
                self._path.one_time.add(family)
        finally:
            peer.hang_up()

    async def look_for_holders(self, family: int) -> str:
        """What holds the keys at an address, which several servers may share; "" for nothing."""
        peer = self.peer(family, "search for key holders")
        try:
            return await look_for_holders(peer, self._options.requests)
        finally:
            peer.hang_up()

    def tell_deferred(self) -> None:
        """Announce the jobs whose verdict waited for what the whole run says of the path."""
        for job in self._deferred:
            self._tell(job)

    def _tell(self, job: _Job) -> None:
        if self._options.on_result is not None:
            self._options.on_result(self.result(job))

    def blames_silence(self, job: _Job) -> bool:
        """Whether a job fails, as things stand, for something that did not come."""
        return job.is_open and self._verdict(job)[0] is Verdict.FAIL

    def result(self, job: _Job) -> Result:
        """The verdict on a job, final once the path is known."""
        verdict, reason = self._verdict(job)
        ending = job.ending
        return Result(
            case=job.case.id,
            title=job.case.title,
            family=job.family,
            requirements=job.case.requirements,
            level=job.level,
            verdict=verdict,
            reason=reason,
            expected=ending.expected if ending else "",
            actual=ending.actual if ending else "",
            flow=ending.flow if ending else "",
            packets=ending.packets if ending else (),
            seconds=round(job.seconds, 4),
            attempts=job.attempts,
            observed=job.observed,
            silent=verdict in (Verdict.FAIL, Verdict.UNSUPPORTED) and job.is_silent,
        )

    def _verdict_on_a_corpse(self, job: _Job) -> tuple[Verdict, str]:
        """The target is gone: where one case had it to itself on a clean path, that one did it."""
        alone = self._jobs == 1 and not (self._path.recovered or self._path.reset)
        if alone and job.level.can_fail:
            return Verdict.FAIL, "the target stopped answering when this case had been run"
        if isinstance(job.ending, Missing):
            return Verdict.INCONCLUSIVE, f"{job.ending.reason}; the target stopped answering"
        return Verdict.PASS, ""

    def _doubts(self, job: _Job) -> bool:
        """Whether the path could have kept away what a case found to be absent."""
        never = isinstance(job.ending, Cookieless) and job.family not in self._path.grants
        return not (self._path.is_clean or never)

    def _verdict(self, job: _Job) -> tuple[Verdict, str]:
        ending = job.ending
        if self._path.gone and (ending is None or isinstance(ending, Missing)):
            return self._verdict_on_a_corpse(job)
        if ending is None:
            return Verdict.PASS, ""
        if isinstance(ending, Skipped):
            return Verdict.SKIPPED, ending.reason
        if isinstance(ending, Absent) and self._doubts(job):
            return Verdict.INCONCLUSIVE, f"{ending.reason}; the path loses packets"
        if isinstance(ending, Unsupported):
            return Verdict.UNSUPPORTED, ending.reason
        if isinstance(ending, Inconclusive):
            return Verdict.INCONCLUSIVE, ending.reason
        if isinstance(ending, Refused) and job.family in self._path.one_time:
            once = "a cookie is good once here, and the case uses one again"
            return Verdict.UNSUPPORTED, f"{ending.reason}: {once}"
        if job.queue_was_full or isinstance(ending, Ungranted):
            full = "the queue of pending fast opens was full, too small for what the cases open"
            return Verdict.INCONCLUSIVE, f"{ending.reason}; {full}"
        if job.is_open and self._path.reset:
            return Verdict.INCONCLUSIVE, f"{ending.reason}; the target is short of room"
        if job.is_open and not self._path.is_clean:
            return Verdict.INCONCLUSIVE, f"{ending.reason}; the path loses packets"
        if not job.level.can_fail:
            return Verdict.UNSUPPORTED, f"not done, which is allowed: {ending.reason}"
        assert isinstance(ending, Failed | Missing)
        return Verdict.FAIL, ending.reason
