"""Explores with several processes at a time, each its share of the cells."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from scapy_tfo.explore.audits import AUDITED
from scapy_tfo.explore.explorer import Explorer, Result
from scapy_tfo.explore.reduce import reduced


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be explored. target: a simulated stack without `sim:`. faults: in one schedule, at
    most. seconds: that it may take, None for as long as the plan takes. first: stop at the first
    finding that is no advice."""

    target: str
    seed: int = 0
    faults: int = 2
    seconds: float | None = None
    jobs: int = 1
    first: bool = False


def processors() -> int:
    """How many processes can run at a time here."""
    return len(os.sched_getaffinity(0))


def explored(request: Request) -> Result:
    """Explore, and join what the processes found. Raises SetupError and TargetError as they do."""
    if request.jobs == 1:
        return _shard(request, 0)
    with ProcessPoolExecutor(request.jobs) as pool:
        shards = [pool.submit(_shard, request, number) for number in range(request.jobs)]
        results = [each.result() for each in shards]
    joined = results[0]
    for each in results[1:]:
        joined.join(each)
    return joined


def _shard(request: Request, number: int) -> Result:
    end = None if request.seconds is None else time.monotonic() + request.seconds

    def stop() -> bool:
        if request.first and explorer.result.failed:
            return True
        return end is not None and time.monotonic() >= end

    explorer = Explorer(request.target, seed=request.seed, stop=stop)
    result = explorer.explore(request.faults, shard=number, of=request.jobs)
    for each in result.found.values():
        if each.problem.packet >= 0 or not each.problem.rule.startswith(AUDITED):
            each.schedule = reduced(explorer.problems_of, each)
    return result
