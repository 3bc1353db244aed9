"""Turns lark's parse tree into our own (tree.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from lark import Token, Transformer, v_args
from lark.tree import Meta

from scapy_tfo.cookie_edits import EDITS
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.tokens import (
    DIGITS,
    BuildError,
    hex_bytes,
    integer,
    nanoseconds,
    quoted_text,
)

_CLIENTS = 256
_ON_WIRE = ("seq", "ack")
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


End = tuple[Token, Token | None]
"""A port, and the number of the address it is at."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement and the part of the text it takes."""

    statement: tree.Statement
    start: int
    end: int
    line: int
    end_line: int


def _placed(statement: tree.Statement, meta: Meta) -> Placed:
    return Placed(statement, meta.start_pos, meta.end_pos, meta.line, meta.end_line)


def _position(meta: Meta) -> tree.Position:
    return tree.Position(meta.line, meta.column)


def _flag_choice(names: Sequence[tree.Expression]) -> tree.Expression:
    return names[0] if len(names) == 1 else tree.Choice(tuple(names))


def _refuse_open(options: Sequence[fields.TcpOption], direction: Token) -> None:
    """A packet that the script sends has a value in each field."""
    for option in options:
        match option:
            case fields.Mss(value) | fields.WindowScale(value) | fields.FastOpen(value):
                values = [value]
            case fields.Timestamps(value, echo):
                values = [value, echo]
            case _:
                values = []
        if any(isinstance(value, fields.Wildcard) for value in values):
            raise BuildError("'*' is only for packets that the kernel sends ('>')", direction)
        if any(isinstance(value, fields.Other) for value in values):
            raise BuildError("'!' is only for packets that the kernel sends ('>')", direction)


def _numbers(ports: tuple[End, End] | None) -> tuple[int, int] | None:
    return None if ports is None else (integer(ports[0][0]), integer(ports[1][0]))


def _client(ports: tuple[End, End] | None, direction: Token) -> int:
    """Whose the script's port is."""
    if ports is None:
        return 1
    ours, kernels = ports if direction == "<" else ports[::-1]
    if kernels[1] is not None:
        raise BuildError("'@' belongs after the script's port, not the kernel's", kernels[1])
    if ours[1] is None:
        return 1
    client = integer(ours[1])
    if not 0 < client < _CLIENTS:
        raise BuildError(f"the script's addresses are numbered 1 to {_CLIENTS - 1}", ours[1])
    return client


class Build(Transformer[Token, list[Placed]]):
    """One method for each rule of the grammar; children as lark hands them over."""

    def script(self, found: list[Placed]) -> list[Placed]:
        return found

    @v_args(meta=True)
    def option(self, meta: Meta, found: list[Token]) -> Placed:
        name, mark, value = found[0][2:].partition("=")
        option = tree.Option(name, value if mark else None, at=_position(meta))
        return _placed(option, meta)

    @v_args(meta=True)
    def command(self, meta: Meta, found: list[Token]) -> Placed:
        return _placed(tree.Command(self.shell(found), at=_position(meta)), meta)

    @v_args(meta=True)
    def event(self, meta: Meta, found: list[Any]) -> Placed:
        time, action = found
        return _placed(tree.Event(time, action, at=_position(meta)), meta)

    # Times.

    def after(self, found: list[Token]) -> tree.Time:
        return tree.Time(tree.Clock.AFTER, nanoseconds(found[0]))

    def at(self, found: list[Token]) -> tree.Time:
        return tree.Time(tree.Clock.AT, nanoseconds(found[0]))

    def whenever(self, _found: list[Token]) -> tree.Time:
        return tree.Time(tree.Clock.WHENEVER)

    def after_between(self, found: list[Token]) -> tree.Time:
        return self._between(tree.Clock.AFTER, found)

    def at_between(self, found: list[Token]) -> tree.Time:
        return self._between(tree.Clock.AT, found)

    def _between(self, clock: tree.Clock, found: list[Token]) -> tree.Time:
        earliest, latest = map(nanoseconds, found)
        if latest < earliest:
            raise BuildError("this range of times ends before it begins", found[1])
        return tree.Time(clock, earliest, latest)

    # Packets.

    def packet(self, found: list[Any]) -> tree.Packet:
        direction, marks, ports, flags, numbers, ack, win, urg, isn, options, faults = found
        options = () if options is None else options
        more = isinstance(options, tuple) and options[-1:] == (tree.Anything(),)
        if more:
            options = options[:-1]
        if more and direction == "<":
            raise BuildError("'...' is only for packets that the kernel sends ('>')", direction)
        if direction == "<" and not isinstance(options, tree.Anything):
            _refuse_open(options, direction)
        if direction == ">" and any(each.name not in _ON_WIRE for each in faults or ()):
            raise BuildError("only packets that the script sends ('<') can have faults", direction)
        if direction == "<" and isn is not None:
            raise BuildError("only packets that the kernel sends ('>') can have an isn", direction)
        return tree.Packet(
            direction=tree.Direction(direction),
            flags="".join(flags.split()),
            range=numbers,
            ack=ack,
            win=win,
            urg=urg,
            isn=isn,
            options=None if isinstance(options, tree.Anything) else options,
            more_options=more,
            marks=marks or (),
            ports=_numbers(ports),
            client=_client(ports, direction),
            faults=faults or (),
        )

    def any_of(self, found: list[Any]) -> tree.Packet | tree.AnyOf:
        packets = found[::2]
        if len(packets) == 1:
            return cast(tree.Packet, packets[0])
        if any(packet.direction is tree.Direction.INBOUND for packet in packets):
            raise BuildError("only packets that the kernel sends ('>') can have an 'or'", found[1])
        return tree.AnyOf(tuple(packets))

    def or_none(self, found: list[Any]) -> tree.AnyOf:
        packet, token = found
        if packet.direction is tree.Direction.INBOUND:
            raise BuildError("only packets that the kernel sends ('>') can have 'or none'", token)
        return tree.AnyOf((packet,), or_none=True)

    def faults(self, found: list[tree.Fault]) -> tuple[tree.Fault, ...]:
        return tuple(found)

    def fault(self, found: list[Any]) -> tree.Fault:
        name, value = found
        if value == "bad" and name in _ON_WIRE:
            raise BuildError(f"{name} needs a value: a number or $NAME", name)
        if isinstance(value, fields.Variable):
            return tree.Fault(str(name), value)
        return tree.Fault(str(name), None if value == "bad" else integer(value))

    def icmp(self, found: list[Any]) -> tree.Icmp:
        direction, marks, ports, kind, code, mtu, echo_id, echoed = found
        return tree.Icmp(
            direction=tree.Direction(direction),
            type=str(kind),
            code=None if code is None else str(code),
            mtu=mtu,
            echo_id=echo_id,
            echoed=echoed,
            marks=marks or (),
            ports=_numbers(ports),
            client=_client(ports, direction),
        )

    def marks(self, found: list[tree.Mark]) -> tuple[tree.Mark, ...]:
        return tuple(found)

    def mark(self, found: list[Token]) -> tree.Mark:
        name, *value = found
        return tree.Mark(str(name), integer(value[0]) if value else None)

    def ports(self, found: list[Any]) -> tuple[End, End]:
        source, _, destination = found
        return source, destination

    def end(self, found: list[Token | None]) -> End:
        port, client = found
        assert port is not None
        return port, client

    def range(self, found: list[fields.Value]) -> tree.Range:
        return tree.Range(*found)

    def value(self, found: list[Token]) -> fields.Value:
        token = found[0]
        return integer(token) if token.type == "INT" else fields.Symbol(str(token))

    edge = value

    def _only(self, found: list[Any]) -> Any:
        return found[0]

    ack = win = urg = isn = mtu = echo_id = echoed = _only

    def options(self, found: list[Any]) -> Any:
        inner = tuple(each for each in found[1:-1] if each is not None)
        return inner[0] if isinstance(inner[0], tree.Anything) else inner

    def any_options(self, _found: list[Token]) -> tree.Anything:
        return tree.Anything()

    more_options = any_options

    def nop(self, _found: list[Token]) -> fields.Nop:
        return fields.Nop()

    def eol(self, _found: list[Token]) -> fields.Eol:
        return fields.Eol()

    def mss(self, found: list[fields.OpenValue]) -> fields.Mss:
        return fields.Mss(found[0])

    def wscale(self, found: list[fields.OpenValue]) -> fields.WindowScale:
        return fields.WindowScale(found[0])

    def sack_ok(self, _found: list[Token]) -> fields.SackPermitted:
        return fields.SackPermitted()

    def sack(self, found: list[tuple[fields.Value, fields.Value]]) -> fields.Sack:
        return fields.Sack(tuple(found))

    def block(self, found: list[fields.Value]) -> tuple[fields.Value, fields.Value]:
        return found[0], found[1]

    def timestamps(self, found: list[fields.OpenValue]) -> fields.Timestamps:
        return fields.Timestamps(found[0], found[1])

    def fast_open(self, found: list[Any]) -> fields.FastOpen:
        kind, cookie = found
        return fields.FastOpen(cookie, experimental=kind.type == "FOEXP")

    def blob(self, found: list[Token]) -> bytes | fields.Symbol:
        token = found[0]
        if re.fullmatch("[0-9a-fA-F]+|[0-9].*", token):
            return hex_bytes(token)
        return fields.Symbol(str(token))

    def wildcard(self, found: list[Token | None]) -> fields.Wildcard:
        kept = found[1]
        return fields.Wildcard(None if kept is None else str(kept[1:]))

    def variable(self, found: list[Token]) -> fields.Variable:
        return fields.Variable(str(found[0][1:]))

    def edited(self, found: list[Token]) -> fields.Edited:
        edits = []
        for token in found[1:]:
            name, _, number = token[1:-1].partition("(")
            if name not in EDITS:
                raise BuildError(f"unknown edit {name}: write one of {', '.join(EDITS)}", token)
            edits.append((name, int(number)))
        return fields.Edited(str(found[0][1:]), tuple(edits))

    def other(self, found: list[Token]) -> fields.Other:
        return fields.Other(str(found[1][1:]))

    def md5(self, found: list[Token]) -> fields.Md5:
        return fields.Md5(hex_bytes(found[0]))

    def acc_ecn(self, found: list[tuple[str, fields.Value]]) -> fields.AccEcn:
        return fields.AccEcn(tuple(found))

    def counter(self, found: list[Any]) -> tuple[str, fields.Value]:
        return str(found[0]), found[1]

    def raw_option(self, found: list[Token | None]) -> fields.RawOption:
        kind, length, data = found
        for token in (kind, length):
            if token is not None and integer(token) > 255:
                raise BuildError("an option's kind and length are one byte each: 0 to 255", token)
        assert kind is not None
        return fields.RawOption(
            integer(kind),
            None if length is None else integer(length),
            b"" if data is None else hex_bytes(data),
        )

    # System calls.

    def syscall(self, found: list[Any]) -> tree.Syscall:
        until, name, arguments, result, errno, note = found
        return tree.Syscall(
            name=str(name),
            arguments=arguments or (),
            result=result,
            errno=None if errno is None else str(errno),
            note=None if note is None else note[1:-1].strip(),
            until=until,
        )

    def until(self, found: list[Token]) -> int:
        return nanoseconds(found[1])

    def arguments(self, found: list[tree.Expression]) -> tuple[tree.Expression, ...]:
        return tuple(found)

    def result(self, found: list[Any]) -> tree.Expression:
        if isinstance(found[0], Token):
            return tree.Anything() if found[0].type == "ELLIPSIS" else self.number(found)
        return cast(tree.Expression, found[0])

    def names(self, found: list[Token]) -> tree.Expression:
        return _flag_choice([tree.Name(str(token)) for token in found])

    def choice(self, found: list[tree.Expression]) -> tree.Expression:
        return _flag_choice(found)

    def number(self, found: list[Token]) -> tree.Number:
        token = found[0]
        _, mark, digits = token.partition("x")
        return tree.Number(integer(token), len(digits) if mark else 0)

    def name(self, found: list[Token]) -> tree.Name:
        return tree.Name(str(found[0]))

    def anything(self, _found: list[Token]) -> tree.Anything:
        return tree.Anything()

    def string(self, found: list[Token]) -> tree.Text:
        return tree.Text(quoted_text(found[0]))

    def string_prefix(self, found: list[Token]) -> tree.Text:
        return tree.Text(quoted_text(found[0]), open_ended=True)

    def array(self, found: list[Any]) -> tree.Array:
        return tree.Array(found[0] or ())

    def struct(self, found: list[Any]) -> tree.Struct:
        return tree.Struct(tuple(item for item in found if item is not None))

    def field(self, found: list[Any]) -> tree.Field:
        name, value = found
        if isinstance(name, tree.Call):
            return tree.Field(name.name, value, count=name.arguments[0])
        return tree.Field(str(name), value)

    def call(self, found: list[Any]) -> tree.Call:
        return tree.Call(str(found[0]), found[1] or ())

    # The rest.

    def shell(self, found: list[Token]) -> tree.Shell:
        return tree.Shell(str(found[0][1:-1]))

    def code(self, found: list[Token]) -> tree.Code:
        text = str(found[0][2:-2])
        return tree.Code(text if "\n" in text else text.strip())

    def silence(self, found: list[Token]) -> tree.Silence:
        match = re.fullmatch("([0-9]+)([a-z]+)", found[0])
        assert match is not None
        if len(match[1]) > DIGITS:
            raise BuildError("this time is too long", found[0])
        return tree.Silence(int(match[1]) * _UNITS[match[2]])
