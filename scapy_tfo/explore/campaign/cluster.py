"""Explores with the workers of an existing Dask scheduler: each part of the plan is a task.

A part plays the same schedules wherever it runs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from scapy_tfo.cluster.tasks import Heard, Place, run_parts
from scapy_tfo.cluster.together import Together
from scapy_tfo.explore.campaign.jobs import Request, part
from scapy_tfo.explore.campaign.store import PARTS, Store
from scapy_tfo.explore.explorer import Result
from scapy_tfo.explore.live.explorer import LiveResult
from scapy_tfo.explore.live.run import LiveRequest, explored_live
from scapy_tfo.targets.reached import Reach

if TYPE_CHECKING:
    from distributed import Client

SIMULATED, LAB = "sim:", "lab:"


@dataclass(frozen=True, slots=True)
class SoFar:
    """How far a part is. schedules: played. seconds: that it took so far. found: findings; failed:
    whether one of them is no advice."""

    schedules: int
    seconds: float
    found: int
    failed: bool

    @property
    def rate(self) -> float:
        """Schedules a second."""
        return self.schedules / self.seconds if self.seconds else 0.0


@dataclass
class Outcome:
    """What came back so far. result: of all parts that came back. lost: why others did not, a line
    each."""

    result: Result
    lost: list[str] = field(default_factory=list)


def told(together: Together[SoFar]) -> str:
    """How far all parts are, in one line. A finding that several parts made counts for each."""
    words = together.told()
    return (
        f"{sum(each.schedules for each in words):,} schedules, "
        f"{sum(each.rate for each in together.going()):,.0f} schedules/s, "
        f"{sum(each.found for each in words)} findings; {together}"
    )


def explore_on(
    client: Client,
    target: str,
    request: Request,
    shards: int,
    outcome: Outcome,
    on_progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Explore a target of one's own in so many parts, and join what each shows with `outcome`,
    also before an exception is raised.

    target: `sim:NAME` or `lab:NAME`, which each worker opens for itself. request: its time is that
    of the whole exploration; what has not begun then is not explored. With a store there are as
    many parts as that has, and those that it holds are not explored again. on_progress: called
    with one line, in a thread of the client's. Raises KeyboardInterrupt, SetupError, TargetError.
    """
    end = None if request.seconds is None else time.monotonic() + request.seconds
    opened = None if request.store is None else _opened(request)
    with nullcontext() if opened is None else closing(opened):
        done = {} if opened is None else opened.parts()
        for each in done.values():
            outcome.result.join(each)
        numbers = [each for each in range(1, shards + 1) if each - 1 not in done]
        together: Together[SoFar] = Together(len(numbers))
        failed = False

        def came(number: int, result: Result) -> None:
            nonlocal failed
            together.end(number)
            failed = failed or result.failed
            if opened is not None and result.complete:
                opened.put(number - 1, result)
            outcome.result.join(result)
            on_progress(told(together))

        def is_lost(number: int, why: str) -> None:
            together.end(number)
            outcome.result.complete = False
            outcome.lost.append(f"part {number}/{shards}: {why}")

        def word(number: int, values: Mapping[str, Any]) -> None:
            nonlocal failed
            so_far = SoFar(**values)
            failed = failed or so_far.failed
            together.tell(number, so_far)
            on_progress(told(together))

        def is_over() -> bool:
            return (request.first and failed) or (end is not None and time.monotonic() >= end)

        work = functools.partial(_part, target, request, shards)
        run_parts(client, work, numbers, Heard(came, is_lost, word, is_over))


def empty(target: str, request: Request) -> Result:
    """What the results of parts are joined with."""
    if target.startswith(SIMULATED):
        return Result(target, request.seed)
    return LiveResult(target, request.seed)


def _opened(request: Request) -> Store:
    assert request.store is not None
    return Store(request.store, request.plan, resume=request.resume)


def parts_of(request: Request, workers: int, asked: int | None) -> int:
    """Into how many parts an exploration is divided. asked: by the user. The whole plan, and a
    store, have as many as a store has."""
    if asked is not None:
        return asked
    return PARTS if request.store is not None or request.seconds is None else workers


def _part(target: str, request: Request, shards: int, place: Place[dict[str, Any]]) -> Result:
    """What a worker does."""
    began = time.monotonic()

    def is_over(result: Result) -> bool:
        def word() -> dict[str, Any]:
            seconds = time.monotonic() - began
            return asdict(SoFar(result.total, seconds, len(result.found), result.failed))

        return place.is_over(word)

    number = place.number - 1
    if target.startswith(SIMULATED):
        return part(request, number, shards, is_over)
    asked = LiveRequest(
        Reach(target=target),
        request.seed,
        request.faults,
        None,
        None,
        request.first,
        request.strength,
        (number, shards),
    )
    return explored_live(asked, is_over)
