"""Sequence diagrams as text: the suite on the left, the target on the right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from textwrap import wrap

from scapy_tfo.icmp import IcmpError, is_about_tcp
from scapy_tfo.report.escape import one_line
from scapy_tfo.segment import PROTOCOL_TCP, SYN, MalformedPacketError, Segment, endpoint
from scapy_tfo.seq import distance
from scapy_tfo.suite.result import CapturedPacket, Result

WIDTH = 100
_MOST_ROWS = 40
_FRAGMENT_OFFSET = 0x1FFF
_NEIGHBOURS = 3
_MIN_LANE = 44
_MARGIN = 23
"""Columns before the suite's bar: mark, number, time."""

_COMMENT = f"{'':24}: "
"""Before a comment that has a line of its own."""

_ICMP_NAMES = {
    (4, 3, 0): "network unreachable",
    (4, 3, 1): "host unreachable",
    (4, 3, 2): "protocol unreachable",
    (4, 3, 3): "port unreachable",
    (4, 3, 4): "fragmentation needed",
    (4, 3, 13): "administratively prohibited",
    (4, 11, 0): "time exceeded",
    (4, 12, 0): "parameter problem",
    (6, 1, 0): "no route",
    (6, 1, 1): "administratively prohibited",
    (6, 1, 3): "address unreachable",
    (6, 1, 4): "port unreachable",
    (6, 2, 0): "packet too big",
    (6, 3, 0): "time exceeded",
    (6, 4, 0): "parameter problem",
}


Flow = tuple[bytes, bytes]
"""The suite's end of a connection and the target's: packed address, then port in two bytes."""


class Trace:
    """The packets of a run, found again by number and by connection."""

    def __init__(self, packets: Iterable[CapturedPacket]) -> None:
        self._packets = packets
        self._key: dict[int, bytes] = {}
        self._drawn: dict[tuple[str, tuple[int, ...], int], str] = {}

    @cached_property
    def _conversations(self) -> dict[bytes, list[CapturedPacket]]:
        # Only what failed is drawn, and mostly nothing has.
        found: dict[bytes, list[CapturedPacket]] = {}
        for each in self._packets:
            key = self._key[each.number] = _flow_key(each.data)
            found.setdefault(key, []).append(each)
        return found

    def conversation(self, numbers: Iterable[int]) -> list[CapturedPacket]:
        """Every packet of the connections that the numbered packets belong to, in order."""
        conversations = self._conversations
        keys = {self._key[number] for number in numbers if number in self._key}
        found = [packet for key in keys for packet in conversations[key]]
        return sorted(found, key=lambda packet: packet.number)

    def draw(self, result: Result, width: int = WIDTH) -> str:
        """The conversation around the packets of a result, these marked; "" without packets."""
        numbers = result.packets
        name = f"{result.case} [ipv{result.family}]"
        key = name, numbers, width
        if key not in self._drawn:
            said = (f"sent by {name}", f"for {name}", f"{result.verdict.name}: {result.reason}")
            self._drawn[key] = draw(self.conversation(numbers), numbers, said=said, width=width)
        return self._drawn[key]


def draw(
    packets: Sequence[CapturedPacket],
    judged: Iterable[int],
    *,
    said: Iterable[str] = (),
    width: int = WIDTH,
) -> str:
    """A line for each packet: number, milliseconds since the first, direction, what it says.

    packets: in order. judged: numbers of those that get a `*`. said: phrases to leave out of the
    comments, for they stand beside the diagram. Sequence and acknowledgement
    numbers count from the initial ones, primed where an endpoint chose a second; an endpoint
    whose SYN is not there keeps its own. Far from a judged packet, long conversations are cut.
    Lines are ASCII but for the comments, and fit `width` columns, of which there must be 60: what
    is longer goes on in the next line, and breaks between words.
    """
    if not packets:
        return ""
    marked = frozenset(judged)
    rows = _rows(packets, marked)
    shown = _near_judged(rows)
    flows = list(dict.fromkeys(row.flow for row in shown if row.flow))
    names = {flow: _letters(n) if len(flows) > 1 else "" for n, flow in enumerate(flows)}
    texts = [
        f"{names[row.flow]} {row.text}" if row.flow and names[row.flow] else row.text
        for row in shown
    ]
    most = width - _MARGIN - 2
    lane = min(max([_MIN_LANE, *(len(text) + 8 for text in texts)]), most)
    lines = [line for flow in flows for line in _legend(flow, names[flow], width)]
    lines.append(f"{'':4}{'no.':>6} {'ms':>10}  suite{'target':>{lane - 3}}")
    start, last = packets[0].when, 0
    for row, text in zip(shown, texts, strict=True):
        if last and row.place > last + 1:
            lines.append(f"{'':22} ({row.place - last - 1} more)")
        last = row.place
        mark = "*" if row.packet.number in marked else ""
        arrow, *rest = _arrow(text, lane, outbound=row.packet.outbound)
        line = f"{mark:>3} {row.packet.number:>6} {(row.packet.when - start) * 1e3:>10.3f}  {arrow}"
        comment = one_line(_without(row.packet.comment, said))
        if comment and not rest and len(line) + 2 + len(comment) <= width:
            line, comment = f"{line}  {comment}", ""
        lines += [line, *(f"{'':{_MARGIN}}{each}" for each in rest)]
        lines += wrap(
            comment, width, initial_indent=_COMMENT, subsequent_indent=" " * len(_COMMENT)
        )
    if len(rows) > last:
        lines.append(f"{'':22} ({len(rows) - last} more)")
    return "\n".join(lines)


@dataclass(slots=True)
class _Row:
    place: int
    packet: CapturedPacket
    flow: Flow | None
    text: str
    judged: bool


@dataclass(slots=True)
class _Numbers:
    """Initial sequence numbers seen in one connection, by direction."""

    of: dict[bool, list[int]] = field(default_factory=lambda: {True: [], False: []})

    def learn(self, outbound: bool, segment: Segment) -> None:
        if int(segment.flags) & int(SYN) and segment.seq not in self.of[outbound]:
            self.of[outbound].append(segment.seq)

    def relative(self, outbound: bool, number: int) -> str:
        known = self.of[outbound]
        if not known:
            return str(number)
        # A number belongs to the initial one it is nearest to; the later one of two as near.
        ahead, _, which = min((abs(distance(isn, number)), -n, n) for n, isn in enumerate(known))
        sign = "-" if ahead and distance(known[which], number) < 0 else ""
        return f"{sign}{ahead}{chr(39) * which}"


def _rows(packets: Sequence[CapturedPacket], judged: frozenset[int]) -> list[_Row]:
    numbers: dict[Flow, _Numbers] = {}
    rows = []
    for place, packet in enumerate(packets, 1):
        flow, text = _describe(packet, numbers)
        rows.append(_Row(place, packet, flow, text, packet.number in judged))
    return rows


def _describe(packet: CapturedPacket, numbers: dict[Flow, _Numbers]) -> tuple[Flow | None, str]:
    try:
        segment = Segment.from_bytes(packet.data)
    except MalformedPacketError as error:
        icmp = IcmpError.from_bytes(packet.data)
        if icmp is not None:
            return None, _describe_icmp(icmp)
        return None, f"{len(packet.data)} bytes ({error})"
    src = segment.src.packed + segment.sport.to_bytes(2, "big")
    dst = segment.dst.packed + segment.dport.to_bytes(2, "big")
    flow = (src, dst) if packet.outbound else (dst, src)
    known = numbers.setdefault(flow, _Numbers())
    known.learn(packet.outbound, segment)
    said, _, rest = str(segment).partition(" len ")
    words = said.split(" ")
    text = f"{words[0]} seq {known.relative(packet.outbound, segment.seq)}"
    if "ack" in words:
        text += f" ack {known.relative(not packet.outbound, segment.ack)}"
    text += f" len {rest}"
    if segment.data_offset is not None:
        text += f" data offset {segment.data_offset}"
    # What the target sends may leave its checksum to a network card that is not there.
    if packet.outbound and segment.checksum is not None:
        text += " bad checksum"
    return flow, text


def _describe_icmp(icmp: IcmpError) -> str:
    name = _ICMP_NAMES.get((icmp.src.version, icmp.type, icmp.code))
    text = f"ICMP {name or f'type {icmp.type} code {icmp.code}'}"
    if icmp.quoted and not is_about_tcp(icmp):
        text += ", about no segment of TCP"
    return f"{text}, mtu {icmp.mtu}" if icmp.mtu else text


def _near_judged(rows: list[_Row]) -> list[_Row]:
    """The rows to show: all of few, else the first, and those about the judged, up to a limit."""
    if len(rows) <= _MOST_ROWS:
        return rows
    keep = set(range(_NEIGHBOURS)) if any(row.judged for row in rows) else set(range(_MOST_ROWS))
    for at, row in enumerate(rows):
        if row.judged:
            keep.update(range(max(at - _NEIGHBOURS, 0), min(at + _NEIGHBOURS + 1, len(rows))))
    return [rows[at] for at in sorted(keep)[:_MOST_ROWS]]


def _arrow(text: str, lane: int, *, outbound: bool) -> list[str]:
    """A packet between the two bars, `lane` columns apart; in several lines where it is long."""
    first, *rest = wrap(text, lane - 8, break_on_hyphens=False) or [""]
    line = "-" * (lane - len(first) - 6)
    arrow = f"|-- {first} {line}>|" if outbound else f"|<{line} {first} --|"
    bare = "|   {:<{}}    |" if outbound else "|    {:>{}}   |"
    return [arrow, *(bare.format(each, lane - 8) for each in rest)]


def _without(comment: str, said: Iterable[str]) -> str:
    for phrase in said:
        comment = comment.replace(phrase, "", 1) if phrase else comment
    return comment.strip(" :;")


def _legend(flow: Flow, name: str, width: int) -> list[str]:
    suite, target = (endpoint(ip_address(e[:-2]), int.from_bytes(e[-2:], "big")) for e in flow)
    text = f"{f'{name}: ' if name else ''}suite {suite}, target {target}"
    return wrap(
        text,
        width,
        initial_indent=" " * 4,
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _letters(number: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(65 + digit) + text
    return text


def _flow_key(data: bytes) -> bytes:
    """The same for both directions of a connection, and for ICMP errors about it.

    What names no ports, such as a later fragment, is a conversation of its own.
    """
    ends = _ends(data)
    if ends is None and (icmp := IcmpError.from_bytes(data)) is not None:
        ends = _ends(icmp.quoted)
    return min(ends[0] + ends[1], ends[1] + ends[0]) if ends else data


def _ends(data: bytes) -> tuple[bytes, bytes] | None:
    version = data[0] >> 4 if data else 0
    if version == 4 and len(data) >= 20 and data[9] == PROTOCOL_TCP:
        if int.from_bytes(data[6:8], "big") & _FRAGMENT_OFFSET:
            return None
        head = (data[0] & 15) * 4
        src, dst = data[12:16], data[16:20]
    elif version == 6 and len(data) >= 40 and data[6] == PROTOCOL_TCP:
        head = 40
        src, dst = data[8:24], data[24:40]
    else:
        return None
    if len(data) < head + 4:
        return None
    return src + data[head : head + 2], dst + data[head + 2 : head + 4]
