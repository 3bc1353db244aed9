"""One segment of the end that is judged, and what the SYNs of its peer offered."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from scapy_tfo import option as opt
from scapy_tfo.segment import Segment

_REMEMBERED = 1024
_TIMES = struct.Struct("!II")


class Options(NamedTuple):
    """An options field, taken apart. sound: the last sound option of each kind. every: all of them,
    in their order. kinds: of all. times: TSval and TSecr."""

    sound: dict[int, opt.RawOption]
    every: tuple[opt.RawOption, ...]
    kinds: frozenset[int]
    times: tuple[int, int] | None


@lru_cache(_REMEMBERED)
def options_of(block: bytes) -> Options:
    """The options of a field."""
    every = opt.pulled(block)
    sound = {each.kind: each for each in every if each.is_sound}
    times = sound.get(opt.TIMESTAMPS)
    return Options(
        sound,
        every,
        frozenset(each.kind for each in every),
        _TIMES.unpack(times.data) if times is not None and len(times.data) == _TIMES.size else None,
    )


NO_OPTIONS = options_of(b"")


@lru_cache(_REMEMBERED)
def offered_by(block: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The window scales and the maximum segment sizes of a field, in their order."""
    sound = [each for each in options_of(block).every if each.is_sound]
    return (
        tuple(each.data[0] for each in sound if each.kind == opt.WINDOW_SCALE and each.length == 3),
        tuple(
            int.from_bytes(each.data, "big")
            for each in sound
            if each.kind == opt.MSS and each.length == 4
        ),
    )


@dataclass(slots=True)
class Offered:
    """What the SYNs of the peer offered, in any of them. sized: an MSS. experiment: more than RFC
    3168's ECN. scaled: a window scale; shift: the largest one. unlike: options that one of them
    had, and another one had not."""

    mss: int | None = None
    sized: bool = False
    scale: int | None = None
    sack: bool = False
    times: bool = False
    ecn: bool = False
    experiment: bool = False
    fast_open: bool = False
    scaled: bool = False
    shift: int = 0
    scales: frozenset[int | None] = frozenset()
    unlike: frozenset[int] = frozenset()


@dataclass(slots=True)
class Came:
    """A segment of the end that is judged. number: of the packet in the capture.

    options: sound ones by kind, the last of each. seq, ack: relative, None while nothing tells
    what to. times: TSval and TSecr.
    """

    segment: Segment
    flags: int
    length: int
    at: float
    number: int
    options: dict[int, opt.RawOption]
    every: tuple[opt.RawOption, ...]
    seq: int | None
    ack: int | None
    times: tuple[int, int] | None
