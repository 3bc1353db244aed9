"""The contexts that schedules meet: the rows of a covering array."""

from __future__ import annotations

import functools

from scapy_tfo.covering import covering
from scapy_tfo.explore.ends.context import FACTORS

STRENGTH = 2
Row = tuple[tuple[str, str], ...]
"""What differs from the usual: a factor, and its level."""


@functools.cache
def rows(strength: int = STRENGTH, seed: int = 0, without: tuple[str, ...] = ()) -> tuple[Row, ...]:
    """Contexts in which any levels of any `strength` factors are together, without the usual one.
    without: factors that stay as usual.

    Raises ValueError for a strength that is below 1, or above the number of factors.
    """
    factors = [each for each in FACTORS if each not in without]
    levels = [tuple(FACTORS[each]) for each in factors]
    made = []
    for row in covering([len(each) for each in levels], strength, seed):
        named = zip(factors, levels, row, strict=True)
        made.append(tuple((name, values[level]) for name, values, level in named if level))
    return tuple(filter(None, made))
