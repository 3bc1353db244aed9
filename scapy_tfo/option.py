"""The TCP Fast Open option on the wire: a raw view that holds any bytes, and a strict view.

The raw view (`RawOption`, `pull_options`, `push_options`) is lossless: whatever bytes stand in
the options field of a TCP header, taking them apart and putting them together again gives the
same bytes. The strict view (`judge`, `find_fast_open`) says what a conforming receiver reads:
a cookie request, a cookie, or the rule that the option breaks.
"""

from __future__ import annotations

import enum
import functools
import struct
from collections.abc import Iterable
from typing import NamedTuple

from scapy_tfo.values import value

EOL = 0
NOP = 1
MSS = 2
WINDOW_SCALE = 3
SACK_PERMITTED = 4
SACK = 5
TIMESTAMPS = 8
MD5 = 19
TFO = 34
EXPERIMENT_1 = 253
EXPERIMENT_2 = 254

EXID = 0xF989
"""Experiment identifier of TCP Fast Open in the experimental options (RFC 7413 section 9)."""

MIN_COOKIE = 4
MAX_COOKIE = 16
"""Shortest and longest cookie, in bytes (RFC 7413 section 4.1.1)."""

COOKIE_SIZES = frozenset((0, *range(MIN_COOKIE, MAX_COOKIE + 1, 2)))
"""Bytes that a valid option may hold: none in a request, else even (4.1.1, errata 4238, 4239)."""

MAX_OPTIONS = 40
"""Room for options in a TCP header, in bytes: data offset 15 less the fixed 20 (RFC 9293 3.1)."""

_EXID_BYTES = EXID.to_bytes(2, "big")
_EXPERIMENTS = (EXPERIMENT_1, EXPERIMENT_2)


@value(frozen=True, slots=True)
class RawOption:
    """One option as its bytes stand, sound or not.

    kind: the kind byte.
    length: the length byte as it stands on the wire, whatever `data` holds; None where there is
    none (EOL, NOP, or a kind that is the very last byte).
    data: the bytes that follow. For EOL, whatever stands behind it; for a length below 2 or past
    the end of the field, all the bytes left, since nothing after them can be told apart.
    """

    kind: int
    length: int | None = None
    data: bytes = b""

    @property
    def is_sound(self) -> bool:
        """True where the length byte fits the bytes (RFC 9293 section 3.2)."""
        if self.kind in (EOL, NOP):
            return self.length is None
        return self.length == 2 + len(self.data)


def pull_options(block: bytes) -> tuple[RawOption, ...]:
    """Take an options field apart. Never raises; `push_options` gives the same bytes back."""
    options = []
    at, end = 0, len(block)
    while at < end:
        kind = block[at]
        if kind == NOP:
            options.append(RawOption(NOP))
            at += 1
            continue
        if kind == EOL:
            options.append(RawOption(EOL, None, block[at + 1 :]))
            break
        if at + 1 == end:
            options.append(RawOption(kind))
            break
        length = block[at + 1]
        stop = at + length if length >= 2 else end
        options.append(RawOption(kind, length, block[at + 2 : stop]))
        at = stop
    return tuple(options)


pulled = functools.lru_cache(1024)(pull_options)
"""The same, for those that much is asked of, one thing at a time."""


def push_options(options: Iterable[RawOption]) -> bytes:
    """Put options together, byte for byte as they say, without padding.

    Raises ValueError where a kind or length does not fit into a byte.
    """
    out = bytearray()
    for option in options:
        out.append(option.kind)
        if option.length is not None:
            out.append(option.length)
        out += option.data
    return bytes(out)


def padded(block: bytes, fill: int = EOL) -> bytes:
    """The block filled up to a multiple of four bytes with EOL, or with NOP."""
    missing = -len(block) % 4
    return block + bytes((fill,)) * missing if missing else block


class Form(enum.IntEnum):
    """The kinds under which the option travels (RFC 7413 section 9, RFC 6994)."""

    IANA = TFO
    EXPERIMENT_1 = EXPERIMENT_1
    EXPERIMENT_2 = EXPERIMENT_2


_IANA = Form.IANA


class FastOpen(NamedTuple):
    """A valid Fast Open option: a cookie, or a request for one where `cookie` is empty."""

    form: Form
    cookie: bytes

    @property
    def is_request(self) -> bool:
        return not self.cookie


@value(frozen=True, slots=True)
class Broken:
    """A Fast Open option that must be ignored, and the requirement (id in specs/) it breaks."""

    form: Form
    rule: str
    reason: str


def judge(option: RawOption) -> FastOpen | Broken | None:
    """The strict view of one option; None where it is not a Fast Open option at all.

    Sources: RFC 7413 section 4.1.1 with errata 4238 and 4239 (length 2, or 6 to 18 and even);
    section 9 and RFC 6994 section 3 for the experimental form, whose ExID adds two bytes.
    """
    return _judge(option.kind, option.length, option.data)


def _judge(kind: int, length: int | None, data: bytes) -> FastOpen | Broken | None:
    if kind == TFO:
        form, cookie = _IANA, data
    elif kind in _EXPERIMENTS and data[:2] == _EXID_BYTES:
        form, cookie = Form(kind), data[2:]
    else:
        return None
    if length == 2 + len(data) and len(cookie) in COOKIE_SIZES:
        return FastOpen(form, cookie)
    return Broken(form, *_broken_rule(length, data, len(cookie)))


def _broken_rule(length: int | None, data: bytes, size: int) -> tuple[str, str]:
    if length is None:
        return "OPT-7", "the option has no length byte"
    if length < 2:
        return "OPT-7", f"length {length} is below 2"
    if length != 2 + len(data):
        return "OPT-7", f"length {length} runs past the end of the options"
    if length % 2:
        return "OPT-2", f"length {length} is odd"
    return "OPT-1", f"a cookie of {size} bytes; 4 to 16 are allowed"


def find_fast_open(block: bytes) -> tuple[FastOpen | Broken, ...]:
    """Every Fast Open option of an options field in order, valid or broken, up to EOL.

    The same as judging each option of `pull_options`, and several times as fast: every segment
    that comes in passes through here, so options of other kinds are stepped over as bytes.
    """
    found: tuple[FastOpen | Broken, ...] = ()
    at, last = 0, len(block) - 1
    while at < last:
        kind = block[at]
        if kind > NOP:
            length = block[at + 1]
            # One comparison for all three kinds; the few others above 34 are told apart later.
            if kind >= TFO:
                stop = at + length if length >= 2 else last + 1
                verdict = _judge(kind, length, block[at + 2 : stop])
                if verdict is not None:
                    found += (verdict,)
            if length < 2:
                return found
            at += length
        elif kind == NOP:
            at += 1
        else:
            return found
    if at == last:
        verdict = _judge(block[at], None, b"")
        if verdict is not None:
            found += (verdict,)
    return found


@functools.cache
def mss(size: int) -> RawOption:
    """Maximum segment size in bytes (RFC 9293 section 3.7.1)."""
    return RawOption(MSS, 4, struct.pack("!H", size))


@functools.cache
def window_scale(shift: int) -> RawOption:
    """Window scale, as a shift count of 0 to 14 (RFC 7323 section 2.2)."""
    return RawOption(WINDOW_SCALE, 3, bytes([shift]))


@functools.cache
def sack_permitted() -> RawOption:
    """SACK permitted (RFC 2018 section 2)."""
    return RawOption(SACK_PERMITTED, 2)


def timestamps(value: int, echo: int = 0) -> RawOption:
    """Timestamps: TSval and TSecr, each modulo 2**32 (RFC 7323 section 3.2)."""
    return RawOption(TIMESTAMPS, 10, struct.pack("!II", value & 0xFFFFFFFF, echo & 0xFFFFFFFF))


@functools.cache
def nop() -> RawOption:
    """No operation: one byte of padding (RFC 9293 section 3.2)."""
    return RawOption(NOP)


def fast_open(
    cookie: bytes = b"", *, form: Form = Form.IANA, length: int | None = None
) -> RawOption:
    """A Fast Open option with any cookie of any size; empty asks for a cookie.

    length: the length byte to write instead of the true one: how an author tells a lie.
    """
    data = cookie if form is Form.IANA else _EXID_BYTES + cookie
    return RawOption(form, 2 + len(data) if length is None else length, data)
