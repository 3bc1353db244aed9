"""Bytes of requests to an echo."""

from __future__ import annotations

from collections.abc import Callable

Text = Callable[[int], bytes]
"""As many bytes as are asked for."""

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"

_LIKE_OPTIONS = bytes.fromhex("2202 0204 05b4 01 00 fe04f989 0303ff 080a")
"""A cookie request, an MSS, NOP, EOL, an experimental request, a window scale, half a timestamp."""

_PERIODS = {"letters": _LETTERS, "zeros": b"\0", "ones": b"\xff", "options": _LIKE_OPTIONS}


def filling(name: str) -> Text:
    """The text of that name."""
    period = _PERIODS[name]
    return lambda size: (period * (size // len(period) + 1))[:size]
