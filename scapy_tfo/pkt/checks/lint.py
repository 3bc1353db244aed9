"""Refuses scripts that the grammar accepts but no engine can run: large values, unknown names."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterator

from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.syscalls.vocabulary import unknown_names

_BYTE, _SHORT, _LONG = 1 << 8, 1 << 16, 1 << 32
_OPTION_SPACE = 40
"""Bytes: the data offset counts 15 words at most, 5 of which are the header's (RFC 9293, 3.1)."""


def refuse_nonsense(script: tree.Script, text: str, name: str) -> None:
    """Raise ScriptError at the first event no engine could run. text, name: for the message."""
    kept: set[str] = set()
    own = _defined(script)
    for event in script.events:
        for problem in _in_action(event.action, kept, own):
            at = event.at
            raise ScriptError(problem, name=name, text=text, line=at.line, column=at.column)


def _defined(script: tree.Script) -> set[str]:
    """Symbols that the script gives itself, by `--define=NAME=VALUE`."""
    given = (option.value or "" for option in script.options if option.name == "define")
    return {value.partition("=")[0] for value in given}


def refuse_unknown_symbols(
    script: tree.Script, symbols: Container[str], text: str, name: str
) -> None:
    """Raise ScriptError at the first packet with a symbol that nobody has given a meaning."""
    for event in script.events:
        for symbol in _symbols(event.action):
            if symbol not in symbols:
                raise ScriptError(
                    f"{symbol} is not defined: give -D {symbol}=VALUE",
                    name=name,
                    text=text,
                    line=event.at.line,
                    column=event.at.column,
                )


def _symbols(part: object) -> Iterator[str]:
    """The symbols in a packet, wherever they stand."""
    if isinstance(part, fields.Symbol):
        yield part.name
    elif isinstance(part, tuple):
        for each in part:
            yield from _symbols(each)
    elif isinstance(part, tree.Packet | tree.AnyOf | tree.Icmp | tree.Range | fields.TcpOption):
        for each in dataclasses.fields(part):
            yield from _symbols(getattr(part, each.name))


def _in_action(action: tree.Action, kept: set[str], own: set[str]) -> Iterator[str]:
    match action:
        case tree.Packet():
            yield from _in_packet(action, kept)
        case tree.AnyOf(packets):
            for packet in packets:
                yield from _in_packet(packet, kept)
        case tree.Icmp():
            yield from _too_large(("mtu", action.mtu, _LONG), ("id", action.echo_id, _SHORT))
            if action.echoed is not None:
                yield from _in_range(action.echoed)
        case tree.Syscall():
            yield from unknown_names(action, own)


def _in_packet(packet: tree.Packet, kept: set[str]) -> Iterator[str]:
    source, destination = packet.ports or (None, None)
    yield from _too_large(
        ("port", source, _SHORT),
        ("port", destination, _SHORT),
        ("ack", packet.ack, _LONG),
        ("win", packet.win, _SHORT),
        ("urg", packet.urg, _SHORT),
    )
    yield from _in_range(packet.range)
    options = packet.options or ()
    for option in options:
        yield from _in_option(option)
    values = [*_open_values(options), packet.isn, *(fault.value for fault in packet.faults)]
    for value in values:
        if (
            isinstance(value, fields.Variable | fields.Edited | fields.Other)
            and value.name not in kept
        ):
            yield f"${value.name} has no value: write '*=${value.name}' in an earlier packet"
    kept |= {
        value.keep
        for value in values
        if isinstance(value, fields.Wildcard) and value.keep is not None
    }
    space = sum(map(_size, options))
    if space > _OPTION_SPACE:
        yield f"the options take {space} bytes, but a segment has room for {_OPTION_SPACE}"


def _in_range(numbers: tree.Range) -> Iterator[str]:
    start, end, length = numbers.start, numbers.end, numbers.length
    yield from _too_large(("start", start, _LONG), ("end", end, _LONG), ("length", length, _SHORT))
    if isinstance(start, int) and isinstance(end, int) and isinstance(length, int):
        true = (end - start) % _LONG
        if true != length:
            yield f"{start}:{end} has a length of {true}, not {length}"


def _in_option(option: fields.TcpOption) -> Iterator[str]:
    match option:
        case fields.Mss(size):
            yield from _too_large(("mss", size, _SHORT))
        case fields.WindowScale(shift):
            yield from _too_large(("wscale", shift, _BYTE))
        case fields.Timestamps(value, echo):
            yield from _too_large(("val", value, _LONG), ("ecr", echo, _LONG))


def _too_large(*values: tuple[str, fields.OpenValue | None, int]) -> Iterator[str]:
    for name, value, limit in values:
        if isinstance(value, int) and value >= limit:
            yield f"{name} {value} is too large: at most {limit - 1}"


def _open_values(options: tuple[fields.TcpOption, ...]) -> Iterator[object]:
    for option in options:
        match option:
            case fields.Mss(value) | fields.WindowScale(value) | fields.FastOpen(value):
                yield value
            case fields.Timestamps(value, echo):
                yield value
                yield echo


def _size(option: fields.TcpOption) -> int:
    """Bytes, at least: of values not known here, none."""
    match option:
        case fields.Nop() | fields.Eol():
            return 1
        case fields.Mss():
            return 4
        case fields.WindowScale():
            return 3
        case fields.SackPermitted():
            return 2
        case fields.Sack(blocks):
            return 2 + 8 * len(blocks)
        case fields.Timestamps():
            return 10
        case fields.FastOpen(cookie, experimental):
            known = len(cookie) if isinstance(cookie, bytes) else 0
            return (4 if experimental else 2) + known
        case fields.Md5(digest):
            return 2 + len(digest)
        case fields.AccEcn(counters):
            return 2 + 3 * len(counters)
        case fields.RawOption(_, _, data):
            return 2 + len(data)
