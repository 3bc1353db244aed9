"""Schedules in which a legal deed meets a fault and a context, or three faults meet: too many for
all of them, and so the rows of covering arrays."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from scapy_tfo.covering import covering
from scapy_tfo.explore.conversation.deeds import KINDS
from scapy_tfo.explore.conversation.schedule import FAULTS, Fault, Schedule
from scapy_tfo.explore.ends.opening import USUAL
from scapy_tfo.explore.stages.deeds import PLACES, TALKERS, Length, deed_at
from scapy_tfo.explore.stages.plan import BATCH, CLIENTS, SERVERS
from scapy_tfo.explore.stages.rows import Row

STRENGTH = 2
OF_FAULTS = 3
PACKETS = tuple((to_target, index) for index in range(5) for to_target in (True, False))
"""Those that a fault may befall: the first five of each direction."""

_THREE: tuple[Sequence[object], ...] = (
    *(USUAL, SERVERS, CLIENTS),
    *(PACKETS, FAULTS, PACKETS, FAULTS, PACKETS, FAULTS),
)
_DEEDS = tuple(KINDS)
_OPENING, _CLIENT, _KIND = 0, 2, 3
"""Where a row has these."""

Levels = tuple[int, ...]
"""A row: the number of a level for each of `levels`."""


def levels(contexts: Sequence[Row]) -> tuple[Sequence[object], ...]:
    """What is crossed: an opening, an application of each end, a deed and its place, a fault and
    its packet, a context."""
    return (
        *(USUAL, SERVERS, TALKERS, _DEEDS, range(PLACES + 1)),
        *(FAULTS, PACKETS, contexts),
    )


def crossed(
    dice: random.Random,
    length_of: Callable[[Schedule], Length],
    contexts: Sequence[Row],
    *,
    shard: int = 0,
    of: int = 1,
) -> Iterator[list[Schedule]]:
    """Schedules in which any two of `levels` meet that can, in batches whose order chance decides.
    shard, of: this part of so many."""
    rows = sorted(_rows(len(contexts)), key=lambda row: row[1])
    parts = [rows[at : at + BATCH] for at in range(0, len(rows), BATCH)]
    dice.shuffle(parts)
    length_once = functools.cache(length_of)
    for part in parts[shard::of]:
        yield [
            _made(fit, length_once, contexts) for row in part for fit in fitted(row, length_once)
        ]


def fitted(row: Levels, length_of: Callable[[Schedule], Length]) -> Iterator[Levels]:
    """Rows in which any two levels of this one meet that can.

    That is the row itself, if its conversation has the text that its deed takes. Otherwise they are
    up to three others, in which all meet, taken together: one with another deed, one with another
    application of the client, one with another opening.
    """
    if _can(row, length_of):
        yield row
        return
    for place, options in ((_KIND, _DEEDS), (_CLIENT, TALKERS), (_OPENING, USUAL)):
        others = (
            (*row[:place], (row[place] + step) % len(options), *row[place + 1 :])
            for step in range(1, len(options))
        )
        fit = next((other for other in others if _can(other, length_of)), None)
        if fit is not None:
            yield fit


def _can(row: Levels, length_of: Callable[[Schedule], Length]) -> bool:
    """Whether the conversation of a row has the text that its deed takes."""
    return deed_at(_DEEDS[row[_KIND]], 0, length_of(_conversation(row))) is not None


def _conversation(row: Levels) -> Schedule:
    opening, server, client, *_ = row
    return Schedule(USUAL[opening], SERVERS[server], TALKERS[client])


def _made(
    row: Levels, length_of: Callable[[Schedule], Length], contexts: Sequence[Row]
) -> Schedule:
    """The schedule of a row that can be played."""
    *_, kind, place, fate, packet, context = row
    base = _conversation(row)
    deed = deed_at(_DEEDS[kind], place, length_of(base))
    assert deed is not None
    fault = Fault(*PACKETS[packet], FAULTS[fate])
    return replace(base, context=contexts[context], faults=(fault,), deeds=(deed,))


def prepare(contexts: Sequence[Row]) -> None:
    """Make the array of `crossed`, which takes seconds where it was not made before."""
    _rows(len(contexts))


def how_many(contexts: Sequence[Row]) -> int:
    """How many there are, without what is played in place of a row that cannot be."""
    return len(_rows(len(contexts)))


@functools.cache
def _rows(contexts: int) -> tuple[Levels, ...]:
    sizes = [len(each) for each in levels([()] * contexts)]
    return tuple(map(tuple, covering(sizes, STRENGTH, 0)))


def with_three_faults(strength: int = OF_FAULTS, seed: int = 0) -> list[Schedule]:
    """Schedules in which any `strength` of these meet: an opening, an application of each end, and
    of each fault its place and its kind. Where two places are the same, the later fault counts."""
    made = []
    for row in covering([len(each) for each in _THREE], strength, seed):
        faults = {
            PACKETS[place]: FAULTS[kind] for place, kind in zip(row[3::2], row[4::2], strict=True)
        }
        made.append(
            Schedule(
                *(USUAL[row[0]], SERVERS[row[1]], CLIENTS[row[2]]),
                faults=tuple(sorted(Fault(*place, kind) for place, kind in faults.items())),
            )
        )
    return list(dict.fromkeys(made))
