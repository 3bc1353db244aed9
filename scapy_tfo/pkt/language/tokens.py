"""Reads single words of a script: times, numbers, bytes."""

from __future__ import annotations

import re

from lark import Token

_SECOND = 1_000_000_000
DIGITS = 40
"""Of the longest number."""

_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b'"': b'"', b"\\": b"\\"}


class BuildError(Exception):
    """What the grammar takes and the language does not, with the place as a token."""

    def __init__(self, problem: str, token: Token) -> None:
        super().__init__(problem)
        self.problem = problem
        self.token = token


def nanoseconds(token: Token) -> int:
    """Of a number of seconds. Raises BuildError."""
    whole, _, fraction = token.partition(".")
    if len(fraction) > 9:
        raise BuildError("a time has at most nine decimal places", token)
    if len(whole) > DIGITS:
        raise BuildError("this time is too long", token)
    return int(whole or 0) * _SECOND + int(fraction.ljust(9, "0"))


def integer(token: Token) -> int:
    """Of a number, decimal or in hex. Raises BuildError."""
    if len(token) > DIGITS:
        raise BuildError("this number is too long", token)
    return int(token, 16 if "x" in token else 10)


def hex_bytes(token: Token) -> bytes:
    """Of hex digits. Raises BuildError."""
    if re.fullmatch("[0-9a-fA-F]*", token) is None:
        raise BuildError(f"'{token}' is not hexadecimal", token)
    if len(token) % 2:
        raise BuildError(f"'{token}' has an odd number of hex digits: write whole bytes", token)
    return bytes.fromhex(token)


def quoted_text(token: Token) -> bytes:
    """Of a string in quotes, as C escapes it. Raises BuildError."""

    def plain(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        if match[2] not in _ESCAPED:
            shown = match[2].decode(errors="replace")
            problem = f"'\\{shown}' is not an escape: use \\n, \\r, \\t, \\\", \\\\ or \\xHH"
            raise BuildError(problem, token)
        return _ESCAPED[match[2]]

    return _ESCAPE.sub(plain, token[1:-1].encode())
