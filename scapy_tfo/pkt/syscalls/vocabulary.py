"""Finds unknown names in a call, without making the call."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.syscalls.names import constants, error_numbers, nearest
from scapy_tfo.pkt.syscalls.table import CALLS
from scapy_tfo.pkt.syscalls.values import unknown

_MISSPELT = 0.85

_ELSEWHERE = frozenset(
    {"TCP_CCALGOOPT", "TCP_DELACK", "TCP_FUNCTION_BLK", "TCP_KEEPINIT", "TCP_NOOPT", "TCP_NOPUSH"}
)
"""Constants of FreeBSD, like none of Linux by mistake."""


def unknown_names(call: tree.Syscall, own: Collection[str] = ()) -> Iterator[str]:
    """The problems of a call, in words. own: symbols that the script defines.

    A constant is called unknown only where it looks like one that is known: any other may be a
    symbol that the user gives.
    """
    if call.name not in CALLS:
        yield unknown("system call", call.name, CALLS)
    for name in (*_names(*call.arguments), *_names(call.result)):
        if name in constants() or name in own or name in _ELSEWHERE:
            continue
        near = nearest(name, constants(), alike=_MISSPELT)
        if near is not None:
            yield f"unknown constant '{name}': did you mean '{near}'?"
    if call.errno is not None and call.errno not in error_numbers() and call.errno not in own:
        yield unknown("errno", call.errno, error_numbers())


def _names(*expressions: tree.Expression | tree.Field) -> Iterator[str]:
    for expression in expressions:
        match expression:
            case tree.Name(name):
                yield name
            case tree.Field(_, value):
                yield from _names(value)
            case tree.Choice(inner) | tree.Array(inner) | tree.Struct(inner):
                yield from _names(*inner)
            case tree.Call(_, inner):
                yield from _names(*inner)
