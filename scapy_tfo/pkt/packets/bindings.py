"""Resolves the names and variables in a packet to their values in one run."""

from __future__ import annotations

from collections.abc import Mapping

from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.pkt.language.fields import (
    Cookie,
    Edited,
    OpenValue,
    Other,
    Symbol,
    Value,
    Variable,
    Wildcard,
)

Kept = int | bytes
"""A number, or a cookie, as it was on the wire."""


class MeaningError(ValueError):
    """A value that stands for nothing here; the message says which and what to do."""


class Meanings:
    """The symbols of `-D`, and the values that packets were seen to have."""

    def __init__(self, symbols: Mapping[str, str]) -> None:
        self._symbols = symbols
        self._kept: dict[str, Kept] = {}

    def keep(self, name: str, value: Kept) -> None:
        """From now on `$name` is this value."""
        self._kept[name] = value

    def text(self, name: str) -> str | None:
        """What `-D` says of a name, or None."""
        return self._symbols.get(name)

    def number(self, value: Value | Variable) -> int:
        """A number of the script. Raises MeaningError."""
        if isinstance(value, int):
            return value
        if isinstance(value, Variable):
            kept = self._variable(value.name)
            if not isinstance(kept, int):
                raise MeaningError(f"${value.name} is a cookie, but a number is needed")
            return kept
        text = self._symbol(value)
        try:
            return int(text, 0)
        except ValueError:
            raise MeaningError(
                f"the value of {value.name} is not a number: give another -D"
            ) from None

    def cookie(self, value: bytes | Symbol | Variable | Edited) -> bytes:
        """A cookie's bytes. Raises MeaningError."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, Edited):
            cookie = self.cookie(Variable(value.name))
            for name, number in value.edits:
                cookie = EDITS[name](cookie, number)
            return cookie
        if isinstance(value, Variable):
            kept = self._variable(value.name)
            if not isinstance(kept, bytes):
                raise MeaningError(f"${value.name} is a number, but a cookie is needed")
            return kept
        text = self._symbol(value)
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise MeaningError(
                f"the value of {value.name} is not hexadecimal: give another -D"
            ) from None

    def _symbol(self, symbol: Symbol) -> str:
        meaning = self._symbols.get(symbol.name)
        if meaning is None:
            raise MeaningError(f"{symbol.name} is not defined: give -D {symbol.name}=VALUE")
        return meaning

    def _variable(self, name: str) -> Kept:
        if name not in self._kept:
            raise MeaningError(f"${name} has no value: the packet that keeps it has not come")
        return self._kept[name]


def closed(value: OpenValue) -> Value | Variable:
    """Of a packet to send, which has no room for `*`. Raises MeaningError."""
    if isinstance(value, Wildcard):
        raise MeaningError("'*' is only for packets that the kernel sends")
    return value


def closed_cookie(value: Cookie) -> bytes | Symbol | Variable | Edited:
    """See `closed`."""
    if isinstance(value, Wildcard | Other):
        sign = "*" if isinstance(value, Wildcard) else "!"
        raise MeaningError(f"'{sign}' is only for packets that the kernel sends")
    return value
