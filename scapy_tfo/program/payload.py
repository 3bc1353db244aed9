"""The text of flows: each byte is a function of its place, so that any piece can be checked."""

from __future__ import annotations

_PERIOD = 251
"""Prime, so that what is moved by a segment or a power of two shows."""
_STRIDE = 37
_LONGEST = 1 << 17

_RIGHT = bytes(range(_PERIOD)) * (_LONGEST // _PERIOD + 2)
_WRONG = bytes(each ^ 0xFF for each in _RIGHT)


def text(flow: int, start: int, size: int) -> bytes:
    """The stream's bytes from relative sequence number `start` on; `flow` tells flows apart.

    Raises ValueError for more than 131072 bytes.
    """
    return _piece(_RIGHT, flow, start, size)


def wrong_text(flow: int, start: int, size: int) -> bytes:
    """As `text`, with every bit the other way round: what must not be delivered."""
    return _piece(_WRONG, flow, start, size)


def _piece(table: bytes, flow: int, start: int, size: int) -> bytes:
    if size > _LONGEST:
        raise ValueError(f"{size} bytes of text: the most is {_LONGEST}")
    at = (start + _STRIDE * flow) % _PERIOD
    return table[at : at + size]
