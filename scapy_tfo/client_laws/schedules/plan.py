"""Which schedules there are, and in which order they are played."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from scapy_tfo.client_laws.schedules.context import CONTEXT
from scapy_tfo.client_laws.schedules.schedule import OPENINGS, SERVERS, TEXTS, Fault, Schedule
from scapy_tfo.covering import covering
from scapy_tfo.explore.conversation.schedule import FAULTS

Row = tuple[tuple[str, str], ...]
"""What differs from the usual: a factor, and its level."""

Order = Sequence[bool]
"""Of the packets of a schedule without faults, whether the client sent each."""

CELLS, FAULT, CONTEXTS, BOTH, TWO = (
    *("neither faults nor contexts", "one fault", "contexts", "a context and one fault"),
    "two faults",
)


def cells(*, chosen: bool = True, raw: bool = True) -> list[Schedule]:
    """Every opening with every application and text, and nothing else. chosen: the client sends the
    text that it is given; raw: it takes any answer, and speaks no protocol."""
    texts = TEXTS if chosen else (Schedule().text,)
    servers = [each for each in SERVERS if raw or each not in ("silent", "speaks-first")]
    return [Schedule(opening, at, text) for opening in OPENINGS for at in servers for text in texts]


@functools.cache
def rows() -> tuple[Row, ...]:
    """Contexts in which any two levels of two factors are together, without the usual one."""
    levels = [tuple(each) for each in CONTEXT.values()]
    made = []
    for row in covering([len(each) for each in levels], 2):
        named = zip(CONTEXT, levels, row, strict=True)
        made.append(tuple((name, values[level]) for name, values, level in named if level))
    return tuple(filter(None, made))


def with_a_fault(schedule: Schedule, order: Order) -> list[Schedule]:
    """Each fault at each packet."""
    places = [(by, sum(each == by for each in order[:at])) for at, by in enumerate(order)]
    return [
        replace(schedule, faults=(Fault(by, index, kind),))
        for by, index in places
        for kind in FAULTS
    ]


def further(orders: Mapping[Schedule, Order], dice: random.Random) -> Iterator[Schedule]:
    """What follows when each cell was played: one fault, contexts, and both or two faults in turn.
    Of the last there is no end. orders: of the cells."""
    if not orders:
        return
    some = list(orders)
    ones = [each for cell in some for each in with_a_fault(cell, orders[cell])]
    contexts = [replace(cell, context=row) for cell in some for row in rows()]
    dice.shuffle(ones)
    dice.shuffle(contexts)
    for pair in zip_longest(ones, contexts):
        yield from (each for each in pair if each is not None)
        yield _drawn(ones, dice)
    while True:
        yield _drawn(ones, dice)


def _drawn(ones: Sequence[Schedule], dice: random.Random) -> Schedule:
    first = dice.choice(ones)
    if dice.random() < 0.5:
        return replace(first, context=dice.choice(rows()))
    by, index = dice.random() < 0.5, dice.randrange(12)
    second = Fault(by, index, dice.choice(FAULTS))
    taken = first.faults[0]
    if (second.from_client, second.index) == (taken.from_client, taken.index):
        return first
    return replace(first, faults=tuple(sorted((taken, second))))


def stage_of(schedule: Schedule) -> str:
    """What it is played for."""
    if len(schedule.faults) > 1:
        return TWO
    if schedule.faults:
        return BOTH if schedule.context else FAULT
    return CONTEXTS if schedule.context else CELLS
