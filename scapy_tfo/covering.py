"""Covering arrays: few rows, in which each combination of so many values occurs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

Row = tuple[int, ...]
"""The number of a level for each factor, counted from 0."""

Combination = tuple[tuple[int, int], ...]
"""Factors, ascending, each with one of its levels."""


def combinations(row: Row, strength: int) -> Iterator[Combination]:
    """What a row covers."""
    return itertools.combinations(enumerate(row), strength)


def wanted(levels: Sequence[int], strength: int) -> Iterator[Combination]:
    """Every combination that an array has to cover. levels: how many each factor has."""
    for factors in itertools.combinations(range(len(levels)), strength):
        for values in itertools.product(*(range(levels[each]) for each in factors)):
            yield tuple(zip(factors, values, strict=True))


def left_out(rows: Iterable[Row], levels: Sequence[int], strength: int) -> set[Combination]:
    """What no row covers."""
    left = set(wanted(levels, strength))
    for row in rows:
        left.difference_update(combinations(row, strength))
    return left


def covering(levels: Sequence[int], strength: int, seed: int = 0) -> list[Row]:
    """Rows that cover every combination of `strength` levels; the first has level 0 of each.

    The same seed gives the same rows. Raises ValueError for a strength that is below 1, or above
    the number of factors, and for a factor without levels.
    """
    if not 1 <= strength <= len(levels) or not all(levels):
        raise ValueError(f"{len(levels)} factors have no combinations of {strength}")
    # Runs without contexts have no use for it.
    from covertable import make

    made = make([list(range(each)) for each in levels], strength=strength, salt=str(seed))
    first = tuple(made[0])
    return [_swapped(row, first) for row in made]


def _swapped(row: Sequence[int], first: Row) -> Row:
    """The row of an array in which level 0 and the level of the first row change places, factor by
    factor, which leaves it as complete as it was."""
    return tuple(
        0 if level == head else head if level == 0 else level
        for level, head in zip(row, first, strict=True)
    )
