"""Segments that are signed with TCP MD5 (RFC 2385), as a client sends them and checks them.

The reference has signatures of its own: neither shares the mistakes of the other.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.segment import PROTOCOL_TCP, Segment

SIZE = 20
"""Bytes that a signature takes of the options, with what pads it."""

_DIGEST = 16
_CHECKSUM = slice(16, 18)
_FIXED = 20


def signed(segment: Segment, key: bytes) -> Segment:
    """The segment with its digest, behind its other options.

    Where they leave no room, Segment.to_bytes raises as for any options that are too long.
    """
    # What pads a header ends its options.
    kept = [each for each in opt.pull_options(segment.options) if each.kind != opt.EOL]
    block = opt.push_options(kept)
    block += opt.push_options([opt.nop()] * (-len(block) % 4))
    longer = replace(segment, options=block + _option(bytes(_DIGEST)))
    return replace(segment, options=block + _option(_digest(longer, key)))


def is_signed(segment: Segment, key: bytes) -> bool:
    """Whether its digest is right."""
    found = segment.option(opt.MD5)
    return found is not None and found.data == _digest(segment, key)


def _option(digest: bytes) -> bytes:
    return opt.push_options([opt.nop(), opt.nop(), RawOption(opt.MD5, 2 + len(digest), digest)])


def _digest(segment: Segment, key: bytes) -> bytes:
    """Of the pseudo header, the header without options and checksum, and the text (section 2.0)."""
    packet = replace(segment, extensions=()).to_bytes()
    tcp = bytearray(packet[40:] if packet[0] >> 4 == 6 else packet[(packet[0] & 15) * 4 :])
    tcp[_CHECKSUM] = b"\0\0"
    text = bytes(tcp[(tcp[12] >> 4) * 4 :])
    size = len(tcp).to_bytes(4, "big")
    if segment.src.version == 4:
        protocol = b"\0" + bytes([PROTOCOL_TCP]) + size[2:]
    else:
        protocol = size + bytes(3) + bytes([PROTOCOL_TCP])
    ends = segment.src.packed + segment.dst.packed
    whole = ends + protocol + bytes(tcp[:_FIXED]) + text + key
    return hashlib.md5(whole, usedforsecurity=False).digest()
