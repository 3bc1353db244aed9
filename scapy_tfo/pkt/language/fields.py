"""The fields of a script's packets: TCP options, and values that may be left open."""

from __future__ import annotations

from dataclasses import dataclass

# Values in packets.


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that `-D NAME=VALUE`, or the engine, gives a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Ours: `*`, any value; `*=$NAME`, any value, kept under that name for later packets."""

    keep: str | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """Ours: `$NAME`, the value that a packet before was seen to have."""

    name: str


@dataclass(frozen=True, slots=True)
class Edited:
    """Ours: `$NAME.flip(3).cut(6)`, a cookie that was kept, and what is done to it. edits: in
    order, each a name and a number: see `cookie_edits.EDITS`."""

    name: str
    edits: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Other:
    """Ours: `!$NAME`, any cookie but the one that was kept."""

    name: str


Value = int | Symbol
OpenValue = int | Symbol | Wildcard | Variable
Cookie = bytes | Symbol | Wildcard | Variable | Edited | Other


# TCP options.


@dataclass(frozen=True, slots=True)
class Nop:
    """Kind 1."""


@dataclass(frozen=True, slots=True)
class Eol:
    """Kind 0."""


@dataclass(frozen=True, slots=True)
class Mss:
    """Kind 2; bytes."""

    size: OpenValue


@dataclass(frozen=True, slots=True)
class WindowScale:
    """Kind 3; the shift."""

    shift: OpenValue


@dataclass(frozen=True, slots=True)
class SackPermitted:
    """Kind 4."""


@dataclass(frozen=True, slots=True)
class Sack:
    """Kind 5: left and right edge of each block."""

    blocks: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Kind 8."""

    value: OpenValue
    echo: OpenValue


@dataclass(frozen=True, slots=True)
class FastOpen:
    """`FO` (kind 34), or `FOEXP` (kind 254, ExID 0xF989). cookie None: a request for one."""

    cookie: Cookie | None = None
    experimental: bool = False


@dataclass(frozen=True, slots=True)
class Md5:
    """Kind 19 (RFC 2385)."""

    digest: bytes


@dataclass(frozen=True, slots=True)
class AccEcn:
    """Counters of Accurate ECN in the order on the wire: `e0b`, `e1b` or `ceb`, and bytes."""

    counters: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class RawOption:
    """Ours: any kind, any length field (None: the true one), any content."""

    kind: int
    length: int | None = None
    data: bytes = b""


TcpOption = (
    Nop
    | Eol
    | Mss
    | WindowScale
    | SackPermitted
    | Sack
    | Timestamps
    | FastOpen
    | Md5
    | AccEcn
    | RawOption
)
