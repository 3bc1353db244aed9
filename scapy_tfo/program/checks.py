"""Checks the values in a program that was read, which may be anybody's: types, and ranges that keep
every packet small and every wait short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any

_NUMBER = 2**40
"""Sequence numbers count from an ISN, to either side."""

_WHOLE = {
    "family": 6,
    "client": _NUMBER,
    "flow": _NUMBER,
    "size": 0xFFFF,
    "window": 0xFFFF,
    "urgent": 0xFFFF,
    "reserved": 0xFF,
    "fragments": 0xFFFF,
    "traffic_class": 0xFF,
    "sack": 0xFFFF,
    "code": 0xFF,
    "mtu": 0xFFFFFFFF,
}
"""Field -> its largest number; the least is 0."""

_WHOLE_OR_NONE = {
    "isn": 0xFFFFFFFF,
    "sport_of": _NUMBER,
    "kind": 0xFF,
    "length": 0xFFFF,
    "data_offset": 0xFF,
    "clock": 0xFFFFFFFF,
}
_SIGNED = {"seq": _NUMBER, "value": _NUMBER, "checksum": 0xFFFF}
_TEXTS = ("port", "flags", "reply", "what", "name", "of", "end", "origin")
_FLAGS = re.compile(r"[SFRP.UEW]*")
_COOKIE = re.compile(r"own|other|flow:\d{1,4}|(?:[0-9a-fA-F]{2}){0,255}")
_OPTIONS = ("mss", "ws", "sackok", "ts", "nop", "eol", "fo", "raw")
EDITS = (
    *("flip", "cut", "tail", "pad", "lead", "repeat", "reverse", "invert", "turn", "zero"),
    "xor-pair",
)
"""What can be done to a cookie: see cookies.py."""

_LONGEST_WAIT = 3600.0
_MOST_EDITED = 0xFFFF


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raises ValueError where one of a step, flow, option or cookie is not what it must be."""
    for name, value in fields.items():
        if not _fits(name, value):
            raise ValueError(f"{name} {str(value)[:40]!r} is not possible")


def _fits(name: str, value: Any) -> bool:
    if name in _WHOLE:
        return _is_whole(value) and 0 <= value <= _WHOLE[name]
    if name in _WHOLE_OR_NONE:
        return value is None or (_is_whole(value) and 0 <= value <= _WHOLE_OR_NONE[name])
    if name in _SIGNED:
        return _is_whole(value) and abs(value) <= _SIGNED[name]
    if name in _TEXTS:
        return isinstance(value, str) and _is_known(name, value)
    if name == "ack":
        return value in (None, "all") or (_is_whole(value) and abs(value) <= _NUMBER)
    if name == "seconds":
        return value is None or (_is_number(value) and 0 <= value <= _LONGEST_WAIT)
    if name == "wrong":
        return isinstance(value, bool)
    # Of the others, what they are made of was checked when that was read.
    if name == "edits":
        return all(edit in EDITS and abs(number) <= _MOST_EDITED for edit, number in value)
    return isinstance(value, tuple | bytes | NoneType) or name == "cookie"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_known(name: str, value: str) -> bool:
    if name == "flags":
        return _FLAGS.fullmatch(value) is not None
    if name == "of":
        return _COOKIE.fullmatch(value) is not None
    return name != "name" or value in _OPTIONS
