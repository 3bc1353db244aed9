"""Reduces a schedule to what it takes to break the same rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule, program_of
from scapy_tfo.explore.ends.steps import fewer, is_written_out
from scapy_tfo.explore.explorer import Found

Judge = Callable[[Schedule], Sequence[Problem]]
"""What a schedule shows in a world of its own."""

_SERVERS = ("echo", "mute")
_CLIENTS = ("write-end:100", "write:100")
"""Applications that are easiest to understand, the easiest first."""


def reduced(judge: Judge, found: Found) -> Schedule:
    """The schedule of a finding without what its rule does not need: faults, wrong segment, deeds,
    context, applications that do something special. It is as it was where it takes others before,
    or is a program.
    """
    schedule = found.schedule
    if found.before or program_of(schedule) is not None:
        return schedule
    rule = found.problem.rule
    smaller = True
    while smaller:
        smaller = False
        for each in simpler(schedule):
            if any(problem.rule == rule for problem in judge(each)):
                schedule, smaller = each, True
                break
    return schedule


def simpler(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules with one thing less."""
    if schedule.wrong is not None:
        yield replace(schedule, wrong=None)
    for at in range(len(schedule.faults)):
        rest = schedule.faults[:at] + schedule.faults[at + 1 :]
        yield replace(schedule, faults=rest)
    for at in range(len(schedule.deeds)):
        yield replace(schedule, deeds=schedule.deeds[:at] + schedule.deeds[at + 1 :])
    for at in range(len(schedule.context)):
        yield replace(schedule, context=schedule.context[:at] + schedule.context[at + 1 :])
    for each in _easier(_SERVERS, schedule.server):
        yield replace(schedule, server=each)
    for each in _easier(_CLIENTS, schedule.client):
        yield replace(schedule, client=each)
    if is_written_out(schedule.server):
        for each in fewer(schedule.server):
            yield replace(schedule, server=each)
    if is_written_out(schedule.client):
        for each in fewer(schedule.client):
            yield replace(schedule, client=each)


def _easier(simple: tuple[str, ...], own: str) -> tuple[str, ...]:
    return simple[: simple.index(own)] if own in simple else simple
