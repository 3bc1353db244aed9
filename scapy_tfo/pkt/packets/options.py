"""Turns TCP options of a script into those on the wire."""

from __future__ import annotations

import struct
from collections.abc import Callable

from scapy_tfo import option as opt
from scapy_tfo.pkt.language import fields
from scapy_tfo.pkt.packets.bindings import MeaningError, Meanings, closed, closed_cookie

ACC_ECN_0, ACC_ECN_1 = 172, 174
"""Accurate ECN, counters in the order e0b, ceb, e1b; or e1b, ceb, e0b."""

_MODULUS = 1 << 32


def raw_option(
    option: fields.TcpOption,
    meanings: Meanings,
    *,
    edge_offset: int,
    echo: Callable[[fields.OpenValue], int],
) -> opt.RawOption:
    """One option for the wire. edge_offset: to add to the edges of a SACK block. echo: what a
    TS ecr is on the wire. Raises MeaningError."""

    def number(value: fields.OpenValue) -> int:
        return meanings.number(closed(value))

    match option:
        case fields.Nop():
            return opt.nop()
        case fields.Eol():
            return opt.RawOption(opt.EOL)
        case fields.Mss(size):
            return opt.mss(_fitting("mss", number(size), 16))
        case fields.WindowScale(shift):
            return opt.window_scale(_fitting("wscale", number(shift), 8))
        case fields.SackPermitted():
            return opt.sack_permitted()
        case fields.Sack(blocks):
            edges = [
                (meanings.number(edge) + edge_offset) % _MODULUS
                for block in blocks
                for edge in block
            ]
            return opt.RawOption(
                opt.SACK, 2 + 4 * len(edges), struct.pack(f"!{len(edges)}I", *edges)
            )
        case fields.Timestamps(value, ecr):
            return opt.timestamps(number(value), echo(ecr))
        case fields.FastOpen(cookie, experimental):
            form = opt.Form.EXPERIMENT_2 if experimental else opt.Form.IANA
            content = b"" if cookie is None else meanings.cookie(closed_cookie(cookie))
            return opt.fast_open(content, form=form)
        case fields.Md5(digest):
            return opt.RawOption(opt.MD5, 2 + len(digest), digest)
        case fields.AccEcn(counters):
            kind = ACC_ECN_1 if counters and counters[0][0] == "e1b" else ACC_ECN_0
            content = b"".join(
                _fitting(name, meanings.number(value), 24).to_bytes(3, "big")
                for name, value in counters
            )
            return opt.RawOption(kind, 2 + len(content), content)
        case fields.RawOption(kind, length, data):
            if kind in (opt.EOL, opt.NOP) and length is None and not data:
                return opt.RawOption(kind)
            return opt.RawOption(kind, 2 + len(data) if length is None else length, data)


def _fitting(name: str, value: int, bits: int) -> int:
    if value >> bits:
        raise MeaningError(f"{name} {value} does not fit into {bits} bits")
    return value
