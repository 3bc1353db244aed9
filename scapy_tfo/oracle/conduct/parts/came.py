"""One segment of the end that is judged, and what the SYNs of its peer offered."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from scapy_tfo import option as opt
from scapy_tfo.segment import Segment

_REMEMBERED = 1024

NO_OPTIONS: tuple[dict[int, opt.RawOption], tuple[opt.RawOption, ...]] = ({}, ())


@lru_cache(_REMEMBERED)
def options_of(block: bytes) -> tuple[dict[int, opt.RawOption], tuple[opt.RawOption, ...]]:
    """The sound options by kind, and all of them."""
    every = opt.pull_options(block)
    return {each.kind: each for each in every if each.is_sound}, every


def all_of(segment: Segment, kind: int, size: int) -> list[opt.RawOption]:
    """The sound options of a kind with so many bytes of data."""
    every = options_of(segment.options)[1]
    return [
        each for each in every if each.kind == kind and each.is_sound and len(each.data) == size
    ]


@dataclass(slots=True)
class Offered:
    """What the SYNs of the peer offered, in any of them. experiment: more than RFC 3168's ECN."""

    mss: int | None = None
    scale: int | None = None
    sack: bool = False
    times: bool = False
    ecn: bool = False
    experiment: bool = False
    fast_open: bool = False
    scales: set[int | None] = field(default_factory=set)


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
