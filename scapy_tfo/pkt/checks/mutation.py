"""Makes one expected field of a script wrong: a good engine then fails the script at that line.

Whatever no engine compares is left alone: `*`, values of no event, the initial sequence number (the
script's name for what the kernel chose), TS ecr, a TS val where the script does not say what a tick
takes, the descriptor that a call returns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scapy_tfo.option import push_options
from scapy_tfo.pkt.checks.lint import refuse_nonsense
from scapy_tfo.pkt.checks.portable import additions
from scapy_tfo.pkt.checks.wrong_times import (
    SILENCE,
    Changed,
    of_little_time,
    of_presence,
    of_return,
    of_silence,
    of_stamp,
    of_time,
)
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.printing import show_expression, show_option, show_script
from scapy_tfo.pkt.language.settings import Settings, with_options
from scapy_tfo.pkt.packets.bindings import MeaningError, Meanings
from scapy_tfo.pkt.packets.options import raw_option
from scapy_tfo.pkt.packets.script_stamps import Due, stamps_due

_MODULUS = 1 << 32
_LARGEST_WINDOW = 65535
_LARGEST_SHIFT = 14
_WORD = 4
_TOGGLED = "PFUEW"
_OTHER_ECN = {
    "noecn": "ect0",
    "ect0": "ect1",
    "ect1": "ect0",
    "ect01": "noecn",
    "ce": "ect0",
}
_MAKES_DESCRIPTOR = frozenset({"socket", "accept", "accept4", "open", "epoll_create"})


@dataclass(frozen=True, slots=True)
class Break:
    """A copy of a script in which one event's expectation is wrong.

    line: of that event, in `text`. kind: of field. what: the change, in words. is_as_portable:
    packetdrill can run it if it can run the script.
    """

    line: int
    kind: str
    what: str
    script: tree.Script
    is_as_portable: bool = True

    @property
    def text(self) -> str:
        """The broken script."""
        return show_script(self.script)


def breaks(script: tree.Script, symbols: Mapping[str, str]) -> tuple[Break, ...]:
    """Every break of a script that is still in the language.

    All but those to `expect none` are portable where the script is. symbols: what `-D` says:
    cookies that stand there by name are broken in their bytes.
    """
    meanings = Meanings(symbols)
    stamps = stamps_due(script, with_options(Settings(), script.options, "", "").tick)
    found: list[Break] = []
    before = 1
    for index, line in enumerate(script.lines):
        if isinstance(line, tree.Event):
            due = stamps.get(line.at.line)
            for changed in _changes(script, index, line, meanings, due):
                new = replace(line, action=changed.action, time=changed.time or line.time)
                broken = tree.Script((*script.lines[:index], new, *script.lines[index + 1 :]))
                portable = _is_as_portable(line, new)
                if _can_run(broken) and (portable or changed.kind == SILENCE):
                    found.append(Break(before, changed.kind, changed.what, broken, portable))
        before += show_script(tree.Script((line,))).count("\n")
    return tuple(found)


def choose(found: tuple[Break, ...], seed: str) -> Break | None:
    """One of them, the same for the same seed; each kind of field is as likely. None: of none."""
    dice = random.Random(seed)
    kinds = sorted({each.kind for each in found})
    if not kinds:
        return None
    kind = dice.choice(kinds)
    return dice.choice([each for each in found if each.kind == kind])


def _can_run(script: tree.Script) -> bool:
    try:
        refuse_nonsense(script, "", "")
    except ScriptError:
        return False
    return True


def _is_as_portable(old: tree.Event, new: tree.Event) -> bool:
    return any(additions(old.action)) or not any(additions(new.action))


def _changes(
    script: tree.Script, index: int, event: tree.Event, meanings: Meanings, due: Due | None
) -> Iterator[Changed]:
    match event.action:
        case tree.Packet(direction=tree.Direction.OUTBOUND) as packet:
            yield from _of_numbers(packet, repeats=_repeats_syn(script, index))
            yield from _of_flags(packet)
            yield from _of_marks(packet)
            yield from _of_options(packet, meanings)
            yield from of_stamp(packet, due)
            yield from of_time(event, _next_event(script, index))
            yield from of_little_time(script, index, event, _event_before(script, index))
            yield from of_presence(script, index, event.time)
        case tree.Icmp(direction=tree.Direction.OUTBOUND) | tree.AnyOf(or_none=False):
            yield from of_presence(script, index, event.time)
        case tree.Silence(duration):
            yield from of_silence(duration, _next_event(script, index))
        case tree.Syscall() as call:
            yield from _of_call(call)
            yield from of_return(event, call)


def _next_event(script: tree.Script, index: int) -> tree.Event | None:
    behind = (line for line in script.lines[index + 1 :] if isinstance(line, tree.Event))
    return next(behind, None)


def _event_before(script: tree.Script, index: int) -> tree.Event | None:
    before = (line for line in script.lines[:index][::-1] if isinstance(line, tree.Event))
    return next(before, None)


def _repeats_syn(script: tree.Script, index: int) -> bool:
    """The packet before has SYN too, so that the ISN has its number already."""
    for line in reversed(script.lines[:index]):
        if isinstance(line, tree.Event) and isinstance(line.action, tree.Packet):
            packet = line.action
            return packet.direction is tree.Direction.OUTBOUND and "S" in packet.flags
    return False


# Packets.


def _of_numbers(packet: tree.Packet, *, repeats: bool) -> Iterator[Changed]:
    def told(kind: str, old: object, new: object, changed: tree.Packet) -> Changed:
        return Changed(kind, f"{kind} {new} for {old}", changed)

    start, end, length = packet.range.start, packet.range.end, packet.range.length
    if isinstance(start, int) and isinstance(end, int) and ("S" not in packet.flags or repeats):
        moved = tree.Range((start + 1) % _MODULUS, (end + 1) % _MODULUS, length)
        yield told("seq", start, moved.start, replace(packet, range=moved))
    if isinstance(end, int) and isinstance(length, int):
        step = -1 if length else 1
        resized = tree.Range(start, (end + step) % _MODULUS, length + step)
        yield told("length", length, length + step, replace(packet, range=resized))
    if isinstance(packet.ack, int):
        ack = (packet.ack + 1) % _MODULUS
        yield told("ack", packet.ack, ack, replace(packet, ack=ack))
    if isinstance(packet.win, int):
        win = packet.win + (1 if packet.win < _LARGEST_WINDOW else -1)
        yield told("win", packet.win, win, replace(packet, win=win))
    if packet.urg is None or isinstance(packet.urg, int):
        urg = (packet.urg or 0) ^ 1
        yield told("urg", packet.urg or 0, urg, replace(packet, urg=urg))


def _of_flags(packet: tree.Packet) -> Iterator[Changed]:
    flags = packet.flags
    if flags == "-":
        return
    for flag in _TOGGLED:
        other = flags.replace(flag, "") if flag in flags else flag + flags
        if other:
            yield Changed("flags", f"flags {other} for {flags}", replace(packet, flags=other))


def _of_marks(packet: tree.Packet) -> Iterator[Changed]:
    for index, mark in enumerate(packet.marks):
        if mark.name in _OTHER_ECN:
            other = tree.Mark(_OTHER_ECN[mark.name])
            marks = (*packet.marks[:index], other, *packet.marks[index + 1 :])
            what = f"{other.name} for {mark.name}"
            yield Changed("ECN", what, replace(packet, marks=marks))


# Options.


def _of_options(packet: tree.Packet, meanings: Meanings) -> Iterator[Changed]:
    options = None if packet.more_options else packet.options
    if not options:
        return
    sizes = [_size(each, meanings) for each in options]
    for index, option in enumerate(options):
        before, behind = options[:index], options[index + 1 :]

        def changed(
            kind: str,
            what: str,
            *new: fields.TcpOption,
            before: tuple[fields.TcpOption, ...] = before,
            behind: tuple[fields.TcpOption, ...] = behind,
        ) -> Changed:
            return Changed(kind, what, replace(packet, options=(*before, *new, *behind)))

        for kind, new in _other_values(option, meanings):
            yield changed(kind, f"{show_option(new)} for {show_option(option)}", new)
        size = sizes[index]
        if size is None or isinstance(option, fields.Nop | fields.Eol):
            continue
        name = show_option(option)
        # Options fill whole words, or packetdrill does not read the script.
        left = (fields.Nop(),) * (size % _WORD)
        yield changed("option left out", f"without {name}", *left)
        fill = (fields.Nop(),) * (-size % _WORD)
        yield changed("option twice", f"{name} twice", option, option, *fill)
        if isinstance(option, fields.FastOpen):
            # FOEXP is longer than FO by half a word.
            other = replace(option, experimental=not option.experimental)
            nops = (fields.Nop(), fields.Nop())
            what = f"{show_option(other)} for {name}"
            if option.experimental:
                yield changed("option kind", what, other, *nops)
            else:
                rest = behind[2:] if behind[:2] == nops else (*behind, *nops)
                yield changed("option kind", what, other, behind=rest)


def _other_values(
    option: fields.TcpOption, meanings: Meanings
) -> Iterator[tuple[str, fields.TcpOption]]:
    """The same option with another value, and what kind of field that is."""
    match option:
        case fields.Mss(int() as size):
            yield "mss", fields.Mss(size ^ 1)
        case fields.WindowScale(int() as shift):
            yield "wscale", fields.WindowScale(shift + (1 if shift < _LARGEST_SHIFT else -1))
        case fields.FastOpen(bytes() | fields.Symbol() as cookie):
            try:
                known = meanings.cookie(cookie)
            except MeaningError:
                return
            if known:
                yield "cookie", replace(option, cookie=bytes([known[0] ^ 0x80]) + known[1:])
                yield "cookie", replace(option, cookie=known[:-1] + bytes([known[-1] ^ 1]))
        case fields.Sack(blocks):
            for index, (left, right) in enumerate(blocks):
                pairs: list[tuple[fields.Value, fields.Value]] = []
                if isinstance(left, int):
                    pairs.append(((left + 1) % _MODULUS, right))
                if isinstance(right, int):
                    pairs.append((left, (right + 1) % _MODULUS))
                for pair in pairs:
                    yield "SACK edge", fields.Sack((*blocks[:index], pair, *blocks[index + 1 :]))


def _size(option: fields.TcpOption, meanings: Meanings) -> int | None:
    """Bytes; None: its content is not known before the run."""
    try:
        raw = raw_option(option, meanings, edge_offset=0, echo=lambda _: 0)
    except MeaningError:
        return None
    return len(push_options([raw]))


# System calls.


def _of_call(call: tree.Syscall) -> Iterator[Changed]:
    if isinstance(call.result, tree.Number):
        result = call.result.value
        other = result + 1
        if result >= 0 and call.name in _MAKES_DESCRIPTOR:
            other = -1
        number = replace(call.result, value=other)
        yield Changed("result", f"result {other} for {result}", replace(call, result=number))
    if call.errno is not None:
        errno = "EBADF" if call.errno == "EINVAL" else "EINVAL"
        yield Changed("errno", f"{errno} for {call.errno}", replace(call, errno=errno))

    for index, argument in enumerate(call.arguments):
        other_answer = _other_answer(call, index, argument)
        if other_answer is not None:
            what = f"{show_expression(other_answer)} for {show_expression(argument)}"
            arguments = (*call.arguments[:index], other_answer, *call.arguments[index + 1 :])
            yield Changed("answer", what, replace(call, arguments=arguments))


def _other_answer(
    call: tree.Syscall, index: int, argument: tree.Expression
) -> tree.Expression | None:
    """Where the kernel fills the argument in, and both engines look at it: another one."""
    match call.name, index, argument:
        case ("getsockopt", 3, tree.Array((tree.Number(value),))) | (
            "ioctl",
            2,
            tree.Array((tree.Number(value),)),
        ):
            return tree.Array((tree.Number(value + 1),))
        case "poll", 0, tree.Array((tree.Struct(items), *others)):
            changed = tree.Struct(tuple(map(_other_events, items)))
            return tree.Array((changed, *others)) if changed.items != items else None
    return None


def _other_events(item: tree.Expression | tree.Field) -> tree.Expression | tree.Field:
    match item:
        case tree.Field("revents", tree.Number(0)):
            return replace(item, value=tree.Name("POLLHUP"))
        case tree.Field("revents"):
            return replace(item, value=tree.Number(0))
    return item
