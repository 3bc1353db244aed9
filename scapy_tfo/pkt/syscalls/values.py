"""Evaluates expressions of a script to numbers and bytes."""

from __future__ import annotations

import re
import socket
import struct
import sys
from collections.abc import Mapping
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_expression
from scapy_tfo.pkt.syscalls.names import constants, error_numbers, nearest

Symbol = int | bytes | str
"""What a name of the script's stands for: a number, a string's bytes, or the text that
`-D NAME=TEXT` gives: either of them as C writes it, or the name of a constant."""

_ALIKE = 0.7


class CallError(Exception):
    """A call cannot be made at all, whatever the kernel would say; one line, for people."""


class Values:
    """Evaluates expressions, with the user's symbols."""

    def __init__(self, symbols: Mapping[str, Symbol]) -> None:
        self._symbols = symbols

    def resolve(self, expression: tree.Expression) -> tree.Expression:
        """With what a symbol stands for in its place."""
        if isinstance(expression, tree.Name) and expression.name in self._symbols:
            match self._symbols[expression.name]:
                case int(number):
                    return tree.Number(number)
                case bytes(content):
                    return tree.Text(content)
                case str(text):
                    return _written(text)
        return expression

    def integer(self, expression: tree.Expression, bits: int = 32) -> int:
        """A number, signed or not. Raises CallError for another kind, or one of too many bits."""
        number = self._integer(expression)
        if not -(1 << bits - 1) <= number < 1 << bits:
            raise CallError(f"{show_expression(expression)} does not fit into {bits} bits")
        return number

    def signed(self, expression: tree.Expression) -> int:
        """A number as an `int` of C would hold it."""
        number = self.integer(expression)
        return number - (1 << 32) if number >= 1 << 31 else number

    def error_number(self, name: str) -> int:
        """Of a name such as `EAGAIN`. Raises CallError."""
        match self.resolve(tree.Name(name)):
            case tree.Number(number):
                return number
            case tree.Name(meant) if meant in error_numbers():
                return error_numbers()[meant]
        raise CallError(unknown("errno", name, error_numbers()))

    def _integer(self, expression: tree.Expression) -> int:
        match self.resolve(expression):
            case tree.Number(value):
                return value
            case tree.Name(name):
                if name not in constants():
                    raise CallError(unknown("constant", name, constants()))
                return constants()[name]
            case tree.Choice(parts):
                number = 0
                for part in parts:
                    number |= self._integer(part)
                return number
            case tree.Call("inet_addr", (tree.Text(content),)):
                return int.from_bytes(_packed(IPv4Address, content), sys.byteorder)
            case tree.Call("htons", (port,)):
                return socket.htons(self.integer(port, 16))
            case tree.Call("htonl", (number,)):
                return socket.htonl(self.integer(number))
            case other:
                raise unfit(other, "a number")

    def fields(self, expression: tree.Expression) -> dict[str, tree.Field]:
        """Of a struct whose items all have names. Raises CallError for anything else."""
        struct_ = self.resolve(expression)
        if not isinstance(struct_, tree.Struct):
            raise unfit(struct_, "a struct such as {name=value}")
        fields: dict[str, tree.Field] = {}
        for item in struct_.items:
            if not isinstance(item, tree.Field):
                raise unfit(item, "name=value")
            if item.name in fields:
                raise CallError(f"'{item.name}' is given twice")
            fields[item.name] = item
        return fields

    def sized(self, expression: tree.Expression) -> bytes | None:
        """The bytes of a value whose kind alone says how many: a string, an address, a linger."""
        match self.resolve(expression):
            case tree.Text(content):
                return content
            case tree.Call("inet6_addr", (tree.Text(content),)):
                return _packed(IPv6Address, content)
            case tree.Struct():
                numbers = self.numbers(expression, "onoff", "linger")
                return struct.pack("ii", *numbers)
        return None

    def numbers(self, expression: tree.Expression, *names: str) -> tuple[int, ...]:
        """The numbers of a struct with just these fields."""
        fields = self.fields(expression)
        if set(fields) != set(names):
            raise unfit(expression, "{" + ", ".join(f"{name}=" for name in names) + "}")
        return tuple(self.signed(fields[name].value) for name in names)


def unfit(expression: tree.Expression | tree.Field, wanted: str) -> CallError:
    """What to raise where this is not what belongs here."""
    return CallError(f"{show_expression(expression)} is not {wanted}")


def unknown(kind: str, name: str, known: Mapping[str, object]) -> str:
    """`unknown constant 'SOL_TPC': did you mean 'SOL_TCP'?`"""
    near = nearest(name, known, alike=_ALIKE)
    return f"unknown {kind} '{name}'" + (f": did you mean '{near}'?" if near else "")


def _written(text: str) -> tree.Expression:
    if text[:1] == '"':
        return tree.Text(text.strip('"').encode())
    octal = re.fullmatch("0[0-7]+", text)
    try:
        return tree.Number(int(text, 8 if octal else 0))
    except ValueError:
        return tree.Name(text)


def _packed(kind: type[IPv4Address] | type[IPv6Address], content: bytes) -> bytes:
    text = content.decode("ascii", "replace")
    try:
        return kind(text).packed
    except AddressValueError as error:
        raise CallError(f"not an address: {error}") from error
