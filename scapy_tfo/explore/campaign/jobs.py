"""Explores with several processes at a time, each its share of the cells."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.explore.audits import AUDITED
from scapy_tfo.explore.campaign.store import PARTS, Store
from scapy_tfo.explore.explorer import Explorer, Result
from scapy_tfo.explore.progress import Progress, Tell
from scapy_tfo.explore.reduce import reduced
from scapy_tfo.explore.stages.rows import STRENGTH
from scapy_tfo.lab.process.forking import signals_held_back
from scapy_tfo.lab.process.namespace import die_with_parent
from scapy_tfo.runner.interrupts import interrupts_held

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import SynchronizedArray

    Counts = SynchronizedArray[int]

_COUNTED_AT = 32
"""Schedules that a process plays before it says so."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be explored. target: a simulated stack without `sim:`. faults: in one schedule, at
    most. seconds: that it may take, None for as long as the plan takes. first: stop at the first
    finding that is no advice. strength: how many factors of contexts meet in every way. store:
    where finished parts are kept; resume: those that are kept are not explored again. shard: which
    one of how many this is, counted from 0."""

    target: str
    seed: int = 0
    faults: int = 2
    seconds: float | None = None
    jobs: int = 1
    first: bool = False
    strength: int = STRENGTH
    store: Path | None = None
    resume: bool = False
    shard: tuple[int, int] = (0, 1)

    @property
    def plan(self) -> dict[str, object]:
        """What is the same wherever parts of one exploration are explored."""
        held = {"target": self.target, "seed": self.seed, "faults": self.faults}
        return {**held, "strength": self.strength, "parts": PARTS}


def processors() -> int:
    """How many processes can run at a time here."""
    return len(os.sched_getaffinity(0))


def explored(request: Request, tell: Tell = lambda _: None) -> Result:
    """Explore, and join what the processes found. tell: gets a line on how far it is, every ten
    seconds. Raises SetupError and TargetError as they do."""
    end = None if request.seconds is None else time.monotonic() + request.seconds
    progress = Progress(tell, time.monotonic(), end)
    if request.store is not None:
        return _kept(request, request.store, end, progress)
    place, shards = request.shard
    if request.jobs == 1:
        return _alone(request, end, progress)
    of = request.jobs * shards
    with _processes(request.jobs) as (pool, stop, counts):
        parts = [_submitted(pool, request, end, each, of) for each in range(place, of, shards)]
        try:
            for _ in _finished(parts, counts, progress):
                pass
            return joined(request, [each.result() for each in parts])
        except KeyboardInterrupt:
            stop.set()
            whole = joined(request, [each.result() for each in parts])
            whole.interrupted = True
            return whole


def _finished(
    parts: Iterable[Future[Result]], counts: Counts, progress: Progress
) -> Iterator[Future[Result]]:
    """Each part when it is done; lines in the meantime."""
    left = set(parts)
    while left:
        done, left = wait(left, progress.seconds_to_next(time.monotonic()), FIRST_COMPLETED)
        progress.at(time.monotonic(), counts[0], counts[1])
        yield from done


def _alone(request: Request, end: float | None, progress: Progress) -> Result:
    """Explore in this process. Ctrl-C ends that with what was found, a second one at once."""
    found: Result | None = None

    def is_over(so_far: Result) -> bool:
        progress.at(time.monotonic(), so_far.total, len(so_far.found))
        try:
            check()
        except KeyboardInterrupt:
            return True
        return end is not None and time.monotonic() >= end

    try:
        with interrupts_held() as check:
            found = part(request, *request.shard, is_over)
    except KeyboardInterrupt:
        if found is None:
            raise
        found.interrupted = True
    return found


def joined(request: Request, results: Iterable[Result]) -> Result:
    """What several parts of an exploration showed, as one."""
    whole = Result(f"sim:{request.target}", request.seed)
    for each in results:
        whole.join(each)
    return whole


@contextmanager
def _processes(jobs: int) -> Iterator[tuple[ProcessPoolExecutor, Event, Counts]]:
    """So many, which end with this one: a signal may come to it alone. What stops them, with what
    they have found; and how many schedules they played, and how much they found."""
    # Forked, so that this one is their parent.
    context = multiprocessing.get_context("fork")
    stop, counts = context.Event(), context.Array("q", 2)
    with signals_held_back() as let_through:
        begin = (os.getpid(), let_through, stop, counts)
    with ProcessPoolExecutor(jobs, context, _begin, begin) as pool:
        try:
            yield pool, stop, counts
        except BaseException:
            for each in multiprocessing.active_children():
                each.terminate()
            raise


def _submitted(
    pool: ProcessPoolExecutor, request: Request, end: float | None, number: int, of: int
) -> Future[Result]:
    # Which may fork.
    with signals_held_back():
        return pool.submit(_timed, request, end, number, of)


_stop: Event | None = None
_counts: Counts | None = None
"""In a process of `_processes`: set where it is asked to stop, and what all of them count in."""


def _begin(parent: int, let_through: Callable[[], None], stop: Event, counts: Counts) -> None:
    global _stop, _counts
    _stop, _counts = stop, counts
    # A terminal gives Ctrl-C to all processes: the first one has the say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    let_through()
    die_with_parent(parent)


def _kept(request: Request, path: Path, end: float | None, progress: Progress) -> Result:
    """Explore the parts that a store lacks, and keep each when it is finished."""
    store = Store(path, request.plan, resume=request.resume)
    try:
        place, shards = request.shard
        results = store.parts()
        left = [each for each in range(place, PARTS, shards) if each not in results]
        with _processes(request.jobs) as (pool, _, counts):
            asked = {_submitted(pool, request, end, each, PARTS): each for each in left}
            for done in _finished(asked, counts, progress):
                part = asked[done]
                results[part] = done.result()
                if results[part].complete:
                    store.put(part, results[part])
    finally:
        store.close()
    return joined(request, (results[part] for part in sorted(results)))


def _timed(request: Request, end: float | None, number: int, of: int) -> Result:
    if end is not None and time.monotonic() >= end:
        # To get to know the target takes a while, too.
        return Result(f"sim:{request.target}", request.seed, complete=False)
    told = [0, 0]

    def is_over(so_far: Result) -> bool:
        if _stop is not None and _stop.is_set():
            return True
        now = [so_far.total, len(so_far.found)]
        if _counts is not None and now[0] >= told[0] + _COUNTED_AT:
            _add(_counts, told, now)
        return end is not None and time.monotonic() >= end

    return part(request, number, of, is_over)


def _add(counts: Counts, told: list[int], now: list[int]) -> None:
    """Count what is new. told: what was counted before, which becomes `now`."""
    with counts.get_lock():
        for place, (before, after) in enumerate(zip(told, now, strict=True)):
            counts[place] += after - before
    told[:] = now


def part(request: Request, number: int, of: int, is_over: Callable[[Result], bool]) -> Result:
    """Explore one part of so many, counted from 0. is_over: asked before each schedule, with what
    was found so far. Raises SetupError and TargetError."""

    def stop() -> bool:
        if request.first and explorer.result.failed:
            return True
        return is_over(explorer.result)

    explorer = Explorer(request.target, seed=request.seed, strength=request.strength, stop=stop)
    result = explorer.explore(request.faults, shard=number, of=of)
    for each in result.found.values():
        if each.problem.packet >= 0 or not each.problem.rule.startswith(AUDITED):
            each.schedule = reduced(explorer.problems_of, each)
    return result
