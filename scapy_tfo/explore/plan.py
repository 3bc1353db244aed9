"""Which schedules there are, within the bounds of a plan, and their order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from scapy_tfo.explore.opening import ODD, USUAL
from scapy_tfo.explore.run import Run
from scapy_tfo.explore.schedule import FAULTS, Fault, Schedule

SERVERS = (
    *("echo", "think:20", "think:300", "late-close:50", "slow-reader:100", "send:3000"),
    *("send-close:100", "two-sends:50", "half-close:100", "abort", "mute", "never-reads"),
)
CLIENTS = (
    *("write:100", "two-writes:100", "write-end:100", "write-close:100", "write-abort:100"),
    *("late-reader:100", "write:4000"),
)
STAGES = ("cells", "one fault", "two faults")


def cells() -> list[Schedule]:
    """Every opening with every application at both ends, and nothing else."""
    usual = [
        Schedule(opening, server, client)
        for opening in USUAL
        for server in SERVERS
        for client in CLIENTS
    ]
    return usual + [Schedule(opening, server) for opening in ODD for server in ("echo", "mute")]


def shuffled(some: list[Schedule], seed: int) -> list[Schedule]:
    """In an order that a seed decides."""
    out = list(some)
    random.Random(seed).shuffle(out)
    return out


def with_one_more(run: Run) -> Iterator[Schedule]:
    """A run's schedule, and each fault at each of its packets behind those that had one."""
    schedule = run.schedule
    taken = schedule.faults[-1] if schedule.faults else None
    at = [0, 0]
    open_now = taken is None
    for to_target in run.order:
        index = at[to_target]
        at[to_target] = index + 1
        if open_now:
            for kind in FAULTS:
                fault = Fault(to_target, index, kind)
                yield replace(schedule, faults=(*schedule.faults, fault))
        elif taken is not None and (to_target, index) == (taken.to_target, taken.index):
            open_now = True


def count_one_more(run: Run) -> int:
    """How many `with_one_more` yields."""
    return sum(1 for _ in with_one_more(run))
