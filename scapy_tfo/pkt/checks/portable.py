"""Finds and refuses this project's additions to the language, which packetdrill cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.settings import ADDED
from scapy_tfo.pkt.syscalls.names import constants

_WORD = 4
_SIZES: dict[type, int] = {
    fields.Nop: 1,
    fields.Eol: 1,
    fields.Mss: 4,
    fields.WindowScale: 3,
    fields.SackPermitted: 2,
    fields.Timestamps: 10,
}

_CALLS = frozenset({"accept4"})
"""System calls that this project adds."""


def additions(action: tree.Action) -> Iterator[str]:
    """Parts of this action that packetdrill does not support, in words."""
    match action:
        case tree.Silence():
            yield "'expect none'"
        case tree.AnyOf(packets, or_none):
            yield "'or none'" if or_none else "'or' between packets"
            for packet in packets:
                yield from additions(packet)
        case tree.Icmp():
            if action.ports:
                yield "ports in an ICMP error"
        case tree.Packet():
            if action.client > 1:
                yield "an address after '@'"
            if action.isn is not None:
                yield "'isn'"
            if action.faults:
                yield "a fault after 'with'"
            for option in action.options or ():
                yield from _in_option(option)
            size = _size(action.options or ())
            if size is not None and size % _WORD:
                yield f"options of {size} bytes, which fill no whole words: add nop"
        case tree.Syscall():
            yield from _in_call(action)


def refuse_additions(script: tree.Script, text: str, name: str) -> None:
    """Raise ScriptError at the first event with one. text, name: of the script, for the message."""
    if not script.events:
        problem = "packetdrill refuses a script without an event"
        raise ScriptError(problem, name=name, text=text, line=1, column=1)
    for option in script.options:
        if option.name in ADDED:
            problem = f"packetdrill does not support --{option.name}"
            at = option.at
            raise ScriptError(problem, name=name, text=text, line=at.line, column=at.column)
    if "\r" in text:
        problem = "packetdrill does not read lines that end with CR LF"
        line = text[: text.index("\r")].count("\n") + 1
        raise ScriptError(problem, name=name, text=text, line=line, column=1)
    first = script.events[0]
    if first.time.earliest:
        problem = "packetdrill needs the first event at time 0"
        at = first.at
        raise ScriptError(problem, name=name, text=text, line=at.line, column=at.column)
    for event in script.events:
        for addition in additions(event.action):
            raise ScriptError(
                f"packetdrill does not support {addition}",
                name=name,
                text=text,
                line=event.at.line,
                column=event.at.column,
            )


def _size(options: tuple[fields.TcpOption, ...]) -> int | None:
    """Bytes; None: one is not known before the run."""
    total = 0
    for option in options:
        match option:
            case fields.FastOpen(fields.Symbol()) | fields.AccEcn() | fields.RawOption():
                return None
            case fields.Sack(blocks):
                total += 2 + 8 * len(blocks)
            case fields.FastOpen(cookie, experimental):
                known = len(cookie) if isinstance(cookie, bytes) else 0
                total += (4 if experimental else 2) + known
            case fields.Md5(digest):
                total += 2 + len(digest)
            case _:
                total += _SIZES[type(option)]
    return total


def _in_call(call: tree.Syscall) -> Iterator[str]:
    if call.name == "bind" and any(isinstance(each, tree.Struct) for each in call.arguments):
        yield "a port in bind()"
    if call.name in _CALLS:
        yield f"{call.name}()"
    if call.errno is not None and not call.note:
        yield f"{call.errno} without a note in parentheses behind it"
    match call.result:
        case tree.Anything():
            yield "'...' as a result"
        case tree.Choice():
            yield "'|' in a result"
        case tree.Name(name) if name in constants():
            yield "a constant as a result"


def _in_option(option: fields.TcpOption) -> Iterator[str]:
    match option:
        case fields.RawOption():
            yield "an option given as 'kind'"
        case fields.Mss(value) | fields.WindowScale(value) | fields.FastOpen(value):
            yield from _in_value(value)
        case fields.Timestamps(value, echo):
            yield from _in_value(value)
            yield from _in_value(echo)


def _in_value(value: object) -> Iterator[str]:
    if isinstance(value, fields.Wildcard):
        yield "'*' as a value"
    if isinstance(value, fields.Variable | fields.Edited | fields.Other):
        yield "$NAME as a value"
