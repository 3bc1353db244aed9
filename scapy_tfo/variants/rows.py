"""The rows of the covering array: stacks that use many freedoms at once."""

from __future__ import annotations

import functools

from scapy_tfo.variants.array import LEVELS, ROWS
from scapy_tfo.variants.registry import Variant, all_variants, joined


@functools.cache
def all_rows() -> tuple[Variant, ...]:
    """Every row as a variant, `variants-row-1` first."""
    return tuple(
        joined(f"variants-row-{number}", members(number)) for number in range(1, len(ROWS) + 1)
    )


def members(number: int) -> tuple[Variant, ...]:
    """The variants that a row joins. number: of the row, from 1."""
    known = {each.name: each for each in all_variants()}
    chosen = zip(LEVELS.values(), ROWS[number - 1], strict=True)
    return tuple(known[names[int(digit) - 1]] for names, digit in chosen if digit != "0")
