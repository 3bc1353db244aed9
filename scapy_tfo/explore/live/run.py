"""Runs an exploration of a target on the wire, from its opening to its findings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.explore.audits import AUDITED
from scapy_tfo.explore.conversation.run import Problem, Run
from scapy_tfo.explore.conversation.schedule import Schedule, program_of
from scapy_tfo.explore.explorer import Result
from scapy_tfo.explore.live.explorer import LiveExplorer, LiveResult
from scapy_tfo.explore.live.opened import open_site
from scapy_tfo.explore.progress import Progress
from scapy_tfo.explore.reduce import reduced
from scapy_tfo.explore.stages.rows import STRENGTH
from scapy_tfo.targets.reached import Reach


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """What is to be explored. seconds: for the schedules, None for as long as the plan takes; what
    went wrong is played again after that. rate: packets a second at most, None for the target's.
    first: stop at the first finding. strength: of the covering array of contexts. shard: which one
    of how many this is, counted from 0."""

    reach: Reach
    seed: int = 0
    faults: int = 2
    seconds: float | None = None
    rate: float | None = None
    first: bool = False
    strength: int = STRENGTH
    shard: tuple[int, int] = (0, 1)


def explored_live(
    request: LiveRequest,
    is_over: Callable[[Result], bool] = lambda _: False,
    tell: Callable[[str], None] = lambda _: None,
) -> LiveResult:
    """Explore. is_over: asked before each schedule, with what was found so far. tell: called with
    a line on how far it is, and on what comes behind the schedules. Where the target is gone, the
    result tells why. Raises SetupError and TargetError, as `open_site`, and where it was gone at
    once."""
    site = open_site(request.reach)
    try:
        end: float | None = None
        progress: Progress | None = None

        def stop() -> bool:
            nonlocal end, progress
            so_far = explorer.result
            if progress is None:
                # What the listeners do at first is asked before, and takes as long as a short run.
                began = time.monotonic()
                end = None if request.seconds is None else began + request.seconds
                progress = Progress(tell, began, end)
            progress.at(time.monotonic(), so_far.total, len(so_far.found))
            if request.first and explorer.result.failed:
                return True
            if is_over(explorer.result):
                return True
            return end is not None and time.monotonic() >= end

        explorer = LiveExplorer(
            site,
            seed=request.seed,
            strength=request.strength,
            rate=request.rate,
            stop=stop,
            tell=tell,
        )
        number, of = request.shard
        try:
            result = explorer.explore(request.faults, shard=number, of=of)
        except TargetError as error:
            if not explorer.result.total:
                raise
            return explorer.give_up(str(error))
        judge = explorer.judge_for()
        if result.found:
            tell("findings are made smaller, for a minute at most")
        for each in result.found.values():
            if each.problem.rule.startswith(AUDITED):
                continue
            smaller = reduced(judge, each)
            if smaller != each.schedule:
                each.schedule = smaller
                explorer.show(each)
        return result
    finally:
        site.close()


def replayed_live(reach: Reach, schedule: Schedule, seed: int) -> tuple[Run, list[Problem]]:
    """Play a schedule at a target, with its packets. Raises SetupError and TargetError."""
    if program_of(schedule) is not None:
        raise SetupError(f"{schedule}: on the wire such programs are played by 'scapy-tfo fuzz'")
    site = open_site(reach)
    try:
        return LiveExplorer(site, seed=seed).replay(schedule)
    finally:
        site.close()


def live_plan(reach: Reach, faults: int, strength: int = STRENGTH) -> dict[str, int]:
    """Schedules by stage, without those that the target cannot show."""
    site = open_site(reach)
    try:
        return LiveExplorer(site, strength=strength).plan(faults)
    finally:
        site.close()
