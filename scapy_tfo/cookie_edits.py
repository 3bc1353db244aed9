"""What can be done to a cookie so that it is another one, by name."""

from __future__ import annotations

from collections.abc import Callable


def _flip(cookie: bytes, bit: int) -> bytes:
    if not cookie:
        return cookie
    at = bit % (8 * len(cookie))
    changed = bytearray(cookie)
    changed[at // 8] ^= 1 << at % 8
    return bytes(changed)


EDITS: dict[str, Callable[[bytes, int], bytes]] = {
    "flip": _flip,
    "cut": lambda cookie, size: cookie[:size],
    "tail": lambda cookie, size: cookie[-size:] if size else b"",
    "pad": lambda cookie, size: cookie + bytes(size),
    "lead": lambda cookie, size: bytes(size) + cookie,
    "repeat": lambda cookie, size: (cookie * (size // max(len(cookie), 1) + 1))[:size],
    "reverse": lambda cookie, _: cookie[::-1],
    "invert": lambda cookie, _: bytes(each ^ 0xFF for each in cookie),
    "turn": lambda cookie, by: (
        cookie[by % len(cookie) :] + cookie[: by % len(cookie)] if cookie else cookie
    ),
    "zero": lambda cookie, at: cookie[:at] + bytes(len(cookie[at:])),
    "xor-pair": lambda cookie, by: bytes(each ^ by & 0xFF for each in cookie),
}
"""Name, and a number that each reads in its own way: a bit, counted from the first byte's lowest,
bytes, or what each byte is changed by."""
