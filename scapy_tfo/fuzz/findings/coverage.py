"""What a campaign has covered: the first program for each name, and how their number grew."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from scapy_tfo.executor.coverage import EDGE, PAIR
from scapy_tfo.executor.target_coverage import TARGET

MOST_POINTS = 400
"""Of the curve; when there are more, every second one goes."""


@dataclass(frozen=True, slots=True)
class Covered:
    """How many names of each sort. states: pairs of state and reply; edges, pairs: see
    `executor.coverage`; target: see `executor.target_coverage`."""

    states: int
    edges: int
    pairs: int
    target: int = 0

    @property
    def all(self) -> int:
        """Of all sorts."""
        return self.states + self.edges + self.pairs + self.target


def sorted_out(names: frozenset[str]) -> Covered:
    """Names by their sort."""
    target = sum(each.startswith(TARGET) for each in names)
    edges = sum(EDGE in each for each in names)
    pairs = sum(PAIR in each and EDGE not in each for each in names)
    return Covered(len(names) - edges - pairs - target, edges, pairs, target)


class Curve:
    """first: number of the first program for each name, of this campaign alone. base: names that
    its corpus had reached before. seconds, programs: sent so far.

    points: seconds, programs and names, wherever names were added.
    """

    def __init__(
        self,
        first: dict[str, int],
        base: frozenset[str],
        points: list[tuple[float, int, int]],
        sent: tuple[float, int],
    ) -> None:
        self.first = first
        self.points = points
        self.seconds, self.programs = sent
        self._names = {*first, *base}

    def new(self, first: Mapping[str, int]) -> dict[str, int]:
        """Those that nothing has reached yet, or only later programs."""
        known = self.first
        return {name: at for name, at in first.items() if at < known.get(name, at + 1)}

    def add(self, new: Mapping[str, int], programs: int, seconds: float) -> None:
        """Count what was kept."""
        self.first.update(new)
        self.programs += programs
        self.seconds += seconds
        before = len(self._names)
        self._names.update(new)
        if len(self._names) > before or not self.points:
            self.points.append((round(self.seconds, 3), self.programs, len(self._names)))
        if len(self.points) > MOST_POINTS:
            self.points = [*self.points[:-1:2], self.points[-1]]

    @property
    def quiet(self) -> float:
        """Seconds of sending since something new was reached."""
        return max(0.0, self.seconds - (self.points[-1][0] if self.points else 0.0))


def write_points(database: sqlite3.Connection, curve: Curve) -> None:
    """Keep the points of a curve."""
    text = json.dumps([list(each) for each in curve.points])
    database.execute("INSERT OR REPLACE INTO meta VALUES ('curve', ?)", (text,))


def read_points(database: sqlite3.Connection) -> list[tuple[float, int, int]]:
    """Those that were kept."""
    row = database.execute("SELECT value FROM meta WHERE name = 'curve'").fetchone()
    found = json.loads(row["value"]) if row else []
    return [(float(seconds), int(programs), int(names)) for seconds, programs, names in found]
