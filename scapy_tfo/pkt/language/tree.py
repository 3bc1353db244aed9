"""The syntax tree of a packetdrill script, made of values. Equal trees print alike.

Times are whole nanoseconds. Sequence numbers, ports and timestamps are the script's own; an engine
maps them to those on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from scapy_tfo.pkt.language.fields import OpenValue, TcpOption, Value, Variable


@dataclass(frozen=True, slots=True)
class Position:
    """Where something begins in its file; both count from 1."""

    line: int
    column: int


NOWHERE = Position(0, 0)
"""Of what was made by a program and stands in no file."""


class Direction(Enum):
    """`<`: a packet that the script sends to the kernel; `>`: one that the kernel must send."""

    INBOUND = "<"
    OUTBOUND = ">"


# System calls.


@dataclass(frozen=True, slots=True)
class Number:
    """An integer; digits: 0 if it is written in decimal, else how many hex digits at least."""

    value: int
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Name:
    """A constant of the system, such as `SOL_TCP`, or a symbol."""

    name: str


@dataclass(frozen=True, slots=True)
class Anything:
    """`...`: the engine's choice, or not looked at."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string's bytes; open_ended: more follows that does not matter (`"ab"...`)."""

    content: bytes
    open_ended: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Flags joined with `|`; two or more."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """`[a, b]`."""

    items: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """`htons(8080)`, `inet_addr("192.0.2.1")`."""

    name: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """`name=value` or `name(count)=value` in a struct."""

    name: str
    value: Expression
    count: Expression | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """`{fd=4, events=POLLIN}`, `{..., 100}`."""

    items: tuple[Expression | Field, ...] = ()


Expression = Number | Name | Anything | Text | Choice | Array | Call | Struct


# What happens.


class Clock(Enum):
    """What a time counts from: the event before, or the script's start; or it is not looked at."""

    AFTER = "+"
    AT = ""
    WHENEVER = "*"


@dataclass(frozen=True, slots=True)
class Time:
    """When an event happens; latest: the end of `a~b`."""

    clock: Clock = Clock.AFTER
    earliest: int = 0
    latest: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A property of the IP header: `noecn`, `ect0`, `ect1`, `ect01`, `ce`; `tos`, `ttl`, ..."""

    name: str
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """`start:end(length)`; the engine, not the language, asks that end is start plus length."""

    start: Value
    end: Value
    length: Value


@dataclass(frozen=True, slots=True)
class Fault:
    """Ours: `with checksum 0xbad`: a header field that lies.

    name: `checksum`, `doff` (data offset, 32-bit words), `ip_len` (bytes); `seq`, `ack`: as on the
    wire, not counted from an ISN; these two in packets of the kernel, too. value None: wrong, by
    the engine's choice.
    """

    name: str
    value: int | Variable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """A TCP segment. options None: any (`<...>`); (): none. Other fields None: not given.

    more_options: ours; `<mss *,...>`: of other kinds than these there may be any. isn: ours; of the
    kernel's side, as on the wire. client: ours; `5000@2`: which of the script's addresses its port
    is at, counted from 1.
    """

    direction: Direction
    flags: str
    range: Range
    ack: Value | None = None
    win: Value | None = None
    urg: Value | None = None
    isn: OpenValue | None = None
    options: tuple[TcpOption, ...] | None = ()
    more_options: bool = False
    marks: tuple[Mark, ...] = ()
    ports: tuple[int, int] | None = None
    client: int = 1
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Ours: `> A or > B`. One of these packets comes; two or more.

    or_none: `> A or none`: a single one, which may come before the next packet of its connection.
    """

    packets: tuple[Packet, ...]
    or_none: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Icmp:
    """An ICMP or ICMPv6 error about the segment that `echoed` describes.

    ports, client: ours; of the connection, as a packet that goes the error's way has them.
    """

    direction: Direction
    type: str
    code: str | None = None
    mtu: Value | None = None
    echo_id: Value | None = None
    echoed: Range | None = None
    marks: tuple[Mark, ...] = ()
    ports: tuple[int, int] | None = None
    client: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Syscall:
    """A call and what it returns. until: it blocks, and returns at this time, as ns.

    errno: a name such as `EAGAIN`. note: the text in parentheses, for the reader only.
    """

    name: str
    arguments: tuple[Expression, ...] = ()
    result: Number | Name | Anything | Choice
    errno: str | None = None
    note: str | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Shell:
    """A command for /bin/sh, as it stands between the backquotes."""

    command: str


@dataclass(frozen=True, slots=True)
class Code:
    """Python over `tcpi_*`, as it stands between `%{` and `}%`."""

    text: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Ours: `expect none for 200ms`. No packet comes in this time, as ns."""

    duration: int


Action = Packet | AnyOf | Icmp | Syscall | Shell | Code | Silence


# The script.


@dataclass(frozen=True, slots=True)
class Option:
    """`--name=value`, as on packetdrill's command line; value None: a switch."""

    name: str
    value: str | None = None
    comment: str = ""
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command before the first event (set-up) or after the last (clean-up)."""

    shell: Shell
    comment: str = ""
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at a time."""

    time: Time
    action: Action
    comment: str = ""
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, with its marks."""

    text: str


@dataclass(frozen=True, slots=True)
class Blank:
    """One empty line or more."""


Statement = Option | Command | Event
Line = Statement | Comment | Blank


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script, for people (`lines`) and for engines (`options`, `events`, ...)."""

    lines: tuple[Line, ...] = ()

    @property
    def options(self) -> tuple[Option, ...]:
        """In the script's order."""
        return tuple(line for line in self.lines if isinstance(line, Option))

    @property
    def events(self) -> tuple[Event, ...]:
        """In the script's order."""
        return tuple(line for line in self.lines if isinstance(line, Event))

    @property
    def commands(self) -> tuple[Command, ...]:
        """Of set-up and clean-up."""
        return tuple(line for line in self.lines if isinstance(line, Command))
