"""What is wrong with a cookie, or an ICMP message, that a program sends, and the same program with
other wrong cookies.

Two stacks that accept a SYN with a wrong cookie may do so for two reasons: one compares the first
bytes only, another believes a cookie of ones. Which wrong cookies a stack accepts tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scapy_tfo.program.program import Cookie, Icmp, Option, Program, Send

_LAST_BYTE = 13_432
"""A bit of the last byte, for cookies of 4, 6, ... 16 bytes: a multiple of their bits, less 8."""

SAME_SIZE: Mapping[str, Cookie] = {
    "first-byte": Cookie(edits=(("flip", 0),)),
    "last-byte": Cookie(edits=(("flip", _LAST_BYTE),)),
    "high-bit": Cookie(edits=(("flip", 7),)),
    "first-bytes": Cookie(edits=tuple(("flip", 8 * at) for at in range(4))),
    "behind-four": Cookie(edits=(("zero", 4),)),
    "zeros": Cookie(edits=(("zero", 0),)),
    "ones": Cookie(edits=(("zero", 0), ("invert", 0))),
    "reversed": Cookie(edits=(("reverse", 0),)),
    "turned": Cookie(edits=(("turn", 1),)),
    "other-client": Cookie(of="other"),
}
"""Wrong cookies as long as the right one, by name."""

OTHER_SIZE: Mapping[str, Cookie] = {
    "cut": Cookie(edits=(("cut", 4),)),
    "padded": Cookie(edits=(("pad", 4),)),
    "twice": Cookie(edits=(("repeat", 16),)),
}
"""Those that are longer or shorter."""

EVERY: Mapping[str, Cookie] = {**SAME_SIZE, **OTHER_SIZE}


def spoilt_by(program: Program, flow: int, step: int) -> str:
    """The class of the wrong cookie in the last SYN on a flow up to a step; "" where there is
    none, or a right one.

    Numbers in it do not count: which bit was changed is chance.
    """
    found = ""
    for each in program.steps[: step + 1]:
        if isinstance(each, Send) and each.flow == flow and "S" in each.flags:
            cookie = cookie_of(each)
            found = "" if cookie is None else class_of(cookie)
    return found


def message_before(program: Program, step: int) -> str:
    """The kind of the last ICMP message up to a step; "" where there is none.

    Its code and what it quotes do not count: most faults are about several.
    """
    kinds = [each.what for each in program.steps[: step + 1] if isinstance(each, Icmp)]
    return kinds[-1] if kinds else ""


def class_of(cookie: Cookie) -> str:
    """How a cookie differs from the one that its client was granted, "" if it does not."""
    origin = cookie.of if cookie.of in ("own", "other") else "made-up"
    if cookie.of.startswith("flow:"):
        origin = "own"
    names = dict.fromkeys(name for name, _ in cookie.edits)
    return ",".join([*([] if origin == "own" else [origin]), *names])


def cookie_of(step: Send) -> Cookie | None:
    """The last cookie among the options of a segment."""
    made = [each.cookie for each in step.options or () if each.cookie is not None]
    return made[-1] if made else None


def with_cookie(program: Program, old: Cookie, new: Cookie) -> Program:
    """The program with a cookie in place of another one, wherever that is sent."""

    def swapped(option: Option) -> Option:
        return replace(option, cookie=new) if option.cookie == old else option

    steps = tuple(
        replace(each, options=tuple(map(swapped, each.options)))
        if isinstance(each, Send) and each.options
        else each
        for each in program.steps
    )
    return replace(program, steps=steps)
