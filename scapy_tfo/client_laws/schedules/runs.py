"""Explorations of clients: of simulated ones on virtual time, and of commands in real time."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scapy_tfo.client_laws.schedules.explorer import Explorer, Judge
from scapy_tfo.client_laws.schedules.plan import cells
from scapy_tfo.client_laws.schedules.schedule import Schedule
from scapy_tfo.clients.application import Client
from scapy_tfo.clients.judge import Options, judge
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Run


@dataclass(frozen=True, slots=True)
class Bounds:
    """seconds: of real time, until no more schedules begin. times: schedules at most, None for any
    number. seed: of their order. schedule: that one alone, None for all."""

    seconds: float = 60.0
    times: int | None = None
    seed: int = 0
    schedule: Schedule | None = None


def explore_simulated(
    name: str, catalogue: Catalogue, options: Options, bounds: Bounds | None = None
) -> Run:
    """Explore `sim:NAME`. Raises SetupError where there is no such client."""
    bounds = bounds or Bounds()

    async def played(cases: Sequence[Case], capture: bool) -> Run:
        return simulate(name, cases, catalogue, replace(_quiet(options), capture=capture))

    return _finished(_explored(played, bounds, cells(), certain=True))


async def explore_client(
    client: Client, catalogue: Catalogue, options: Options, bounds: Bounds | None = None
) -> Run:
    """Explore a client that runs somewhere. Raises TargetError where it cannot be judged."""
    bounds = bounds or Bounds()

    async def played(cases: Sequence[Case], capture: bool) -> Run:
        return await judge(client, cases, catalogue, replace(_quiet(options), capture=capture))

    dialogue = client.dialogue
    some = cells(chosen=dialogue.chosen, raw=not dialogue.answer(b""))
    return await _explored(played, bounds, some, certain=False)


async def _explored(
    played: Judge, bounds: Bounds, some: Sequence[Schedule], *, certain: bool
) -> Run:
    began, started = time.monotonic(), time.time()
    explorer = Explorer(
        played,
        seed=bounds.seed,
        stop=lambda: time.monotonic() - began > bounds.seconds,
        times=bounds.times,
        certain=certain,
    )
    if bounds.schedule is not None:
        return await explorer.replay(bounds.schedule)
    run = await explorer.explore(some)
    return replace(run, started=started, seconds=time.monotonic() - began)


def _quiet(options: Options) -> Options:
    """What is judged in pieces tells nothing of its progress."""
    plain = Options()
    return replace(
        options,
        on_plan=plain.on_plan,
        on_result=plain.on_result,
        record=None,
        require_fast_open=False,
    )


def _finished(work: Coroutine[Any, Any, Run]) -> Run:
    """What comes of work that waits for nothing: a simulation has loops of its own, which no other
    loop may run around."""
    try:
        work.send(None)
    except StopIteration as done:
        run: Run = done.value
        return run
    raise RuntimeError("a simulation waits for something")
