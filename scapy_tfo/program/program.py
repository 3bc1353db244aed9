"""A fuzz program: the steps to send, in order, in numbers that mean the same on any target.

Everything in it is symbolic: sequence numbers count from the ISNs, a cookie is "the one granted
to this client, with bit 3 flipped", and the text of a flow is a function of its place in the
stream. So a program is a value that can be stored, reduced, and sent again to another stack.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from scapy_tfo.program.checks import check_fields
from scapy_tfo.shape import kind_of, sentence

SCHEMA = 1

PORTS = ("main", "second", "plain", "small", "closed")
"""Listeners: with fast open, another with it, without it, with room for few pending ones; none."""

ENDS = ("finish", "reset", "leave")
"""How a program ends: each flow shows that it still works and closes; is reset; is left alone."""

SMALL = 4
"""Pending fast opens for which the listener "small" has room."""

CLIENTS = 2
"""Source addresses of each family."""

MAX_STEPS = 60
MAX_FLOWS = 64

Ack = int | str | None
"""ACK field: None without the flag; a number counts from the target's ISS; "all" is what came."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie by its origin and what was done to it.

    of: "own" (granted to this flow's address), "other" (granted to the other client), "flow:N"
    (that came in flow N of the program), or hex digits. edits: in order, each a name and a
    number: see `cookies.EDITS`.
    """

    of: str = "own"
    edits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One TCP option.

    name: "mss", "ws", "sackok", "ts", "nop", "eol", "fo" or "raw". value: MSS in bytes, shift,
    or what is added to TSval. kind and length: the bytes as they shall stand, where not the
    right ones; data: of "raw", with its cookie behind it. For "fo", `kind` 34 is the IANA form,
    253 and 254 are the experimental ones, and cookie None asks for one.
    """

    name: str
    value: int = 0
    kind: int | None = None
    length: int | None = None
    data: bytes = b""
    cookie: Cookie | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """A pair of ports. family: 4 or 6. client: which source address. port: one of PORTS.

    isn: our initial sequence number, None for any. sport_of: flow whose source port it shares.
    """

    family: int = 4
    client: int = 0
    port: str = "main"
    isn: int | None = None
    sport_of: int | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Send one segment of a flow.

    flags: letters as in packetdrill (S F R P . U E W). seq: from our ISN, so that the SYN is 0
    and the first byte of text 1. size: bytes of text, those of the stream at their place;
    wrong: other bytes instead. window: the field. options: None for what the flow agreed on.
    checksum: added to the right one. data_offset: in words where wrong. fragments: IP payload
    bytes in each, 0 for none. sack: if SACK was agreed on, a block that begins so many bytes above
    `ack` and ends with what came last; 0 for none.
    """

    flow: int = 0
    flags: str = "S"
    seq: int = 0
    ack: Ack = None
    size: int = 0
    wrong: bool = False
    window: int = 65535
    options: tuple[Option, ...] | None = None
    urgent: int = 0
    reserved: int = 0
    checksum: int = 0
    data_offset: int | None = None
    fragments: int = 0
    traffic_class: int = 0
    sack: int = 0


@dataclass(frozen=True, slots=True)
class Expect:
    """Wait for a class of reply: "syn-ack", "text", "fin", "rst"; no longer than is patient."""

    flow: int = 0
    reply: str = "syn-ack"


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for seconds; None until what is owed has come."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Icmp:
    """An ICMP error about a segment of the target's, as a router sends it.

    what: "too-big" with `mtu`, or "unreachable" with `code`; "ports": unreachable, and quotes no
    more than the ports; one of `UNFOUNDED`, none of which is about a connection of TCP. seq: the
    quoted sequence number, from the target's ISS.
    """

    flow: int = 0
    what: str = "unreachable"
    code: int = 1
    mtu: int = 0
    seq: int = 0


TOO_BIG, OF_PORTS = "too-big", "ports"
HEADER, OF_UDP, ECHO_REPLY = UNFOUNDED = "header", "udp", "echo-reply"
"""An error that quotes an IP header alone, one about UDP, and what is no error."""

Step = Send | Expect | Wait | Icmp
_STEPS: dict[str, type[Any]] = {"send": Send, "expect": Expect, "wait": Wait, "icmp": Icmp}
_NAMES = {kind: name for name, kind in _STEPS.items()}


@dataclass(frozen=True, slots=True)
class Program:
    """Flows, the steps on them, and how they end.

    origin: what made it, for people. clock: the first TSval, None for any.
    """

    flows: tuple[Flow, ...]
    steps: tuple[Step, ...]
    end: str = "finish"
    origin: str = ""
    clock: int | None = None

    @property
    def sends(self) -> int:
        """Segments in it."""
        return sum(isinstance(each, Send) for each in self.steps)


class ProgramError(ValueError):
    """What was read is no program; the message says where."""


def dumps(program: Program) -> str:
    """As JSON on one line; what is at its default is left out."""
    return json.dumps(to_json(program), separators=(",", ":"))


def loads(text: str) -> Program:
    """The reverse of `dumps`. Raises ProgramError."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProgramError(sentence(error)) from error
    return from_json(raw)


def to_json(program: Program) -> dict[str, Any]:
    """As plain lists and dicts, which `from_json` reads."""
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "flows": [_plain(each) for each in program.flows],
        "steps": [{"do": _NAMES[type(each)], **_plain(each)} for each in program.steps],
        "end": program.end,
    }
    if program.origin:
        out["origin"] = program.origin
    if program.clock is not None:
        out["clock"] = program.clock
    return out


def from_json(raw: Any) -> Program:
    """Raises ProgramError for anything that `to_json` did not make."""
    if not isinstance(raw, Mapping):
        raise ProgramError(f"it is {kind_of(raw)}, not a table")
    if raw.get("schema") != SCHEMA:
        raise ProgramError(f"its schema is not {SCHEMA}")
    try:
        steps = tuple(_step(each) for each in raw["steps"])
        flows = tuple(_fill(Flow, each) for each in raw["flows"])
        rest = {"end": raw["end"], "origin": raw.get("origin", ""), "clock": raw.get("clock")}
        check_fields(rest)
        program = Program(flows, steps, **rest)
        check(program)
    except ProgramError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProgramError(sentence(error)) from error
    return program


def check(program: Program) -> None:
    """Raises ProgramError where a program names what is not there, or is too long."""
    if not 1 <= len(program.flows) <= MAX_FLOWS or len(program.steps) > MAX_STEPS:
        raise ProgramError(f"it must have 1 to {MAX_FLOWS} flows and at most {MAX_STEPS} steps")
    if program.end not in ENDS:
        raise ProgramError(f"end {program.end!r} must be one of {', '.join(ENDS)}")
    for flow in program.flows:
        if flow.port not in PORTS or flow.family not in (4, 6) or not 0 <= flow.client < CLIENTS:
            raise ProgramError(f"unknown family, client or port: {flow}")
        if flow.sport_of is not None and not 0 <= flow.sport_of < len(program.flows):
            raise ProgramError(f"there is no flow {flow.sport_of} to share a port with")
    seen = set()
    for index, flow in enumerate(program.flows):
        share = _sharing(program.flows, index)
        ends = (flow.family, flow.client, flow.port, share)
        if ends in seen:
            raise ProgramError(f"flow {index} has the same ends as another flow")
        seen.add(ends)
    for step in program.steps:
        if not isinstance(step, Wait) and not 0 <= step.flow < len(program.flows):
            raise ProgramError(f"there is no flow {step.flow}")


def _sharing(flows: tuple[Flow, ...], index: int) -> int:
    """The flow whose source port this one has in the end."""
    for _ in flows:
        other = flows[index].sport_of
        if other is None:
            return index
        index = other
    raise ProgramError("flows share their ports in a circle")


def _step(raw: Mapping[str, Any]) -> Any:
    kind = _STEPS.get(raw["do"])
    if kind is None:
        raise ProgramError(f"unknown step {raw['do']!r}")
    return _fill(kind, {name: each for name, each in raw.items() if name != "do"})


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their default."""
    out = {}
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        if held != field.default or field.default is dataclasses.MISSING:
            out[field.name] = _plain_value(held)
    return out


def _plain_value(held: Any) -> Any:
    if isinstance(held, bytes):
        return held.hex()
    if isinstance(held, tuple):
        return [_plain_value(each) for each in held]
    return _plain(held) if dataclasses.is_dataclass(held) else held


Filled = TypeVar("Filled")


def _fill(kind: type[Filled], raw: Mapping[str, Any]) -> Filled:
    fields = dict(raw)
    if fields.get("options") is not None:
        fields["options"] = tuple(_fill(Option, each) for each in fields["options"])
    if fields.get("cookie") is not None:
        fields["cookie"] = _fill(Cookie, fields["cookie"])
    if "edits" in fields:
        fields["edits"] = tuple((str(name), int(number)) for name, number in fields["edits"])
    if "data" in fields:
        fields["data"] = bytes.fromhex(fields["data"])
    check_fields(fields)
    return kind(**fields)


def waits(program: Program) -> float:
    """Seconds that a program waits in any case."""
    return sum(each.seconds or 0.0 for each in program.steps if isinstance(each, Wait))
