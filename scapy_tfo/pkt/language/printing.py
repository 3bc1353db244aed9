"""A script's canonical text: what `scapy-tfo pkt fmt` writes, and packetdrill reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scapy_tfo.pkt.language import fields, tree

_WIDTH = 100
_TIME_WIDTH = 6
_SECOND = 1_000_000_000
_UNITS = (("s", _SECOND), ("ms", 1_000_000), ("us", 1_000), ("ns", 1))
_ESCAPES = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x5C: "\\\\"}


def show_script(script: tree.Script) -> str:
    """The whole script; the same tree comes out when it is parsed."""
    return "".join(f"{_line(line)}\n" for line in script.lines)


def show_event(event: tree.Event) -> str:
    """One event with its time, without its comment."""
    action, time = event.action, _time(event.time)
    if isinstance(action, tree.Syscall) and action.until is not None:
        time += f"...{_seconds(action.until)}"
    time = time.rjust(_TIME_WIDTH) + " "
    return time + show_action(action, len(time))


def show_action(action: tree.Action, column: int = 0) -> str:
    """What an event does; column: where its first line begins, in characters."""
    match action:
        case tree.Packet():
            return " ".join(_packet(action))
        case tree.AnyOf(packets, or_none):
            shown = [" ".join(_packet(packet)) for packet in packets]
            return " or ".join([*shown, "none"] if or_none else shown)
        case tree.Icmp():
            return " ".join(_icmp(action))
        case tree.Syscall():
            return _syscall(action, column)
        case tree.Shell():
            return f"`{action.command}`"
        case tree.Code():
            return f"%{{{action.text}}}%" if "\n" in action.text else f"%{{ {action.text} }}%"
        case tree.Silence():
            return f"expect none for {_duration(action.duration)}"


def show_option(option: fields.TcpOption) -> str:
    """One TCP option as it stands between `<` and `>`."""
    match option:
        case fields.Nop():
            return "nop"
        case fields.Eol():
            return "eol"
        case fields.Mss(size):
            return f"mss {_value(size)}"
        case fields.WindowScale(shift):
            return f"wscale {_value(shift)}"
        case fields.SackPermitted():
            return "sackOK"
        case fields.Sack(blocks):
            return " ".join(
                ["sack", *(f"{_value(left)}:{_value(right)}" for left, right in blocks)]
            )
        case fields.Timestamps(value, echo):
            return f"TS val {_value(value)} ecr {_value(echo)}"
        case fields.FastOpen(cookie, experimental):
            name = "FOEXP" if experimental else "FO"
            return name if cookie is None else f"{name} {_cookie(cookie)}"
        case fields.Md5(digest):
            return f"md5 {digest.hex()}"
        case fields.AccEcn(counters):
            return " ".join(["ECN", *(f"{name} {_value(count)}" for name, count in counters)])
        case fields.RawOption(kind, length, data):
            parts = [f"kind {kind}"]
            parts += [] if length is None else [f"len {length}"]
            parts += [f"hex {data.hex()}"] if data else []
            return " ".join(parts)


def show_expression(expression: tree.Expression | tree.Field) -> str:
    """An argument on one line."""
    return _laid(expression, None)


def _line(line: tree.Line) -> str:
    match line:
        case tree.Blank():
            return ""
        case tree.Comment(text):
            return text
        case tree.Option(name, value):
            shown = f"--{name}" if value is None else f"--{name}={value}"
        case tree.Command(shell):
            shown = f"`{shell.command}`"
        case tree.Event():
            shown = show_event(line)
    return f"{shown}  {line.comment}" if line.comment else shown


# Times.


def _seconds(time: int) -> str:
    whole, fraction = divmod(time, _SECOND)
    return f"{whole}.{fraction:09}".rstrip("0").rstrip(".")


def _time(time: tree.Time) -> str:
    mark = time.clock.value
    if time.clock is tree.Clock.WHENEVER:
        return mark
    shown = mark + _seconds(time.earliest)
    return shown if time.latest is None else f"{shown}~{mark}{_seconds(time.latest)}"


def _duration(time: int) -> str:
    unit, size = next((unit, size) for unit, size in _UNITS if time % size == 0)
    return f"{time // size}{unit}"


# Packets.


def _value(value: fields.OpenValue) -> str:
    match value:
        case int():
            return str(value)
        case fields.Symbol(name):
            return name
        case fields.Wildcard(keep):
            return "*" if keep is None else f"*=${keep}"
        case fields.Variable(name):
            return f"${name}"


def _cookie(cookie: fields.Cookie) -> str:
    if isinstance(cookie, fields.Other):
        return f"!${cookie.name}"
    if isinstance(cookie, fields.Edited):
        return f"${cookie.name}" + "".join(f".{name}({number})" for name, number in cookie.edits)
    return cookie.hex() if isinstance(cookie, bytes) else _value(cookie)


def _range(numbers: tree.Range) -> str:
    return f"{_value(numbers.start)}:{_value(numbers.end)}({_value(numbers.length)})"


def _marks(marks: Sequence[tree.Mark]) -> Iterator[str]:
    if marks:
        yield "[" + ", ".join(map(_mark, marks)) + "]"


def _mark(mark: tree.Mark) -> str:
    if mark.value is None:
        return mark.name
    return f"{mark.name} {mark.value if mark.name == 'ttl' else hex(mark.value)}"


def _ports(packet: tree.Packet | tree.Icmp) -> Iterator[str]:
    if packet.ports is None:
        return
    client = f"@{packet.client}" if packet.client > 1 else ""
    inbound = packet.direction is tree.Direction.INBOUND
    source, destination = packet.ports
    yield f"{source}{client} > {destination}" if inbound else f"{source} > {destination}{client}"


def _given(values: dict[str, fields.Value | None]) -> Iterator[str]:
    for name, value in values.items():
        if value is not None:
            yield f"{name} {_value(value)}"


def _packet(packet: tree.Packet) -> Iterator[str]:
    yield packet.direction.value
    yield from _marks(packet.marks)
    yield from _ports(packet)
    yield packet.flags
    yield _range(packet.range)
    yield from _given({"ack": packet.ack, "win": packet.win, "urg": packet.urg})
    if packet.isn is not None:
        yield f"isn {_value(packet.isn)}"
    if packet.options is None:
        yield "<...>"
    elif packet.options:
        more = ["..."] if packet.more_options else []
        yield "<" + ",".join([*map(show_option, packet.options), *more]) + ">"
    if packet.faults:
        yield "with " + ", ".join(map(_fault, packet.faults))


def _fault(fault: tree.Fault) -> str:
    if fault.value is None:
        return f"{fault.name} bad"
    if isinstance(fault.value, fields.Variable):
        return f"{fault.name} {_value(fault.value)}"
    return f"{fault.name} {hex(fault.value) if fault.name == 'checksum' else fault.value}"


def _icmp(packet: tree.Icmp) -> Iterator[str]:
    yield packet.direction.value
    yield from _marks(packet.marks)
    yield from _ports(packet)
    yield f"icmp {packet.type}"
    if packet.code is not None:
        yield packet.code
    yield from _given({"mtu": packet.mtu, "id": packet.echo_id})
    if packet.echoed is not None:
        yield f"[{_range(packet.echoed)}]"


# System calls.


def _syscall(call: tree.Syscall, column: int) -> str:
    shown = _laid(tree.Call(call.name, call.arguments), column)
    shown += f" = {show_expression(call.result)}"
    if call.errno is not None:
        shown += f" {call.errno}"
    return shown if call.note is None else f"{shown} ({call.note})"


def _laid(expression: tree.Expression | tree.Field, column: int | None) -> str:
    """On one line where it fits from this column on (None: always), else an item a line."""
    match expression:
        case tree.Number(value, digits):
            sign = "-" if value < 0 else ""
            return f"{sign}0x{abs(value):0{digits}x}" if digits else str(value)
        case tree.Name(name):
            return name
        case tree.Anything():
            return "..."
        case tree.Text(content, open_ended):
            return _text(content) + ("..." if open_ended else "")
        case tree.Choice(parts):
            return "|".join(map(show_expression, parts))
        case tree.Field(name, value, count):
            start = f"{name}=" if count is None else f"{name}({show_expression(count)})="
            return start + _laid(value, None if column is None else column + len(start))
        case tree.Call(name, arguments):
            return _bracketed(f"{name}(", arguments, ")", column)
        case tree.Array(items):
            return _bracketed("[", items, "]", column)
        case tree.Struct(items):
            return _bracketed("{", items, "}", column)


def _bracketed(
    start: str, items: Sequence[tree.Expression | tree.Field], end: str, column: int | None
) -> str:
    flat = start + ", ".join(map(show_expression, items)) + end
    if column is None or column + len(flat) <= _WIDTH:
        return flat
    inner = column + len(start)
    return start + (",\n" + " " * inner).join(_laid(item, inner) for item in items) + end


def _text(content: bytes) -> str:
    # A hex escape beside a letter that is a hex digit too would read badly: all in hex, or none.
    if all(byte in _ESCAPES or 0x20 <= byte < 0x7F for byte in content):
        return '"' + "".join(_ESCAPES.get(byte, chr(byte)) for byte in content) + '"'
    return '"' + "".join(f"\\x{byte:02x}" for byte in content) + '"'
