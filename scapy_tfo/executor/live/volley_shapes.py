"""Lists of options for single SYNs: Fast Open options, right, wrong and doubled, among others."""

from __future__ import annotations

import random
from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.program.program import Cookie, Option

Options = tuple[Option, ...]

_NOP, _EOL = Option("nop"), Option("eol")
_KINDS = (None, opt.EXPERIMENT_1, opt.EXPERIMENT_2)
_EDITS = (
    *(("flip", bit) for bit in (0, 1, 7, 8, 31, 32, 62, 63)),
    *(("cut", size) for size in range(8)),
    *(("tail", size) for size in (4, 6, 7)),
    *(("pad", size) for size in (1, 2, 4, 8, 9, 10, 12)),
    *(("lead", size) for size in (2, 8)),
    *(("repeat", size) for size in (10, 12, 16, 18, 20)),
    *(("turn", by) for by in (1, 4)),
    *(("zero", at) for at in (0, 4, 7)),
    ("reverse", 0),
    ("invert", 0),
    ("xor-pair", 0x11),
)
_LENGTHS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 18, 20, 34, 40, 255)
_FIXED = ("00" * 4, "ff" * 8, "a5" * 6, "00" * 16, "5a" * 16, "c3" * 7, "3c" * 17)


def _fo(cookie: Cookie | None = None, kind: int | None = None, length: int | None = None) -> Option:
    return Option("fo", cookie=cookie, kind=kind, length=length)


OWN = Cookie()
_OTHER = Cookie("other")
_FLIPPED = Cookie(edits=(("flip", 5),))

FAST_OPEN: tuple[Options, ...] = (
    *((_fo(OWN, kind),) for kind in _KINDS),
    *((_fo(None, kind),) for kind in _KINDS),
    *((_fo(_OTHER, kind),) for kind in _KINDS),
    *((_fo(Cookie(edits=(edit,))),) for edit in _EDITS),
    *((_fo(Cookie(edits=(edit,)), opt.EXPERIMENT_2),) for edit in _EDITS[::4]),
    *((_fo(Cookie(each)),) for each in _FIXED),
    *((_fo(OWN, None, length),) for length in _LENGTHS),
    *((_fo(None, None, length),) for length in _LENGTHS),
    *((_fo(OWN, opt.EXPERIMENT_2, length),) for length in _LENGTHS[::3]),
    (_fo(OWN), _fo(OWN)),
    (_fo(OWN), _fo()),
    (_fo(), _fo(OWN)),
    (_fo(_FLIPPED), _fo(OWN)),
    (_fo(OWN), _fo(_FLIPPED)),
    (_fo(), _fo(None, opt.EXPERIMENT_2)),
    (_fo(OWN), _fo(None, opt.EXPERIMENT_2)),
    (_fo(None, opt.EXPERIMENT_2), _fo(OWN)),
    (_fo(OWN, opt.EXPERIMENT_2), _fo()),
    (_EOL, _fo(OWN)),
    (_EOL, _fo()),
    (Option("raw", kind=opt.EXPERIMENT_2, data=b"\xf9\x88"),),
    (Option("raw", kind=opt.EXPERIMENT_1, data=b"\x00\x00" + bytes(8)),),
    (Option("raw", kind=opt.EXPERIMENT_2),),
    (Option("raw", kind=opt.TFO),),
    (),
)
"""What a SYN says of fast open, the most usual first."""

_MSS, _SACK, _TS, _WS = (
    Option("mss", 1460),
    Option("sackok"),
    Option("ts"),
    Option("ws", 7),
)
COMPANY: tuple[Options, ...] = (
    (),
    (_MSS,),
    (_MSS, _SACK, _TS, _NOP, _WS),
    (_MSS, _NOP, _WS),
    (_SACK, _TS),
    (_NOP, _NOP, _TS),
    (_MSS, _NOP, _NOP, _SACK),
    (_WS,),
    (Option("mss", 536),),
    (Option("mss", 9000),),
    (Option("raw", kind=opt.MD5, data=bytes(16)),),
    (Option("raw", kind=29, data=b"\1\1" + bytes(8)),),
    (Option("raw", kind=30, data=b"\0\1" + bytes(8)),),
    (Option("raw", kind=opt.SACK, data=bytes(8)),),
    (Option("raw", kind=11, data=bytes(4)),),
    (Option("raw", kind=76, data=b"\x7e" * 3),),
    (Option("raw", kind=200),),
    (Option("mss", 1460, length=3),),
    (_NOP, _NOP, _NOP),
)
"""What stands beside it."""

SIZES = (0, 0, 0, 1, 2, 3, 7, 8, 16, 64, 256, 512, 535, 536, 537, 1000, 1220, 1380, 1400, 1420)
FLAGS = ("S",) * 12 + ("SP", "SU", "SE", "SEW", "SW", "SF", "SR", "S.", "SFPU", "SFR")
PORTS = ("main",) * 9 + ("second", "plain", "closed")


def draw(dice: random.Random) -> Options:
    """A list of options; valid cookies and requests are in about a third of them."""
    fast_open = FAST_OPEN[int(len(FAST_OPEN) * dice.random() ** 2)]
    company = COMPANY[int(len(COMPANY) * dice.random() ** 2)]
    way = dice.randrange(4)
    if way == 0:
        return *fast_open, *company
    if way == 1 and company:
        at = dice.randrange(len(company))
        return *company[:at], *fast_open, *company[at:]
    if way == 2:
        return *company, *(_NOP,) * dice.randrange(1, 4), *fast_open
    return *company, *fast_open


def sizes_for(choices: Sequence[int], room: int) -> list[int]:
    """The sizes that fit into `room` bytes."""
    return [each for each in choices if each <= room]
