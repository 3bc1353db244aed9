"""Writes what the reference answered as expectations that any right stack meets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.printing import show_script
from scapy_tfo.pkt.language.settings import ANY_ORDER

_SILENCE = 200_000_000
"""ns in which nothing is to come, where the target sent more than the reference."""

_TIMER = 100_000_000
"""ns: what takes so long was sent by a timer, of which RFC 6298 leaves much to the stack."""
_FIRST_TIMEOUT = 1_000_000_000
"""ns, RFC 6298 section 2.1."""


_MSS = "MSS"
_FIRST_MSS = fields.Wildcard(_MSS)


def written(
    script: tree.Script,
    right: Sequence[TracedPacket],
    wrong: Sequence[TracedPacket],
    *,
    differs: str,
    isns: bool,
) -> str:
    """The text of a script. differs: see `difference`. isns: SYN-ACKs have those of the first."""
    lines = script.lines
    if differs == "options":
        lines = tuple(_in_relation(lines))
    else:
        lines = tuple(map(_without_options, lines))
    lines = tuple(_without_acknowledgements(map(_in_wide_time, lines)))
    if isns:
        lines = tuple(_with_isns(lines))
    if differs in ("more", ""):
        late = max(each.when for each in wrong) - max(each.when for each in right)
        silence = tree.Silence(_SILENCE + max(round(late * 1e9), 0))
        lines = (*lines, tree.Event(tree.Time(), silence))
    first = next(at for at, each in enumerate(lines) if isinstance(each, tree.Command | tree.Event))
    lines = (*lines[:first], tree.Option(ANY_ORDER), tree.Blank(), *lines[first:])
    return show_script(replace(script, lines=lines))


def _in_wide_time(line: tree.Line) -> tree.Line:
    """What a timer sends may come when the stack's own timers say."""
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND), time=time) if (
            time.earliest >= _TIMER
        ):
            latest = 2 * time.earliest + _FIRST_TIMEOUT
            return replace(line, time=tree.Time(earliest=0, latest=latest))
    return line


def _without_acknowledgements(lines: Iterable[tree.Line]) -> Iterator[tree.Line]:
    """An ACK may come alone, or with what the stack sends next (RFC 9293 section 3.8.6.3)."""
    every = list(lines)
    for index, line in enumerate(every):
        packet = _expected(line)
        if packet is not None and _is_bare(packet) and _comes_again(packet, every[index + 1 :]):
            assert isinstance(line, tree.Event)
            yield replace(line, action=tree.AnyOf((packet,), or_none=True))
        else:
            yield line


def _is_bare(packet: tree.Packet) -> bool:
    return packet.flags == "." and not packet.range.length


def _comes_again(packet: tree.Packet, later: Iterable[tree.Line]) -> bool:
    """The next packet of its connection is the stack's as well, and acknowledges as much."""
    for line in later:
        match line:
            case tree.Event(action=tree.Packet() as other):
                is_sent = other.direction is tree.Direction.OUTBOUND
                ports = other.ports if is_sent else other.ports and other.ports[::-1]
                if (ports, other.client) == (packet.ports, packet.client):
                    return is_sent and other.ack == packet.ack
    return False


def _in_relation(lines: Sequence[tree.Line]) -> Iterator[tree.Line]:
    """Values that are the stack's own choice are compared with those that it chose before: the
    MSS is that of its first SYN-ACK, and one client's cookie not that of another."""
    text = show_script(tree.Script(tuple(lines)))
    is_known = False
    kept: dict[str, int] = {}
    several = sum("S" in each.flags and _has_mss(each) for each in map(_expected, lines) if each)
    for line in lines:
        packet = _expected(line)
        if packet is None or packet.options is None:
            yield line
            continue
        options: list[fields.TcpOption] = []
        for option in packet.options:
            match option:
                case fields.Mss() if several > 1:
                    option = fields.Mss(fields.Variable(_MSS) if is_known else _FIRST_MSS)
                    is_known = True
                case fields.Mss():
                    option = fields.Mss(fields.Wildcard())
                case fields.FastOpen(fields.Wildcard(str(name))):
                    other = next((one for one, at in kept.items() if at != packet.client), None)
                    if other is not None and text.count(f"${name}") == text.count(f"=${name}"):
                        option = replace(option, cookie=fields.Other(other))
                    kept[name] = packet.client
            options.append(option)
        assert isinstance(line, tree.Event)
        yield replace(line, action=replace(packet, options=tuple(options)))


def _expected(line: tree.Line) -> tree.Packet | None:
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND) as packet):
            return packet
    return None


def _has_mss(packet: tree.Packet) -> bool:
    return any(isinstance(each, fields.Mss) for each in packet.options or ())


def _with_isns(lines: Iterable[tree.Line]) -> Iterator[tree.Line]:
    """A SYN-ACK on the same ports as one before has its ISN."""
    known: dict[object, str] = {}
    for line in lines:
        match line:
            case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND) as packet) if (
                "S" in packet.flags
            ):
                place = packet.ports, packet.client
                isn = fields.Variable(known[place]) if place in known else None
                name = known.setdefault(place, f"ISN{len(known) + 1}")
                packet = replace(packet, isn=isn or fields.Wildcard(name))
                yield replace(line, action=packet)
            case _:
                yield line


def _without_options(line: tree.Line) -> tree.Line:
    """A packet that is expected may have any, but for a cookie that is kept."""
    match line:
        case tree.Event(action=tree.Packet(direction=tree.Direction.OUTBOUND) as packet):
            kept = any(
                isinstance(each, fields.FastOpen) and isinstance(each.cookie, fields.Wildcard)
                for each in packet.options or ()
            )
            return line if kept else replace(line, action=replace(packet, options=None))
    return line
