"""Describes a segment off the wire in a script's words and numbers.

If two segments differ, so do their descriptions, with three exceptions that no script can name: the
hop limit, reserved bits other than the last (AE), and the bytes of the payload.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from scapy_tfo import option as opt
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG, Segment
from scapy_tfo.seq import add

_LETTERS = ((FIN, "F"), (SYN, "S"), (RST, "R"), (PSH, "P"), (URG, "U"), (ECE, "E"), (CWR, "W"))
_AE = 1
"""The last of the reserved bits: Accurate ECN."""

_ECN = {1: "ect1", 2: "ect0", 3: "ce"}
_COUNTERS = {172: ("e0b", "ceb", "e1b"), 174: ("e1b", "ceb", "e0b")}
_LONGEST_DIGEST = 16
_EXID = opt.EXID.to_bytes(2, "big")

TimestampMap = Callable[[int, int], tuple[int, int]]
"""From TSval and TSecr on the wire to those of the script."""


def describe(
    segment: Segment,
    direction: tree.Direction,
    *,
    seq_offset: int = 0,
    ack_offset: int = 0,
    timestamps: TimestampMap | None = None,
    ports: tuple[int, int] | None = None,
) -> tree.Packet:
    """The segment as it would stand in a script. Never raises.

    seq_offset, ack_offset: what to add, modulo 2**32, to its sequence number, and to what it
    acknowledges (SACK blocks too; an acknowledgement number without the ACK bit stays as it is).
    timestamps: None keeps them as they are. ports: to show before its flags.

    An option that is not what its kind says (RFC 9293 section 3.2, RFC 7323, RFC 2018, RFC 7413)
    becomes a raw one, whose bytes are the same. Only packets that a script sends may have faults
    in its text; here they stand in either direction.
    """
    has_ack = bool(segment.flags & ACK)
    start, size = add(segment.seq, seq_offset), len(segment.payload)
    ack = add(segment.ack, ack_offset if has_ack else 0)
    options = segment.options if segment.data_offset is not None else opt.padded(segment.options)
    return tree.Packet(
        direction=direction,
        flags=flag_letters(segment),
        range=tree.Range(start, add(start, size), size),
        ack=ack if has_ack or ack else None,
        win=segment.window,
        urg=segment.urgent or None,
        options=describe_options(options, ack_offset=ack_offset, timestamps=timestamps),
        marks=_marks(segment.traffic_class),
        ports=ports,
        faults=tuple(_faults(segment)),
    )


def flag_letters(segment: Segment) -> str:
    """Such as `SEW` or `P.`; `-` for none."""
    letters = "".join(letter for bit, letter in _LETTERS if segment.flags & bit)
    letters += "A" if segment.reserved & _AE else ""
    return letters + ("." if segment.flags & ACK else "") or "-"


def describe_options(
    block: bytes, *, ack_offset: int = 0, timestamps: TimestampMap | None = None
) -> tuple[fields.TcpOption, ...]:
    """Every option of an options field, padding too: written again, they have its bytes."""
    return tuple(_option(each, ack_offset, timestamps) for each in _apart(block))


def _apart(block: bytes) -> list[opt.RawOption]:
    """The options, with what stands behind an EOL too, though nobody reads it.

    A kind that is the field's last byte has no length to be written with: it becomes part of the
    option before it.
    """
    options = list(opt.pull_options(block))
    while options and options[-1].data and options[-1].kind == opt.EOL:
        options[-1:] = [opt.RawOption(opt.EOL), *opt.pull_options(options[-1].data)]
    if len(options) > 1 and not options[-1].is_sound and options[-1].length is None:
        before, last = options[-2:]
        if before.length is None:
            options[-2:] = [opt.RawOption(before.kind, last.kind)]
        else:
            options[-2:] = [
                opt.RawOption(before.kind, before.length, before.data + bytes([last.kind]))
            ]
    return options


def _option(
    option: opt.RawOption, ack_offset: int, timestamps: TimestampMap | None
) -> fields.TcpOption:
    kind, data = option.kind, option.data
    if not option.is_sound:
        return fields.RawOption(kind, option.length, data)
    match kind, len(data):
        case opt.EOL, _:
            return fields.Eol()
        case opt.NOP, _:
            return fields.Nop()
        case opt.MSS, 2:
            return fields.Mss(int.from_bytes(data, "big"))
        case opt.WINDOW_SCALE, 1:
            return fields.WindowScale(data[0])
        case opt.SACK_PERMITTED, 0:
            return fields.SackPermitted()
        case opt.SACK, size if size and size % 8 == 0:
            edges = [add(edge, ack_offset) for (edge,) in struct.iter_unpack("!I", data)]
            return fields.Sack(tuple(zip(edges[::2], edges[1::2], strict=True)))
        case opt.TIMESTAMPS, 8:
            value, echo = struct.unpack("!II", data)
            return fields.Timestamps(*(timestamps(value, echo) if timestamps else (value, echo)))
        case opt.MD5, size if 0 < size <= _LONGEST_DIGEST:
            return fields.Md5(data)
        case opt.TFO, _:
            return fields.FastOpen(data or None)
        case opt.EXPERIMENT_2, _ if data[:2] == _EXID:
            return fields.FastOpen(data[2:] or None, experimental=True)
        case _, (3 | 6 | 9) as size if kind in _COUNTERS:
            counts = [int.from_bytes(data[at : at + 3], "big") for at in range(0, size, 3)]
            return fields.AccEcn(tuple(zip(_COUNTERS[kind], counts, strict=False)))
    return fields.RawOption(kind, None, data)


def _marks(traffic_class: int) -> tuple[tree.Mark, ...]:
    if not traffic_class:
        return ()
    ecn = _ECN.get(traffic_class)
    return (tree.Mark("tos", traffic_class) if ecn is None else tree.Mark(ecn),)


def _faults(segment: Segment) -> Iterator[tree.Fault]:
    if segment.checksum is not None:
        yield tree.Fault("checksum", segment.checksum)
    if segment.data_offset is not None:
        yield tree.Fault("doff", segment.data_offset)
