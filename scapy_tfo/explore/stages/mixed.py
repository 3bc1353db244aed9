"""Schedules that chance mixes: for faults that take three things or more."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from scapy_tfo.explore.conversation import wrong
from scapy_tfo.explore.conversation.deeds import KINDS
from scapy_tfo.explore.conversation.schedule import (
    FAULTS,
    OUTAGE,
    PIECES,
    Deed,
    Fault,
    Schedule,
    Wrong,
)
from scapy_tfo.explore.ends import steps
from scapy_tfo.explore.ends.context import FACTORS
from scapy_tfo.explore.ends.opening import ODD, USUAL
from scapy_tfo.explore.stages.deeds import PLACES, TALKERS, Length, deed_at
from scapy_tfo.explore.stages.plan import BATCH, CLIENTS, SERVERS
from scapy_tfo.explore.stages.rows import Row

BATCHES = 2000
"""More than that are never made, so that a plan has an end."""
_WRITTEN_OUT = 14
"""Applications of the target that chance makes, as many as there are others."""
_ODD_FACTORS = 2
"""Of a context, in the mean, beside one."""
_COUNTS = (*((0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)), (0, 4), (3, 0))
"""Of deeds and of faults."""
_DEEDS = tuple(KINDS)
_FATES = (*FAULTS, *PIECES, OUTAGE)
_WRONG = tuple(wrong.KINDS)
_USUAL_CONTEXT, _IS_ODD, _IS_WRITTEN_OUT, _GOES_WRONG = 0.25, 0.1, 0.4, 0.3
"""The parts of mixtures without anything odd in the context, with an odd opening, with a client
that is written out, and with a wrong segment."""


def mixed(
    dice: random.Random, length_of: Callable[[Schedule], Length], *, shard: int = 0, of: int = 1
) -> Iterator[list[Schedule]]:
    """Batches, each with one application of the target. A schedule has up to three deeds, up to
    four faults or outages, a wrong segment or none, any of them anywhere, and a context; where its
    conversation has not the text that a deed takes, it has one less. shard, of: this part of so
    many."""
    length_once = functools.cache(length_of)
    servers = [*SERVERS, *(steps.drawn(dice, ends=False) for _ in range(_WRITTEN_OUT))]
    seeds = [dice.random() for _ in range(BATCHES)]
    for number in range(shard, BATCHES, of):
        mine = random.Random(seeds[number])
        server = servers[number % len(servers)]
        yield [_one(mine, server, length_once) for _ in range(BATCH)]


def how_many() -> int:
    """Schedules at most."""
    return BATCHES * BATCH


def _one(dice: random.Random, server: str, length_of: Callable[[Schedule], Length]) -> Schedule:
    opening = dice.choice(ODD if dice.random() < _IS_ODD else USUAL)
    # The length of what is written out is not worth a conversation of its own.
    like = Schedule(opening, server, dice.choice((*TALKERS, *CLIENTS)))
    length = length_of(like)
    client = steps.drawn(dice, ends=True) if dice.random() < _IS_WRITTEN_OUT else like.client
    deeds, faults = dice.choice(_COUNTS)
    places = {(dice.random() < 0.5, dice.randrange(1 + length[0] // 2)) for _ in range(faults)}
    goes_wrong = dice.random() < _GOES_WRONG
    made = replace(
        like,
        client=client,
        faults=tuple(sorted(Fault(*each, dice.choice(_FATES)) for each in sorted(places))),
        deeds=_deeds(dice, deeds, length),
        wrong=Wrong(dice.choice(_WRONG), dice.randrange(length[0] + 1)) if goes_wrong else None,
    )
    is_usual = dice.random() < _USUAL_CONTEXT and made.size[0] > 1
    return made if is_usual else replace(made, context=_context(dice))


def _deeds(dice: random.Random, count: int, length: Length) -> tuple[Deed, ...]:
    placed = [
        deed_at(kind, dice.randrange(PLACES + 1), length) for kind in dice.sample(_DEEDS, count)
    ]
    return tuple(sorted(filter(None, placed), key=lambda each: each.after))


def _context(dice: random.Random) -> Row:
    """At least one thing is odd in it."""
    first = dice.choice(tuple(FACTORS))
    chance = _ODD_FACTORS / len(FACTORS)
    return tuple(
        (name, dice.choice(tuple(levels)[1:]))
        for name, levels in FACTORS.items()
        if name == first or dice.random() < chance
    )
