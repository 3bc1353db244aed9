"""Schedules with three faults: too many for all of them, and so the rows of a covering array."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.covering import covering
from scapy_tfo.explore.conversation.schedule import FAULTS, Fault, Schedule
from scapy_tfo.explore.ends.opening import USUAL
from scapy_tfo.explore.plan import CLIENTS, SERVERS

STRENGTH = 3
PLACES = tuple((to_target, index) for index in range(5) for to_target in (True, False))
"""Packets that a fault may befall: the first five of each direction."""

_LEVELS: tuple[Sequence[object], ...] = (
    *(USUAL, SERVERS, CLIENTS),
    *(PLACES, FAULTS, PLACES, FAULTS, PLACES, FAULTS),
)


def with_three_faults(strength: int = STRENGTH, seed: int = 0) -> list[Schedule]:
    """Schedules in which any `strength` of these meet: an opening, an application of each end, and
    of each fault its place and its kind. Where two places are the same, the later fault counts."""
    made = []
    for row in covering([len(each) for each in _LEVELS], strength, seed):
        faults = {
            PLACES[place]: FAULTS[kind] for place, kind in zip(row[3::2], row[4::2], strict=True)
        }
        made.append(
            Schedule(
                *(USUAL[row[0]], SERVERS[row[1]], CLIENTS[row[2]]),
                faults=tuple(sorted(Fault(*place, kind) for place, kind in faults.items())),
            )
        )
    return list(dict.fromkeys(made))
