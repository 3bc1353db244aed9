"""How a client opens its connection: with which Fast Open option, and what that may bring it.

An opening is written as a name, or as a name and a number: `good`, `flip:3`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from scapy_tfo import option as opt
from scapy_tfo.address import known_address
from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.errors import SetupError
from scapy_tfo.option import Form
from scapy_tfo.segment import Address

_EXID = b"\xf9\x89"
"""Of fast open in the experimental form (RFC 7413 section 9)."""

PLAIN, REQUEST, GOOD, OLD_KEY, REFUSED = "plain", "request", "good", "old-key", "refused"
OF = "of:"
"""Before the number of the bit of the address whose neighbour owns the cookie."""

USUAL = (PLAIN, REQUEST, GOOD, REFUSED, OLD_KEY)
"""Without fast open, with a request for a cookie, with data and a cookie that is good, that is not,
or whose key is no longer the first one."""

STRANGE = 11, 12, 13, 25, 31, 33, 35, 77, 162, 253
"""Kinds of options that are not Fast Open: those next to it, and that with another highest bit."""

ODD = (
    *(f"flip:{bit}" for bit in (0, 7, 15, 24, 31, 32, 39, 48, 56, 63)),
    *("cut:4", "cut:6", "tail:4", "tail:6", "pad:2", "pad:8", "lead:2", "lead:8", "reverse"),
    *("invert", "turn:1", "turn:4", "zero:0", "zero:4", "xor-pair:1", "xor-pair:170", "ones"),
    *("repeat:16", "repeat:18", "repeat:17", "pad:1", "pad:10", "pad:3", "cut:1", "cut:2", "cut:3"),
    *("cut:5", "cut:7", "length:0", "length:1", "length:3", "length:9", "length:30", "length:40"),
    *("kind:253", "kind:254", "ask:253", "ask:254", "exid:1", "exid:256", "exid:32768"),
    *(f"of:{bit}" for bit in (0, 1, 4, 7, 8, 15, 16, 24, 31)),
    *(f"{where}:{kind}" for where in ("other", "beside") for kind in STRANGE),
    *("ended", "none", "bare", "ask-data", "both"),
    *("off", "off:ask", "off:length"),
    *(f"sized:{size}" for size in (3, 4, 5, 7, 9, 13, 17, 19, 20)),
)
"""With data and something else than a good cookie in a whole option; or beside one, which other
options do not touch; or at a listener whose application has not asked for fast open."""


LATER = "request", "cookie", "odd length"
"""Fast Open options of segments without SYN, which must ignore them (RFC 7413 section 4.1.1)."""


def later_option(name: str, cookie: bytes) -> bytes:
    """The option of that name, b"" for none. cookie: the one that the client holds, if any."""
    if name == "odd length":
        return opt.push_options([opt.fast_open(bytes(5))])
    return opt.push_options([opt.fast_open((cookie or bytes(8)) * (name == "cookie"))] * bool(name))


def meets_no_fast_open(name: str) -> bool:
    """Whether an opening is for a listener without fast open (RFC 7413 section 2)."""
    return name.partition(":")[0] == "off"


@dataclass(frozen=True, slots=True)
class Opening:
    """option: bytes that stand for the option in the first SYN; None where the client writes it.

    holds: the client believes to hold a cookie, and sends data. asks: the application allows fast
    open. form: of a client that asks. sends_data: it sends data beside a request. broken: the
    option's length is a lie, so that the SYN may be dropped or refused.
    """

    option: bytes | None = None
    holds: bool = False
    asks: bool = True
    form: Form = Form.IANA
    sends_data: bool = False
    broken: bool = False


def opening_of(name: str, cookie: bytes, cookie_of: Callable[[int], bytes]) -> Opening:
    """The opening of that name. cookie: a good one. cookie_of: that of the client whose address
    differs in one bit, counted from the lowest. Raises SetupError where there is none."""
    word, _, number = name.partition(":")
    size = int(number) if number.isdigit() else 0
    if word == PLAIN:
        return Opening(asks=False)
    if word == REQUEST:
        return Opening()
    if word == "ask-data":
        return Opening(sends_data=True)
    if word == "ask":
        return Opening(form=Form(size))
    if meets_no_fast_open(name):
        return _OFF[number]
    if word in (GOOD, OLD_KEY):
        return Opening(holds=True)
    if word == REFUSED:
        return _with(EDITS["flip"](cookie or bytes(8), size))
    if word in EDITS:
        return _with(EDITS[word](cookie or bytes(8), size))
    return _odd(word, size, cookie or bytes(8), cookie_of)


_OFF = {
    "": Opening(holds=True),
    "ask": Opening(),
    "length": Opening(opt.push_options([opt.fast_open(bytes(5))]), holds=True),
}


def _odd(word: str, size: int, cookie: bytes, cookie_of: Callable[[int], bytes]) -> Opening:
    raw = opt.push_options([opt.fast_open(cookie)])
    if word == "ones":
        return _with(b"\xff" * len(cookie))
    if word == "sized":
        # A cookie of four bytes is repeated, too: a short option would take in what follows it.
        repeated = cookie * (1 + size // len(cookie))
        return Opening(bytes((opt.TFO, size)) + repeated[: size - 2], holds=True)
    if word == "of":
        return _with(cookie_of(size) or bytes(8))
    if word == "length":
        return Opening(raw[:1] + bytes((size,)) + raw[2:], holds=True, broken=True)
    if word == "kind":
        return Opening(bytes((size, 4 + len(cookie))) + _EXID + cookie, holds=True)
    if word == "exid":
        exid = (int.from_bytes(_EXID, "big") ^ size).to_bytes(2, "big")
        return Opening(bytes((254, 4 + len(cookie))) + exid + cookie, holds=True)
    if word == "ended":
        return Opening(bytes((opt.EOL,)) + raw, holds=True)
    if word in ("other", "beside"):
        strange = bytes((size, 6)) + b"\x01\x02\x03\x04"
        return Opening(strange + (raw if word == "beside" else b""), holds=True)
    if word == "none":
        return Opening(b"", holds=True)
    if word == "bare":
        # The usual options fill whole words: the kind is the last byte, and its length is missing.
        return Opening(bytes((*(opt.NOP,) * 3, opt.TFO)), holds=True, broken=True)
    if word == "both":
        return Opening(opt.push_options([opt.fast_open(form=Form(254)), opt.fast_open()]))
    raise SetupError(f"no such opening: {word}")


def _with(cookie: bytes) -> Opening:
    """A cookie of any size, in kind 34."""
    return Opening(bytes((opt.TFO, 2 + len(cookie))) + cookie, holds=True)


def rewritten(options: bytes, instead: bytes) -> bytes:
    """The options of a SYN with something else in the place of its Fast Open option, at the end.

    They stay as they are where there is no room.
    """
    kept = [each for each in opt.pull_options(options) if each.kind not in _KINDS]
    while kept and kept[-1].kind in (opt.EOL, opt.NOP):
        kept.pop()
    block = opt.padded(opt.push_options(kept) + instead)
    return block if len(block) <= opt.MAX_OPTIONS else options


_KINDS = (opt.TFO, opt.EXPERIMENT_1, opt.EXPERIMENT_2)


def relative_of(client: Address, bit: int) -> Address:
    """The address that differs in one bit, counted from the lowest."""
    number = int.from_bytes(client.packed, "big") ^ (1 << bit)
    return known_address(ip_address(number.to_bytes(len(client.packed), "big")).packed)
