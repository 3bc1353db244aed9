"""Turns symbolic options into bytes, and reads what a list of options offers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from scapy_tfo import option as opt
from scapy_tfo.program.cookies import Client, Jar
from scapy_tfo.program.program import Option

_EXID = opt.EXID.to_bytes(2, "big")
_TIMES = struct.Struct("!II")
_SINGLE = {"nop": b"\x01", "eol": b"\x00", "sackok": b"\x04\x02"}


class Times(NamedTuple):
    """Our clock in milliseconds, and the last TSval that came."""

    value: int
    echo: int


def render(
    options: Sequence[Option], times: Times, jar: Jar, client: Client, seen: dict[int, bytes]
) -> bytes | None:
    """The options field, filled up to whole words and cut to what a header holds.

    None where a cookie is wanted that the target never granted.
    """
    out = bytearray()
    for each in options:
        name = each.name
        if name in _SINGLE:
            out += _SINGLE[name]
        elif name == "mss":
            out += struct.pack("!BBH", opt.MSS, _length(each, 4), each.value & 0xFFFF)
        elif name == "ws":
            out += bytes((opt.WINDOW_SCALE, _length(each, 3), each.value & 0xFF))
        elif name == "ts":
            value = (times.value + each.value) & 0xFFFFFFFF
            out += bytes((opt.TIMESTAMPS, _length(each, 10))) + _TIMES.pack(value, times.echo)
        elif name == "fo":
            cookie = b""
            if each.cookie is not None:
                found = jar.resolve(each.cookie, client, seen)
                if found is None:
                    return None
                cookie = found
            kind = opt.TFO if each.kind is None else each.kind
            data = cookie if kind == opt.TFO else _EXID + cookie
            out += bytes((kind, _length(each, 2 + len(data)))) + data
        else:
            out.append((each.kind or 0) & 0xFF)
            data = each.data
            if each.cookie is not None:
                data += jar.resolve(each.cookie, client, seen) or b""
            if each.length != 0 or data:
                out += bytes((_length(each, 2 + len(data)),)) + data
    block = bytes(out[: opt.MAX_OPTIONS])
    return opt.padded(block)


def _length(option: Option, right: int) -> int:
    return (right if option.length is None else option.length) & 0xFF


class Offer(NamedTuple):
    """What a receiver reads in a list, up to EOL or a malformed option.

    times: TSval and TSecr. scale: shift, at most 14. fast_open: as `option.find_fast_open`.
    unsound: something in it is malformed. ended: something stands behind EOL. strange: kinds
    that a stack need not know. plain: nothing but options that every stack reads in any order.
    """

    mss: int | None
    scale: int | None
    sack: bool
    times: tuple[int, int] | None
    blocks: tuple[tuple[int, int], ...]
    fast_open: tuple[opt.FastOpen | opt.Broken, ...]
    unsound: bool
    ended: bool
    strange: tuple[int, ...]

    @property
    def has_cookie(self) -> bool:
        """Whether some Fast Open option has one."""
        return any(isinstance(each, opt.FastOpen) and each.cookie for each in self.fast_open)


_KNOWN = frozenset((opt.MSS, opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.SACK, opt.TIMESTAMPS))
_SIZES = {opt.MSS: 4, opt.WINDOW_SCALE: 3, opt.SACK_PERMITTED: 2, opt.TIMESTAMPS: 10}
_NOTHING = Offer(None, None, False, None, (), (), False, False, ())
_TIMES_START = b"\x08\x0a"
_NO_TIMES = bytes(8)
_TIMES_ALONE = b"\x01\x01\x08\x0a"
_SIGN = bytes([opt.TFO])


def may_open(block: bytes) -> bool:
    """Whether a receiver, however it reads an options field, could find a Fast Open option."""
    return _SIGN in block or _EXID in block


def offer_of(block: bytes) -> Offer:
    """Read an options field. Never raises."""
    if not block:
        return _NOTHING
    if len(block) == 12 and block.startswith(_TIMES_ALONE):
        times: tuple[int, int] = _TIMES.unpack_from(block, 4)
        return Offer(None, None, False, times, (), (), False, False, ())
    if block[6:8] == _TIMES_START and len(block) >= 16:
        # As Linux and most others order them: only the times in it are new each time.
        shape = _read(block[:8] + _NO_TIMES + block[16:])
        if shape.times == (0, 0):
            mss, scale, sack, _, blocks, found, unsound, ended, strange = shape
            times = _TIMES.unpack_from(block, 8)
            return Offer(mss, scale, sack, times, blocks, found, unsound, ended, strange)
    return _read(block)


_MOST_USUAL = 1220
"""Bytes of the larger MSS of who offers none (RFC 9293 section 3.7.1)."""


@lru_cache(4096)
def _read(block: bytes) -> Offer:
    mss = scale = times = None
    sack = unsound = ended = doubtful = False
    blocks: list[tuple[int, int]] = []
    strange = []
    for each in opt.pull_options(block):
        kind, data = each.kind, each.data
        if kind == opt.EOL:
            ended = any(data)
        elif kind == opt.NOP:
            pass
        elif not each.is_sound or (kind in _SIZES and each.length != _SIZES[kind]):
            unsound = True
            doubtful = doubtful or kind == opt.MSS
        elif kind == opt.MSS:
            mss = int.from_bytes(data, "big")
        elif kind == opt.WINDOW_SCALE:
            scale = min(data[0], 14)
        elif kind == opt.SACK_PERMITTED:
            sack = True
        elif kind == opt.TIMESTAMPS:
            times = _TIMES.unpack(data)
        elif kind == opt.SACK and len(data) % 8 == 0:
            blocks += [_TIMES.unpack_from(data, at) for at in range(0, len(data), 8)]
        elif kind not in _KNOWN and opt.judge(each) is None:
            strange.append(kind)
    if doubtful:
        # Beside one of a wrong length the other may be read, or neither.
        mss = max(mss or 0, _MOST_USUAL)
    found = opt.find_fast_open(block)
    return Offer(mss, scale, sack, times, tuple(blocks), found, unsound, ended, tuple(strange))
