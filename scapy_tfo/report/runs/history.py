"""What changed from run to run of the same stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from scapy_tfo.report.runs.grid import ABSENT, Cell, Column, Grid
from scapy_tfo.suite.result import Standing

_UNJUDGED = (ABSENT, Standing.INCONCLUSIVE, Standing.SKIPPED)
"""States that say nothing of a stack: what was judged before still stands."""


@dataclass(frozen=True, slots=True)
class Change:
    """A requirement with another state than in the run before that judged it."""

    requirement: str
    before: Cell
    after: Cell


def changes(grid: Grid) -> list[Change]:
    """Of all columns that have the same name, the latest first."""
    found = []
    order = _by_age(grid.columns)
    for requirement, cells in grid.rows.items():
        newest: dict[str, Cell] = {}
        for place in order:
            cell = cells[place]
            if cell.state in _UNJUDGED:
                continue
            before = newest.get(cell.column.name)
            if before is not None and before.state != cell.state:
                found.append(Change(requirement, before, cell))
            newest[cell.column.name] = cell
    return sorted(found, key=lambda each: each.after.column.date, reverse=True)


def newest_of_each(columns: Sequence[Column]) -> list[Column]:
    """Of the columns with the same name only the last run, in the order of the names."""
    last = {columns[place].name: columns[place] for place in _by_age(columns)}
    return [last[name] for name in dict.fromkeys(each.name for each in columns)]


def _by_age(columns: Sequence[Column]) -> list[int]:
    """Places of columns, the oldest first; those without a date before all others."""

    def began(place: int) -> float:
        started = columns[place].run.started
        return started if isfinite(started) else 0.0

    return sorted(range(len(columns)), key=began)
