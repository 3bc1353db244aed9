"""Reads and writes times with their units, the same way wherever a user gives one; and counts."""

from __future__ import annotations

import re

_TIME = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(us|ms|s|m|h|d|)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

TIMES = "250ms, 4s, 1.5m, 2h; a number alone is in seconds"
"""How a time is written, for messages."""


def seconds_of(text: str) -> float:
    """`250ms`, `4s`, `1.5m`, `2h` or `1d` in seconds; a number alone is in seconds.

    Raises ValueError for anything else.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no time: write {TIMES}")
    return float(found[1]) * _UNITS[found[2]]


def shown(seconds: float) -> str:
    """A time as `seconds_of` reads it, in the largest unit that leaves no fraction, else in
    seconds: `90s`, `2h`, `250ms`, `1.5s`."""
    for unit in ("d", "h", "m", "s"):
        whole = seconds / _UNITS[unit]
        if whole >= (2 if unit == "m" else 1) and whole == int(whole):
            return f"{int(whole)}{unit}"
    if 0 < seconds < 1:
        return f"{seconds * 1e3:g}ms"
    return f"{seconds:g}s"


def plural(count: int, noun: str) -> str:
    """`1 packet`, `1,234 packets`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
