"""Schedules in which one thing alone is done: a legal deed, a fault, or a wrong segment.

Deeds and faults are the rows of covering arrays, in which each meets each application of either
end. They are few, and what they show is not hidden by anything else.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from scapy_tfo.covering import covering
from scapy_tfo.explore.conversation.deeds import KINDS as DEEDS
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import FAULTS, PIECES, Deed, Fault, Schedule, Wrong
from scapy_tfo.explore.conversation.wrong import KINDS as WRONG
from scapy_tfo.explore.ends.opening import GOOD, PLAIN, USUAL
from scapy_tfo.explore.stages.crossed import PACKETS
from scapy_tfo.explore.stages.deeds import TALKERS
from scapy_tfo.explore.stages.plan import SERVERS

_PLACES = (1, 3, 6, 9)
"""Packets before a deed."""
ARRAYS = 2
"""Covering arrays for deeds, and as many for faults."""
_ECHO = "echo"
_ANSWERING = (_ECHO, "think:20", "send-close:100", "half-close:100")
_WRITERS = ("two-writes:100", "write-end:100", "write-close:100")
"""Applications of the target and of the client with which a wrong segment's effect is seen."""
OF_DEEDS: tuple[Sequence[Any], ...] = (USUAL, SERVERS, TALKERS, tuple(DEEDS), _PLACES)
"""The levels of an opening, of an application of each end, of a deed, and of its place."""
OF_FAULTS: tuple[Sequence[Any], ...] = (USUAL, SERVERS, TALKERS, (*FAULTS, *PIECES), PACKETS)
"""The same with a fault and its packet."""


@functools.cache
def with_a_deed() -> tuple[Schedule, ...]:
    """Each deed with each application of either end, each opening, and at each place."""
    rows = _rows(OF_DEEDS)
    return tuple(
        Schedule(opening, server, client, deeds=(Deed(kind, place),))
        for opening, server, client, kind, place in rows
    )


@functools.cache
def with_a_fault() -> tuple[Schedule, ...]:
    """The same with a fault, and packets of both directions."""
    rows = _rows(OF_FAULTS)
    return tuple(
        Schedule(opening, server, client, faults=(Fault(packet[0], packet[1], kind),))
        for opening, server, client, kind, packet in rows
    )


def _rows(levels: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    for seed in range(ARRAYS):
        for row in covering([len(each) for each in levels], 2, seed):
            yield [each[level] for each, level in zip(levels, row, strict=True)]


def with_a_wrong_segment_in_each_state(runs: Iterable[Run]) -> Iterator[Schedule]:
    """Each kind in each state of a connection, where an application answers at once, and where one
    does not. runs: of conversations in which nothing is odd."""
    done: set[tuple[str, str, bool]] = set()
    for run in runs:
        schedule = run.schedule
        fit = schedule.server in _ANSWERING and schedule.client in _WRITERS
        if not fit or schedule.opening not in (PLAIN, GOOD):
            continue
        states = [state for state, _ in run.met]
        for after, kind in itertools.product(range(run.passed + 1), WRONG):
            state = states[min(after, len(states) - 1)] if states else ""
            cell = kind, state, schedule.server == _ECHO
            if cell not in done:
                done.add(cell)
                yield replace(schedule, wrong=Wrong(kind, after))
