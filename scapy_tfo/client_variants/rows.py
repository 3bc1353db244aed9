"""The rows of the covering array of clients: each uses many freedoms at once."""

from __future__ import annotations

import functools

from scapy_tfo.client_variants.array import LEVELS, ROWS
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.variants.registry import Variant, joined


@functools.cache
def all_client_rows() -> tuple[Variant, ...]:
    """Every row as a variant, `client-row-1` first."""
    return tuple(
        joined(f"client-row-{number}", client_members(number)) for number in range(1, len(ROWS) + 1)
    )


def client_members(number: int) -> tuple[Variant, ...]:
    """The variants that a row joins. number: of the row, from 1."""
    known = {each.name: each for each in all_client_variants()}
    chosen = zip(LEVELS.values(), ROWS[number - 1], strict=True)
    return tuple(known[names[int(digit) - 1]] for names, digit in chosen if digit != "0")
