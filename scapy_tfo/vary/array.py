"""Covering arrays: few rows, in which each combination of so many values occurs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

Row = tuple[int, ...]
"""The number of a level for each factor, counted from 0."""

Combination = tuple[tuple[int, int], ...]
"""Factors, ascending, each with one of its levels."""

_CANDIDATES = 8
"""Rows that are tried for each one that is taken."""


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

    Greedy, as AETG is: of some rows that are grown around a combination not covered yet, the one
    that covers most is taken. The same seed gives the same rows. Raises ValueError for a strength
    that is below 1, or above the number of factors.
    """
    if not 1 <= strength <= len(levels):
        raise ValueError(f"{len(levels)} factors have no combinations of {strength}")
    dice = random.Random(seed)
    # In order, so that a run can be repeated: a set's order is not the same in each process.
    left = dict.fromkeys(wanted(levels, strength))
    rows = [(0,) * len(levels)]
    _strike(left, rows[0], strength)
    while left:
        starts = list(itertools.islice(left, 4 * _CANDIDATES))
        grown = [
            _grown(dice.choice(starts), levels, strength, left, dice) for _ in range(_CANDIDATES)
        ]
        best = max(grown, key=lambda row: sum(c in left for c in combinations(row, strength)))
        rows.append(best)
        _strike(left, best, strength)
    return rows


def _strike(left: dict[Combination, None], row: Row, strength: int) -> None:
    for each in combinations(row, strength):
        left.pop(each, None)


def _grown(
    start: Combination,
    levels: Sequence[int],
    strength: int,
    left: dict[Combination, None],
    dice: random.Random,
) -> Row:
    """A row that has this combination, and as much else that is left as one choice after the other
    finds."""
    chosen = dict(start)
    others = [each for each in range(len(levels)) if each not in chosen]
    dice.shuffle(others)
    for factor in others:
        around = list(itertools.combinations(sorted(chosen), strength - 1))
        values = list(range(levels[factor]))
        dice.shuffle(values)
        chosen[factor] = max(
            values,
            key=lambda value: sum(
                tuple(sorted([*((each, chosen[each]) for each in group), (factor, value)])) in left
                for group in around
            ),
        )
    return tuple(chosen[each] for each in range(len(levels)))
