"""Observes what else goes on at the machine while something is measured."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_STAT = Path("/proc/stat")
_STEAL = 7
"""Of the fields of /proc/stat's first line (proc_stat(5)); guests' times, behind it, are in others
already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """seconds: of the measurement. load_before, load_after: averages of one minute (proc_loadavg
    (5)). steal: part of the time that this machine's host gave to others, 0 to 1, of all cores;
    None where /proc/stat does not tell. switches: how often a second processes of the measurement
    had to leave a core that they wanted."""

    seconds: float
    load_before: float
    load_after: float
    steal: float | None
    switches: float

    @property
    def tells(self) -> str:
        """In words."""
        stolen = "unknown" if self.steal is None else f"{self.steal:.1%}"
        return (
            f"Meanwhile: load {self.load_before:.1f} to {self.load_after:.1f}, "
            f"steal time {stolen}, {self.switches:.1f} involuntary switches a second"
        )


class _Now(NamedTuple):
    at: float
    load: float
    stolen: int | None
    ticks: int
    switches: int


class Observer:
    """Observes from when it is made. Only children that have ended and been waited for are counted
    in `switches`, with their own."""

    def __init__(self) -> None:
        self._began = _now()

    def seen(self) -> Surroundings:
        """So far."""
        began, ended = self._began, _now()
        seconds = ended.at - began.at
        steal = None
        if began.stolen is not None and ended.stolen is not None:
            steal = (ended.stolen - began.stolen) / max(1, ended.ticks - began.ticks)
        return Surroundings(
            seconds=seconds,
            load_before=began.load,
            load_after=ended.load,
            steal=steal,
            switches=(ended.switches - began.switches) / seconds if seconds else 0.0,
        )


def _now() -> _Now:
    try:
        fields = [int(each) for each in _STAT.read_text().splitlines()[0].split()[1:]]
    except (OSError, IndexError, ValueError):
        fields = []
    return _Now(
        at=time.monotonic(),
        load=os.getloadavg()[0],
        stolen=fields[_STEAL] if len(fields) > _STEAL else None,
        ticks=sum(fields[: _STEAL + 1]),
        switches=resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw,
    )
