"""Schedules with two legal deeds: each two of them, with all applications, at many places."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from scapy_tfo.covering import covering
from scapy_tfo.explore.conversation.deeds import KINDS
from scapy_tfo.explore.conversation.schedule import Deed, Schedule
from scapy_tfo.explore.ends.opening import USUAL
from scapy_tfo.explore.stages.plan import BATCH, SERVERS

STRENGTH = 2
PLACES = 6
"""Into how many parts a conversation is divided."""
PAIRS = tuple(itertools.combinations(KINDS, 2))
TALKERS = (
    *("several:60", "several-rest:60", "two-writes:100", "write-later:100", "write:4000"),
    *("write-end:100", "write-close:100", "late-reader:100"),
)
"""Applications of the client: most write when they are connected, so that deeds have text."""

Length = tuple[int, int]
"""Packets that a target got and sent in a conversation, and before the client's last text left."""
Scene = tuple[Schedule, int, int]
"""A conversation, and the place of each of two deeds."""

LEVELS: tuple[Sequence[object], ...] = (
    *(USUAL, SERVERS, TALKERS, range(PLACES + 1), range(PLACES + 1)),
)
"""What a scene is made of."""
_PARTS = -(-len(PAIRS) // BATCH)


def scenes(strength: int = STRENGTH) -> list[Scene]:
    """Conversations in which any `strength` of these meet: an opening, an application of each end,
    and the place of each of two deeds."""
    made = covering([len(each) for each in LEVELS], strength, 0)
    return [
        (Schedule(USUAL[opening], SERVERS[server], TALKERS[client]), one, two)
        for opening, server, client, one, two in made
    ]


def with_deeds(
    dice: random.Random, length_of: Callable[[Schedule], Length], *, shard: int = 0, of: int = 1
) -> Iterator[list[Schedule]]:
    """Each pair in each scene, in batches whose order chance decides. shard, of: this part of so
    many."""
    parts = [(number, at) for number in range(len(scenes_once())) for at in range(_PARTS)]
    dice.shuffle(parts)
    lengths: dict[Schedule, Length] = {}
    for number, at in parts[shard::of]:
        scene = scenes_once()[number]
        base = scene[0]
        if base not in lengths:
            lengths[base] = length_of(base)
        pairs = PAIRS[at::_PARTS]
        made = (_with(scene, pair, lengths[base], (number + at) % 2) for pair in pairs)
        yield [each for each in made if each is not None]


@functools.cache
def scenes_once() -> tuple[Scene, ...]:
    """`scenes`, made once."""
    return tuple(scenes())


def _with(scene: Scene, pair: tuple[str, str], length: Length, turn: int) -> Schedule | None:
    """None where the conversation has no text that a deed takes. turn: which one comes first where
    both have one place."""
    base, *places = scene
    deeds = []
    for name, place in zip(pair if turn else pair[::-1], places, strict=True):
        deed = deed_at(name, place, length)
        if deed is None:
            return None
        deeds.append(deed)
    deeds.sort(key=lambda each: each.after)
    return Schedule(base.opening, base.server, base.client, deeds=tuple(deeds))


def deed_at(kind: str, place: int, length: Length) -> Deed | None:
    """A deed at a place of a conversation. None where it takes text, and there is none."""
    most = length[KINDS[kind].takes_text]
    return Deed(kind, 1 + (most - 1) * place // PLACES) if most else None


def how_many() -> int:
    """How many there are at most."""
    return len(PAIRS) * len(scenes_once())
