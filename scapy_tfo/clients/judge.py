"""Runs cases against a client and turns how each one ended into a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo.clients import control
from scapy_tfo.clients.application import Client
from scapy_tfo.clients.connection import NO_DATA
from scapy_tfo.clients.counters import Balance
from scapy_tfo.clients.server import Reception, Server
from scapy_tfo.runner.record import TOOL, Record
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.concurrently import at_once
from scapy_tfo.suite.outcome import (
    BROKEN,
    Ending,
    Failed,
    Inconclusive,
    Missing,
    Skipped,
    Unsupported,
    broken,
)
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Level, Result, Run, Verdict

PATIENCE = 1.5
"""Seconds that a client of this machine may take for what it should do at once."""

PATIENCE_BY_SSH = 5.0
"""The same where each of its starts is by ssh."""

_ATTEMPTS = ((16, 1.0), (4, 2.0), (1, 3.0))
"""Cases at a time, and times the patience: of the first attempt, and of those that follow where
something did not come."""


_MAYBE_LATER = (
    "a SYN with the cookie and no data: whether the application had written any by then cannot be "
    "seen"
)


@dataclass(frozen=True, slots=True)
class Options:
    """slow: also run such cases, and over each family all variants of the others. families: 4, 6;
    None for all that the client has. attempts: at most, of a case in which something did not come.
    capture: keep the packets. patience: seconds that a client may take for what it should do at
    once, its start too. stops_early: judge no more where every fast open that is served rightly
    breaks the application. require_fast_open: a client that never opens fast fails. on_plan: called
    once, before the first case, with the number of results to come. on_result: called with each
    result as its verdict stands. record: is told where the packets are kept. meets_bystanders:
    after each conversation that came to harm, another server is opened fast."""

    slow: bool = False
    families: Sequence[int] | None = None
    seed: int = 0
    attempts: int = len(_ATTEMPTS)
    capture: bool = True
    patience: float = PATIENCE
    stops_early: bool = False
    require_fast_open: bool = False
    on_plan: Callable[[int], None] = lambda _: None
    on_result: Callable[[Result], None] = lambda _: None
    record: Record | None = None
    meets_bystanders: bool = True


@dataclass(slots=True)
class _Job:
    case: Case
    family: int
    attempts: int = 0
    seconds: float = 0.0
    ending: Ending | None = None
    observed: dict[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return not self.attempts or isinstance(self.ending, Missing)


async def judge(
    client: Client, cases: Sequence[Case], catalogue: Catalogue, options: Options | None = None
) -> Run:
    """Judge a client by the cases, over each of its families.

    Raises TargetError where it cannot even be served over plain TCP, SetupError where its
    application cannot be started.
    """
    options = options or Options()
    began, started = asyncio.get_running_loop().time(), time.time()
    families = [each for each in client.families if each in (options.families or client.families)]
    shares = not options.slow and len(families) > 1
    board = Reception(client, seed=options.seed, capture=options.capture, shares=shares)
    counted = client.counters()
    first = await _controls(board, families, options)
    beside = await _beside(board, families, options)
    jobs, found = [_Job(case, family) for family in families for case in cases], dict[int, Result]()
    options.on_plan(len(first) + len(jobs))
    (options.record or Record()).packets = board.packets
    for result in first:
        _conclude(board, result, options)

    def settle(job: _Job) -> None:
        result = found[id(job)] = _result(job, catalogue)
        _conclude(board, result, options)

    for job in jobs:
        if why := _left_out(job, first, options):
            job.attempts, job.ending = 1, Skipped(why)
            settle(job)
    for limit, factor in _ATTEMPTS[: options.attempts]:
        gate = asyncio.Semaphore(limit)

        async def within(job: _Job, gate: asyncio.Semaphore = gate, by: float = factor) -> None:
            async with gate:
                is_last = job.attempts + 1 >= options.attempts
                await _attempt(
                    board, job, by * options.patience, beside[job.family], is_last=is_last
                )
            if not job.is_open:
                settle(job)

        wave = [job for job in jobs if job.is_open]
        await at_once([within(job) for job in wave if not job.case.exclusive])
        for job in (each for each in wave if each.case.exclusive):
            await within(job)
    for job in (each for each in jobs if id(each) not in found):
        settle(job)
    told, agrees = Balance.of(board.connections).weigh(counted, client.counters())
    results = [*_demanded(board, options, families[0]), *first, *(found[id(job)] for job in jobs)]
    results += [_miscounted(told, families[0])] * (not agrees) + control.harms(beside, catalogue)
    notes = [note for each in beside.values() for note in each.notes]
    return replace(
        _run_of(board, tuple(results), told, notes),
        started=started,
        seconds=asyncio.get_running_loop().time() - began,
    )


def _run_of(board: Reception, results: tuple[Result, ...], told: str, found: Sequence[str]) -> Run:
    """The run, without its times. told: of the counters. found: by controls, for the notes."""
    return Run(
        target=board.client.name,
        tool=TOOL,
        started=0.0,
        seconds=0.0,
        results=results,
        gone=board.bounds.over,
        packets=tuple(board.packets),
        notes=(*_notes(board, told), *dict.fromkeys(found)),
        breaches=tuple(board.watch.breaches),
        watched=board.watch.tally.by_name,
    )


def _conclude(board: Reception, result: Result, options: Options) -> None:
    said = f"{result.verdict.name}: {result.reason or result.title}"
    board.conclude(f"{result.case} [ipv{result.family}]", result.packets, said)
    options.on_result(result)


def _left_out(job: _Job, first: Sequence[Result], options: Options) -> str:
    """Why a case is not run, "" if it is."""
    if any(each.family == job.family for each in first):
        return f"no fast open gets through: {first[0].case}"
    slow = job.case.slow and not options.slow
    return "waits for long timers: give --slow" if slow else ""


def _notes(board: Reception, told: str) -> tuple[str, ...]:
    """What the report says of the whole run. told: of the counters, "" where there are none."""
    counted = (f"the client's kernel counted: {told}",) if told else ()
    silent = (board.habit,) if board.habit else ()
    return *board.bounds.notes, *board.watch.notes, *silent, *counted


def _miscounted(told: str, family: int) -> Result:
    """What the kernel counted and what we saw cannot both be right."""
    return Result(
        case="CLI-6a.what-the-kernel-counted-is-what-was-seen",
        title="The kernel's counters of the whole run lie within what was on the wire.",
        family=family,
        requirements=("CLI-6a",),
        level=Level.ROBUST,
        verdict=Verdict.FAIL,
        reason="the client's kernel counted other fast opens than were on the wire",
        expected="counters within what was on the wire",
        actual=told,
    )


async def _controls(board: Reception, families: Sequence[int], options: Options) -> list[Result]:
    """The failures of control fast opens, if those are to end the run."""
    failed = []
    for family in families:
        servers: list[Server] = []

        def make(
            owner: str, patience: float, family: int = family, servers: list[Server] = servers
        ) -> Server:
            return _server(board, family, owner, patience, {}, servers)

        try:
            await control.plain_connection(make, board.client.name, family, options.patience)
            if options.stops_early:
                result = await control.fast_open(make, family, options.patience)
                failed += [result] if result is not None else []
        finally:
            for each in servers:
                each.close()
    return failed


async def _beside(
    board: Reception, families: Sequence[int], options: Options
) -> dict[int, control.Beside]:
    found = {}
    for family in families:

        def make(owner: str, patience: float, family: int = family) -> Server:
            return _server(board, family, owner, patience, {}, [])

        found[family] = control.Beside(
            control.Bystander(make, options.patience),
            control.TimeOut(make, options.patience),
            control.Cache(make, options.patience),
        )
        if options.meets_bystanders:
            await found[family].bystander.prepare()
    return found


def _demanded(board: Reception, options: Options, family: int) -> list[Result]:
    """The failure of a client that must open fast, and never sent a SYN with a cookie and data."""
    firsts = [each.first for each in board.connections if each.syns]
    if not options.require_fast_open or any(each.cookie and each.payload for each in firsts):
        return []
    return [_never_opened_fast(len(board.connections), family)]


def _never_opened_fast(number: int, family: int) -> Result:
    return Result(
        case="CLI-2.the-client-opens-fast-at-all",
        title="At least one SYN has a cookie and data (--require-fast-open).",
        family=family,
        requirements=("CLI-2",),
        level=Level.MUST,
        verdict=Verdict.FAIL,
        reason="the client never opens fast, which --require-fast-open demands",
        expected="a SYN with a cookie and data",
        actual=f"{number} connections without one",
    )


def _server(
    board: Reception,
    family: int,
    owner: str,
    patience: float,
    observed: dict[str, str],
    servers: list[Server],
) -> Server:
    return Server(
        board,
        family=family,
        owner=owner,
        patience=patience,
        observed=observed,
        watch=servers.append,
    )


async def _attempt(
    board: Reception, job: _Job, patience: float, beside: control.Beside, *, is_last: bool
) -> None:
    job.attempts += 1
    job.observed = {}
    again = f", attempt {job.attempts}" if job.attempts > 1 else ""
    owner = f"{job.case.id} [ipv{job.family}]{again}"
    loop = asyncio.get_running_loop()
    began = loop.time()
    servers: list[Server] = []
    try:
        server = _server(board, job.family, owner, patience, job.observed, servers)
        board.bounds.begin()
        await job.case.run(server)
        doubts = [each for one in servers for each in one.doubts]
        job.ending = Inconclusive(doubts[0]) if doubts else None
    except Ending as ending:
        if isinstance(ending, Failed | Missing):
            ending.actual += await control.last_words(servers)
            ending = await beside.judged(ending, servers, is_last=is_last)
            if ending.reason == NO_DATA and not board.client.writes_at_once:
                ending = Inconclusive(_MAYBE_LATER)
        job.ending = ending
    except BROKEN as error:
        job.ending = broken(error)
    finally:
        job.ending = board.bounds.judged(owner, job.ending)
        harmed = [one for each in servers for one in each.connections if control.came_to_harm(one)]
        for each in servers:
            each.close()
        if harmed:
            await beside.bystander.meet(owner)
        job.seconds += loop.time() - began


def _result(job: _Job, catalogue: Catalogue) -> Result:
    ending = job.ending
    level = job.case.level_of(ending, catalogue)
    verdict = Verdict.PASS
    if isinstance(ending, Skipped):
        verdict = Verdict.SKIPPED
    elif isinstance(ending, Unsupported):
        verdict = Verdict.UNSUPPORTED
    elif isinstance(ending, Inconclusive):
        verdict = Verdict.INCONCLUSIVE
    elif ending is not None:
        verdict = Verdict.FAIL if level.can_fail else Verdict.UNSUPPORTED
    allowed = ending is not None and verdict is Verdict.UNSUPPORTED and not level.can_fail
    reason = ending.reason if ending else ""
    return Result(
        case=job.case.id,
        title=job.case.title,
        family=job.family,
        requirements=job.case.requirements,
        level=level,
        verdict=verdict,
        reason=f"not done, which is allowed: {reason}" if allowed else reason,
        expected=ending.expected if ending else "",
        actual=ending.actual if ending else "",
        flow=ending.flow if ending else "",
        packets=ending.packets if ending else (),
        seconds=round(job.seconds, 4),
        attempts=job.attempts,
        observed=job.observed,
        silent=verdict is Verdict.FAIL and isinstance(ending, Missing),
    )
