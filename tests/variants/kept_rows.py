"""Rows as they were when they were blamed: the array is made anew with each variant that is added.

A program or a schedule that shows why a legal stack is not to blame tells nothing at another row.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from scapy_tfo.variants.registry import AnyStack, Variant, joined, named

_ROWS: dict[str, list[str]] = json.loads((Path(__file__).parent / "kept_rows.json").read_text())
"""The variants that each joins."""


@cache
def stack_named(name: str) -> AnyStack:
    """A kept row, or any stack that the suite knows. Raises SetupError for another name."""
    if name not in _ROWS:
        return named(name)
    variants = [named(each) for each in _ROWS[name]]
    return joined(name, [each for each in variants if isinstance(each, Variant)])
