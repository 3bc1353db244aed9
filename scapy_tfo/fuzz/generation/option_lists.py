"""Makes random lists of options: sound, broken, crowded, in any order."""

from __future__ import annotations

from random import Random

from scapy_tfo import option as opt
from scapy_tfo.program.program import Cookie, Option

MSS = Option("mss", 1460)
NOP, EOL = Option("nop"), Option("eol")
SACK_OK, TIMES = Option("sackok"), Option("ts")
GOOD = Option("fo", cookie=Cookie())
REQUEST = Option("fo")

_VALID_SIZES = (4, 6, 8, 10, 12, 14, 16)
_WRONG_SIZES = (1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 18, 19, 20, 24, 30, 34)

_STRANGERS = (
    Option("raw", kind=11, data=b"\0\0\0\1"),
    Option("raw", kind=12, data=b"\0\0\0\1"),
    Option("raw", kind=13, data=b"\0\0\0\1"),
    Option("raw", kind=19, data=bytes(16)),
    Option("raw", kind=28, data=b"\0\1"),
    Option("raw", kind=29, data=bytes(14)),
    Option("raw", kind=30, data=b"\0\1" + bytes(8)),
    Option("raw", kind=35, data=bytes(8)),
    Option("raw", kind=162, data=bytes(8)),
    Option("raw", kind=99, data=bytes(4)),
    Option("raw", kind=77),
    Option("raw", kind=99, data=b"\x22\x02\x22\x02"),
    Option("raw", kind=253, data=b"\xfa\xce"),
    Option("raw", kind=253, data=bytes(8)),
    Option("raw", kind=253, data=bytes(10)),
    Option("raw", kind=254, data=b"\x89\xf9"),
    Option("raw", kind=254, data=b"\xf9\x00"),
    Option("raw", kind=254, data=b"\x00\x89"),
    Option("raw", kind=254, data=b"\xf9\x8a" + bytes(8)),
    Option("raw", kind=254),
)
"""Options that are not Fast Open: T/TCP, MD5, MPTCP, TCP-AO, TCPCT, other experiments."""

IN_DISGUISE = tuple(
    Option("raw", kind=kind, data=data, cookie=Cookie())
    for kind, data in (
        (35, b""),
        (162, b""),
        (99, b"\x22\x0a"),
        (99, b"\x01\x22\x0a"),
        (253, b""),
        (254, b""),
        (253, b"\xfa\xce"),
        (254, b"\x89\xf9"),
        (254, b"\xf9\x00"),
        (254, b"\x00\x89"),
        (254, b"\xf9\x8a"),
        (254, b"\x00\x00\xf9\x89"),
        (254, b"\xf9\x89\x00\x00"),
        (254, b"\xf9\x89\xf9\x89"),
        (11, b""),
        (19, b""),
    )
)
"""Options that hold a good cookie, and are not Fast Open."""

_UNSOUND = (
    Option("raw", kind=99, length=0, data=b"\0\0"),
    Option("raw", kind=99, length=1, data=b"\0\0"),
    Option("raw", kind=99, length=39, data=b"\0\0"),
    Option("raw", kind=opt.TFO, length=0, data=bytes(8)),
    Option("raw", kind=opt.TFO, length=1, data=bytes(8)),
    Option("raw", kind=opt.TFO, length=38, data=bytes(8)),
    Option("raw", kind=opt.MSS, length=3, data=b"\5"),
)


_HALVES = (
    Option("fo", cookie=Cookie("own", (("cut", 4),))),
    Option("fo", cookie=Cookie("own", (("tail", 4),))),
)


def cookie(dice: Random) -> Cookie:
    """A cookie: good, spoilt in one way, another client's, or made up."""
    roll = dice.random()
    if roll < 0.3:
        return Cookie()
    if roll < 0.38:
        return Cookie("other")
    if roll < 0.5:
        size = dice.choice(_VALID_SIZES)
        filling = dice.choice((b"\0", b"\xff", b"\x01", None))
        return Cookie((filling * size if filling else dice.randbytes(size)).hex())
    return Cookie("own", (spoiling(dice),))


def spoiling(dice: Random) -> tuple[str, int]:
    """One edit of a cookie, which leaves its size valid or not."""
    kind = dice.choice(("flip", "flip", "flip", "size", "size", "other"))
    if kind == "flip":
        return "flip", dice.randrange(64)
    if kind == "size":
        name = dice.choice(("cut", "tail", "pad", "lead", "repeat", "repeat"))
        if name in ("cut", "tail"):
            return name, dice.choice((1, 2, 3, 4, 5, 6, 7))
        if name in ("pad", "lead"):
            return name, dice.choice((1, 2, 4, 6, 8, 10, 12))
        return name, dice.choice((*_VALID_SIZES, *_WRONG_SIZES))
    return dice.choice((("reverse", 0), ("invert", 0), ("turn", 1), ("turn", 4), ("zero", 4)))


def sign(dice: Random) -> tuple[str, int]:
    """An edit that keeps the size: the cookie looks right and is not."""
    choices = (
        ("reverse", 0),
        ("invert", 0),
        ("turn", dice.randrange(1, 8)),
        ("zero", dice.randrange(8)),
        ("xor-pair", 1 << dice.randrange(8)),
        ("flip", dice.randrange(64)),
        ("flip", dice.randrange(64)),
    )
    return dice.choice(choices)


def fast_open(dice: Random) -> Option:
    """A Fast Open option: a request, a cookie, or one of illegal length; mostly of kind 34."""
    kind = dice.choice((None, None, None, None, 254, 253))
    roll = dice.random()
    if roll < 0.2:
        return Option("fo", kind=kind)
    if roll < 0.45:
        return Option("fo", kind=kind, cookie=Cookie())
    if roll < 0.7:
        return Option("fo", kind=kind, cookie=cookie(dice))
    if roll < 0.8:
        return Option("fo", kind=kind, cookie=Cookie("own", (sign(dice),)))
    if roll < 0.92:
        size = dice.choice(_WRONG_SIZES)
        return Option("fo", kind=kind, cookie=Cookie("own", (("repeat", size),)))
    if roll < 0.96:
        return Option("fo", kind=kind, cookie=Cookie(bytes(dice.choice((1, 2, 3, 5))).hex()))
    return Option("fo", kind=kind, cookie=Cookie(), length=dice.choice((0, 1, 2, 9, 11, 20, 255)))


def plain(dice: Random) -> list[Option]:
    """MSS and some of what every stack knows."""
    out = [Option("mss", dice.choice((1460, 1460, 1460, 1220, 536, 1000, 9000)))]
    if dice.random() < 0.1:
        out = []
    if dice.random() < 0.35:
        out.append(SACK_OK)
    if dice.random() < 0.35:
        out.append(TIMES)
    if dice.random() < 0.35:
        out += [NOP, Option("ws", dice.choice((0, 2, 7, 14)))]
    return out


def syn_options(dice: Random) -> tuple[Option, ...]:
    """The options of any SYN."""
    out = plain(dice)
    roll = dice.random()
    if roll < 0.8:
        out.insert(dice.randrange(len(out) + 1), fast_open(dice))
    if roll < 0.12:
        out.insert(dice.randrange(len(out) + 1), fast_open(dice))
    elif roll < 0.15:
        out = [MSS, *_HALVES]
    if dice.random() < 0.15:
        strange = dice.choice((_STRANGERS, IN_DISGUISE))
        out.insert(dice.randrange(len(out) + 1), dice.choice(strange))
    if dice.random() < 0.04:
        out.insert(dice.randrange(len(out) + 1), dice.choice(_UNSOUND))
    if dice.random() < 0.2:
        for _ in range(dice.randrange(1, 12)):
            out.insert(dice.randrange(len(out) + 1), NOP)
    if dice.random() < 0.07:
        out.insert(dice.randrange(len(out) + 1), EOL)
        out.insert(dice.randrange(len(out) + 1), EOL)
    if dice.random() < 0.04:
        out = [MSS, *(NOP,) * dice.choice((3, 7, 11)), Option("raw", kind=opt.TFO, length=0)]
    elif dice.random() < 0.03:
        out = [MSS, *(NOP,) * dice.choice((9, 10, 12, 20, 25)), dice.choice((GOOD, REQUEST))]
    elif dice.random() < 0.03:
        out = [
            MSS,
            *(NOP,) * dice.choice((0, 1, 2)),
            Option("fo", cookie=Cookie(), length=dice.choice((11, 12, 16, 18, 38))),
        ]
    return tuple(out)


def opening(dice: Random, chance: float = 0.75) -> tuple[Option, ...]:
    """The options of a SYN that opens fast, with that probability; else one that does not."""
    out = plain(dice) or [MSS]
    roll = dice.random()
    if roll < chance:
        out.append(GOOD)
    elif roll < chance + 0.5 * (1 - chance):
        out.append(Option("fo", cookie=Cookie("own", (("flip", dice.randrange(64)),))))
    elif roll < chance + 0.75 * (1 - chance):
        out.append(REQUEST)
    return tuple(out)
