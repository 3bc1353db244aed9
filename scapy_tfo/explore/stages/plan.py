"""Which schedules there are, within the bounds of a plan, and their order."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from scapy_tfo.explore.conversation.schedule import (
    FAULTS,
    GONE,
    OUTAGE,
    PIECES,
    Fault,
    Schedule,
    Wrong,
    program_of,
)
from scapy_tfo.explore.conversation.wrong import KINDS
from scapy_tfo.explore.ends.opening import ODD, USUAL
from scapy_tfo.explore.ends.steps import is_written_out
from scapy_tfo.explore.stages.alone import alone
from scapy_tfo.explore.stages.rows import Row

SERVERS = (
    *("echo", "think:20", "think:300", "late-close:50", "slow-reader:100", "send:3000"),
    *("late-accept:20", "late-accept:2000"),
    *("send-close:100", "two-sends:50", "half-close:100", "abort", "mute", "never-reads"),
)
CLIENTS = (
    *("write:100", "two-writes:100", "write-end:100", "write-close:100", "write-abort:100"),
    *("late-reader:100", "write:4000", "write-rest:100", "write-later:100"),
)
CELLS, ALONE, FAULT, WRONG, CONTEXT, FAULTS_TWO, FAULTS_THREE = (
    *("cells", "one odd thing", "one fault", "one wrong segment", "contexts", "two faults"),
    "three faults",
)
DEEDS, CROSSED = "legal deeds", "deeds, faults, contexts"
VANISHED, SILENCED, MIXED = "client gone", "outages", "mixtures"
PROGRAMS = "the fuzzer's programs"
BATCH = 48
"""Schedules with one application of the target that are played in one world."""

Batch = Iterable[Schedule]
"""They are made while they are played: there are hundreds of thousands."""

_MOST_FAULTS = 3

_FULL, FILLS = ("plain", "good"), "write-end:80000"
_SENDS_MUCH = "send:300000"
"""More than 64 KiB under way, in a window that is scaled."""
_RESTING = ("slow-reader:100", "half-close-rest:2000", "never-reads")
"""What fills the windows of applications that do not read at once."""


def is_long(schedule: Schedule) -> bool:
    """Whether it has too many packets for each of them to meet a fault."""
    return schedule.client == FILLS or schedule.server == _SENDS_MUCH


def cells() -> list[Schedule]:
    """Every opening with every application at both ends, and nothing else."""
    usual = [
        Schedule(opening, server, client)
        for opening in USUAL
        for server in SERVERS
        for client in CLIENTS
    ]
    full = [
        Schedule(opening, server, FILLS, (("window", "unscaled"),))
        for opening in _FULL
        for server in _RESTING
    ]
    full += [Schedule(opening, _SENDS_MUCH, "write-end:100") for opening in _FULL]
    odd = [Schedule(opening, server) for opening in ODD for server in ("echo", "mute")]
    return [*usual, *full, *odd]


def batches(schedules: Iterable[Schedule], dice: random.Random) -> list[list[Schedule]]:
    """In an order that chance decides, a few dozen with one application at a time."""
    by_server: dict[str, list[Schedule]] = {}
    for each in schedules:
        by_server.setdefault(each.server, []).append(each)
    out = []
    for some in by_server.values():
        dice.shuffle(some)
        out += [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
    dice.shuffle(out)
    return out


def with_one_more(schedule: Schedule, order: Sequence[bool]) -> Iterator[Schedule]:
    """A schedule, and each fault at each of its packets behind those that had one.

    order: of its packets, which went to the target.
    """
    taken = schedule.faults[-1] if schedule.faults else None
    at = [0, 0]
    open_now = taken is None
    for to_target in order:
        index = at[to_target]
        at[to_target] = index + 1
        if open_now:
            for kind in FAULTS:
                fault = Fault(to_target, index, kind)
                yield replace(schedule, faults=(*schedule.faults, fault))
        elif taken is not None and (to_target, index) == (taken.to_target, taken.index):
            open_now = True


def with_the_client_gone(schedule: Schedule, order: Sequence[bool]) -> Iterator[Schedule]:
    """From each packet but the first one on. order: of its packets, which went to the target."""
    for index in range(1, sum(order)):
        yield replace(schedule, faults=(Fault(True, index, GONE),))


def with_an_outage(schedule: Schedule, order: Sequence[bool]) -> Iterator[Schedule]:
    """Of one direction, from each packet on. order: of its packets, which went to the target."""
    for to_target in (False, True):
        for index in range(order.count(to_target)):
            yield replace(schedule, faults=(Fault(to_target, index, OUTAGE),))


def with_a_wrong_segment(schedule: Schedule, after: int) -> Iterator[Schedule]:
    """A schedule, and each wrong segment at one place. after: packets at the target before."""
    for kind in KINDS:
        yield replace(schedule, wrong=Wrong(kind, after))


def in_contexts(schedule: Schedule, contexts: Iterable[Row]) -> Iterator[Schedule]:
    """A schedule in each of these contexts."""
    for row in contexts:
        yield replace(schedule, context=row)


First = tuple[Schedule, tuple[bool, ...]]
"""A schedule with one fault, and its packets, see `with_one_more`."""


def interleaved(many: Sequence[Iterable[Batch]], firsts: list[First]) -> Iterator[Batch]:
    """Batches of several stages in turn, so that none waits for the others. A stage that is there
    several times has as many turns.

    firsts: what a second fault is added to, in turn with the others, the latest first. Whoever
    plays the batches adds to them.
    """
    for some in zip_longest(*many):
        for each in some:
            if each is not None:
                yield each
        if firsts:
            yield with_one_more(*firsts.pop())
    while firsts:
        yield with_one_more(*firsts.pop())


def stage_of(schedule: Schedule) -> str:
    """What it is played for, by what it has."""
    deeds, faults = len(schedule.deeds), len(schedule.faults)
    if program_of(schedule) is not None:
        return PROGRAMS
    if _is_mixed(schedule):
        is_crossed = deeds == faults == 1 and schedule.wrong is None
        return CROSSED if is_crossed else MIXED
    if deeds:
        return DEEDS
    if any(each.kind == GONE for each in schedule.faults):
        return VANISHED
    if any(each.kind == OUTAGE for each in schedule.faults):
        return SILENCED
    if schedule.faults:
        return (FAULT, FAULTS_TWO, FAULTS_THREE)[len(schedule.faults) - 1]
    if schedule.wrong is not None:
        return WRONG
    if schedule in _alone():
        return ALONE
    return CONTEXT if schedule.context else CELLS


def _is_mixed(schedule: Schedule) -> bool:
    """Whether it has things of several kinds, or of a kind that only mixtures have."""
    kinds = (schedule.context, schedule.deeds, schedule.faults, schedule.wrong)
    return (
        sum(map(bool, kinds)) > 1
        or len(schedule.deeds) > 2
        or len(schedule.faults) > _MOST_FAULTS
        or any(each.kind in PIECES for each in schedule.faults)
        or is_written_out(schedule.client)
        or is_written_out(schedule.server)
    )


@functools.cache
def _alone() -> frozenset[Schedule]:
    return frozenset(alone())
