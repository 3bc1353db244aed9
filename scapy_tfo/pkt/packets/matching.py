"""Compares an outbound (`>`) packet of a script with the one that came: lists all differences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from scapy_tfo import option as opt
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.printing import show_option
from scapy_tfo.pkt.packets.bindings import Kept, MeaningError, Meanings, closed, closed_cookie
from scapy_tfo.pkt.packets.describe import describe
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.options import raw_option
from scapy_tfo.segment import SYN, Segment

_MODULUS = 1 << 32
_HALF = 1 << 31
_ECN_MASK = 3
_ECN = {"noecn": (0,), "ect1": (1,), "ect0": (2,), "ect01": (1, 2), "ce": (3,)}
_ECN_NAMES = ("noecn", "ect1", "ect0", "ce")
_NO_AE = ~1
_LABEL = 0xFFFFF
_KINDS: dict[type, int] = {
    fields.Mss: opt.MSS,
    fields.WindowScale: opt.WINDOW_SCALE,
    fields.SackPermitted: opt.SACK_PERMITTED,
    fields.Sack: opt.SACK,
    fields.Timestamps: opt.TIMESTAMPS,
    fields.Md5: opt.MD5,
}


@dataclass(frozen=True, slots=True)
class Heard:
    """One packet of the kernel, or several that follow each other, taken for one.

    flow_label: of IPv6, else 0.
    """

    segment: Segment
    flow_label: int = 0


def heard_as(data: bytes, segment: Segment) -> Heard:
    """A packet as it is on the wire, and its segment, which may be of several."""
    is_labelled = data[0] >> 4 == 6
    return Heard(segment, int.from_bytes(data[:4], "big") & _LABEL if is_labelled else 0)


@dataclass(slots=True)
class Comparison:
    """differences: none, where the packet is the one that the script wants. kept: the values
    of `*=$NAME`. stamp: (script, wire) where both have a TS val."""

    differences: list[Difference] = field(default_factory=list)
    kept: dict[str, Kept] = field(default_factory=dict)
    stamp: tuple[int, int] | None = None

    def has(self, what: str) -> bool:
        """It is among the differences."""
        return any(each.what == what for each in self.differences)

    def differ(self, what: str, expected: object, actual: object) -> None:
        """Note one more."""
        self.differences.append(Difference(what, str(expected), str(actual)))


def in_script_terms(segment: Segment, flow: Flow) -> tree.Packet:
    """A segment that the kernel sent, with the script's numbers."""
    syn = bool(segment.flags & SYN)

    def stamps(value: int, echo: int) -> tuple[int, int]:
        script = flow.script_stamp(value)
        return value if script is None else script, echo

    packet = describe(
        segment,
        tree.Direction.OUTBOUND,
        seq_offset=-flow.local_offset(syn=syn) % _MODULUS,
        ack_offset=-flow.remote_offset(syn=syn) % _MODULUS,
        timestamps=stamps,
        ports=(flow.ports[1], flow.ports[0]) if flow.ports else None,
    )
    return replace(packet, client=flow.client)


def compare(
    expected: tree.Packet,
    heard: Heard,
    flow: Flow,
    meanings: Meanings,
    *,
    tick: int = 0,
    stamp_tolerance: int = 0,
    any_order: bool = False,
    any_segments: bool = False,
    any_data: bool = False,
) -> Comparison:
    """What differs, all of it. tick: ns of one unit of TS val, 0: not looked at.

    stamp_tolerance: ns by which a TS val may be off. any_order: of the options, and padding
    aside. any_segments: so PSH says nothing. any_data: not only zeros. Raises MeaningError.
    """
    found = Comparison()
    segment = heard.segment
    actual = in_script_terms(segment, flow)
    passed = "P" if any_segments and segment.payload else ""
    if expected.flags != "-" and _flags(expected, passed) != _flags(actual, passed):
        found.differ("flags", expected.flags, actual.flags)
    elif expected.flags == "-" != actual.flags:
        found.differ("flags", "none", actual.flags)
    if segment.reserved & _NO_AE:
        found.differ("reserved bits", 0, segment.reserved & _NO_AE)
    start, length = meanings.number(expected.range.start), meanings.number(expected.range.length)
    on_wire = {fault.name: meanings.number(fault.value or 0) for fault in expected.faults}
    if "seq" in on_wire:
        if on_wire["seq"] != segment.seq:
            found.differ("seq on the wire", on_wire["seq"], segment.seq)
    elif start != actual.range.start:
        found.differ("seq", start, actual.range.start)
    if length != len(segment.payload):
        found.differ("bytes of data", length, len(segment.payload))
    for name, wanted, got in (
        ("ack", expected.ack, actual.ack),
        ("urg", expected.urg, actual.urg),
    ):
        number = 0 if wanted is None else meanings.number(wanted)
        if name in on_wire:
            number, got = on_wire[name], segment.ack
        if number != (got or 0):
            found.differ(name, number, got or 0)
    if expected.win is not None and meanings.number(expected.win) != segment.window:
        found.differ("win", meanings.number(expected.win), segment.window)
    _compare_soundness(segment, found, any_data=any_data)
    isn = segment.seq if segment.flags & SYN else flow.live_isn
    if expected.isn is not None and _compare_number("isn", expected.isn, isn, meanings, found):
        found.differ("isn", meanings.number(closed(expected.isn)), isn)
    _compare_marks(expected, heard, flow, found)
    if expected.options is not None:
        _compare_options(expected, actual, segment, meanings, found, any_order)
    if found.stamp is not None:
        _compare_clock(*found.stamp, flow, found, tick, stamp_tolerance)
    return found


def _compare_soundness(segment: Segment, found: Comparison, *, any_data: bool) -> None:
    """What no script can ask for."""
    if any(segment.payload) and not any_data:
        found.differ("data", "zeros", "other bytes")
    if segment.checksum is not None:
        found.differ("checksum", "a right one", hex(segment.checksum))
    if segment.data_offset is not None:
        found.differ("data offset", "a right one", segment.data_offset)


def _flags(packet: tree.Packet, passed: str) -> list[str]:
    return sorted(each for each in packet.flags if each not in passed)


def _signed(number: int) -> int:
    return (number + _HALF) % _MODULUS - _HALF


def _compare_marks(expected: tree.Packet, heard: Heard, flow: Flow, found: Comparison) -> None:
    traffic_class = heard.segment.traffic_class
    for mark in expected.marks:
        if mark.name in _ECN:
            bits = traffic_class & _ECN_MASK
            if bits not in _ECN[mark.name]:
                found.differ("ECN", mark.name, _ECN_NAMES[bits])
        elif mark.name == "tos" and mark.value != traffic_class:
            found.differ("tos", hex(mark.value or 0), hex(traffic_class))
        elif mark.name == "ttl" and mark.value != heard.segment.hop_limit:
            found.differ("ttl", mark.value, heard.segment.hop_limit)
        elif mark.name == "flowlabel" and mark.value:
            _compare_labels(mark.value, heard.flow_label, flow, found)


def _compare_clock(
    script: int, live: int, flow: Flow, found: Comparison, tick: int, tolerance: int
) -> None:
    """A TS val does not go back (RFC 7323 section 4.1), whatever its clock's tick; where that is
    known, it is so far from the first as the script says."""
    mapped = flow.script_stamp(live)
    last = next(reversed(flow.stamps.items()), None)
    if last is not None and _signed(script - last[0]) >= 0 > _signed(live - last[1]):
        found.differ("TS val", f"not before {last[0]}", mapped)
    elif tick and mapped is not None and abs(_signed(mapped - script)) * tick > tolerance:
        found.differ("TS val", script, mapped)


def _compare_labels(script: int, live: int, flow: Flow, found: Comparison) -> None:
    """A label stands for any, the same one each time; another one for a change."""
    known = flow.flow_labels
    if not live:
        found.differ("flow label", "one", "none")
    elif known is not None and (script == known[0]) != (live == known[1]):
        wanted = "the one before" if script == known[0] else "another than before"
        found.differ("flow label", wanted, hex(live))
    else:
        flow.flow_labels = (script, live)


def _compare_options(
    expected: tree.Packet,
    actual: tree.Packet,
    segment: Segment,
    meanings: Meanings,
    found: Comparison,
    any_order: bool,
) -> None:
    wanted = list(expected.options or ())
    got = list(actual.options or ())
    if expected.more_options:
        wanted, got = _by_kind(wanted), _by_kind(got)
        got = [each for each in got if any(type(each) is type(one) for one in wanted)]
    elif any_order:
        wanted, got = _by_kind(wanted), _by_kind(got)
    # What fills up the last word is nobody's choice.
    while len(got) > len(wanted) and isinstance(got[-1], fields.Eol):
        got.pop()
    shown = _listed(wanted), _listed(got)
    if len(wanted) != len(got):
        found.differ("options", *shown)
    for one, other in zip(wanted, got, strict=False):
        problem = _compare_option(one, other, segment, meanings, found)
        if problem and len(wanted) == len(got):
            found.differ(problem, show_option(one), show_option(other))


def _compare_option(
    wanted: fields.TcpOption,
    got: fields.TcpOption,
    segment: Segment,
    meanings: Meanings,
    found: Comparison,
) -> str:
    """What differs, or ""."""
    if isinstance(wanted, fields.RawOption):
        pair = [_bytes(each, meanings) for each in (wanted, got)]
        return "" if pair[0] == pair[1] else "option"
    if type(wanted) is not type(got):
        return "option"
    match wanted, got:
        case fields.Timestamps(), fields.Timestamps():
            return _compare_stamps(wanted, segment, meanings, found)
        case fields.FastOpen(cookie, experimental), fields.FastOpen(other, exp):
            if experimental != exp:
                return "option"
            if isinstance(cookie, fields.Other):
                kept = meanings.cookie(fields.Variable(cookie.name))
                is_one = isinstance(other, bytes) and len(other) in opt.COOKIE_SIZES
                return "" if is_one and other != kept else "cookie"
            if isinstance(cookie, fields.Wildcard):
                if cookie.keep is not None and isinstance(other, bytes):
                    found.kept[cookie.keep] = other
                is_one = isinstance(other, bytes) and len(other) in opt.COOKIE_SIZES
                return "" if is_one else "cookie"
            mine = None if cookie is None else meanings.cookie(closed_cookie(cookie))
            return "" if mine == other else "cookie"
        case fields.Mss(number), fields.Mss(seen) | fields.WindowScale(seen):
            return _compare_number("mss", number, seen, meanings, found)
        case fields.WindowScale(number), fields.WindowScale(seen):
            return _compare_number("wscale", number, seen, meanings, found)
    pair = [_bytes(each, meanings) for each in (wanted, got)]
    return "" if pair[0] == pair[1] else "option"


def _compare_stamps(
    wanted: fields.Timestamps, segment: Segment, meanings: Meanings, found: Comparison
) -> str:
    stamps = segment.timestamps
    if stamps is None:
        return "option"
    value, echo = stamps
    if isinstance(wanted.value, int | fields.Symbol):
        found.stamp = (meanings.number(wanted.value), value)
    elif _compare_number("TS val", wanted.value, value, meanings, found):
        return "TS val"
    return _compare_number("TS ecr", wanted.echo, echo, meanings, found)


def _compare_number(
    name: str, wanted: fields.OpenValue, got: object, meanings: Meanings, found: Comparison
) -> str:
    if isinstance(wanted, fields.Wildcard):
        if wanted.keep is not None and isinstance(got, int):
            found.kept[wanted.keep] = got
        return ""
    return "" if meanings.number(wanted) == got else name


def _bytes(option: fields.TcpOption, meanings: Meanings) -> bytes:
    def echo(value: fields.OpenValue) -> int:
        if isinstance(value, fields.Wildcard):
            raise MeaningError("'*' has no bytes")
        return meanings.number(value)

    return opt.push_options([raw_option(option, meanings, edge_offset=0, echo=echo)])


def _by_kind(options: list[fields.TcpOption]) -> list[fields.TcpOption]:
    real = [each for each in options if not isinstance(each, fields.Nop | fields.Eol)]

    def kind(option: fields.TcpOption) -> int:
        if isinstance(option, fields.RawOption):
            return option.kind
        if isinstance(option, fields.FastOpen):
            return opt.EXPERIMENT_2 if option.experimental else opt.TFO
        return _KINDS.get(type(option), 0)

    return sorted(real, key=kind)


def _listed(options: list[fields.TcpOption]) -> str:
    return "<" + ",".join(map(show_option, options)) + ">"
