"""Covering arrays: few rows, in which each combination of so many values occurs.

Those that every run of a command needs were made before: `scripts/build_arrays.py` writes them.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

from scapy_tfo.errors import SetupError

FILE = "covering.json"

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
    rows = stored().get(name_of(levels, strength, seed))
    return list(map(tuple, rows)) if rows is not None else made(levels, strength, seed)


def name_of(levels: Sequence[int], strength: int, seed: int) -> str:
    """The name of an array in the file."""
    return f"{' '.join(map(str, levels))}, {strength}, {seed}"


@functools.cache
def stored() -> Mapping[str, Sequence[Sequence[int]]]:
    """The rows of those that were made before. Raises SetupError where the file is damaged."""
    try:
        text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
        found: dict[str, list[list[int]]] = json.loads(text)
    except (OSError, ValueError) as error:
        raise SetupError(f"{FILE} of this installation is damaged: {error}") from None
    return found


def made(levels: Sequence[int], strength: int, seed: int) -> list[Row]:
    """The rows of an array that is computed now."""
    # Most runs have no use for it.
    from covertable import make

    rows = make([list(range(each)) for each in levels], strength=strength, salt=str(seed))
    first = tuple(rows[0])
    return [_swapped(row, first) for row in rows]


def _swapped(row: Sequence[int], first: Row) -> Row:
    """The row of an array in which level 0 and the level of the first row change places, factor by
    factor, which leaves it as complete as it was."""
    return tuple(
        0 if level == head else head if level == 0 else level
        for level, head in zip(row, first, strict=True)
    )
