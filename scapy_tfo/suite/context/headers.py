"""The headers of segments in a context."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

from scapy_tfo.extension_headers import DESTINATION, HOP_BY_HOP, Extension, padding
from scapy_tfo.segment import CWR, ECE, PSH, RST, SYN, URG, Segment, internet_checksum
from scapy_tfo.suite.context.context import Context

_ECN_BITS = {"ect": 2, "ce": 3}

_LARGEST = {4: 0xFFFF, 6: 0xFFFFF}
"""Identification of IPv4, flow label of IPv6."""

_NOP = 1
_IPV4_OPTIONS = {"none": 0, "short": 4, "long": 40}
"""Bytes of NOP behind the IPv4 header (RFC 791 section 3.1)."""

_EXTENSIONS: dict[str, tuple[Extension, ...]] = {
    "none": (),
    "short": (padding(DESTINATION),),
    "long": (padding(HOP_BY_HOP), padding(DESTINATION, 64)),
}


def overhead(context: Context, family: int) -> int:
    """Bytes that the IP header of a segment has beyond its fixed ones."""
    wanted = context["headers"]
    if family == 4:
        return _IPV4_OPTIONS[wanted]
    return sum(1 + len(body) for _, body in _EXTENSIONS[wanted])


def mark(context: Context, family: int, values: MutableMapping[str, Any]) -> None:
    """Give fields of a Segment the values of the context. values: by their names."""
    values["traffic_class"] = int(context["dscp"]) << 2 | _ECN_BITS.get(context["ecn"], 0)
    label = context["label"]
    values["ip_id" if family == 4 else "flow_label"] = (
        _LARGEST[family] if label == "max" else int(label)
    )
    if family == 6:
        values["extensions"] = _EXTENSIONS[context["headers"]]
    urgent = context["urgent"]
    values["urgent"] = 0 if urgent.startswith("sum") else int(urgent)
    values["flags"] = _flags(context, values["flags"], bool(values["payload"]))


def _flags(context: Context, flags: int, text: bool) -> int:
    push = context["push"]
    if flags & SYN:
        flags |= PSH if push == "syn" and text else 0
        alone = flags & ~PSH == SYN
        return flags | ECE | CWR if alone and context["ecn"] == "setup" else flags
    if flags & RST or push in ("usual", "syn"):
        return flags
    return flags | PSH if push == "all" else flags & ~PSH


def summed(context: Context, segment: Segment) -> Segment:
    """The segment, its checksum the one of the context: the urgent pointer, which says nothing
    without URG, makes up for it (RFC 1071: 0xFFFF stands for zero as 0 does)."""
    wanted = context["urgent"]
    told = segment.checksum is not None or segment.data_offset is not None
    if not wanted.startswith("sum") or told or segment.flags & URG:
        return segment
    bare = replace(segment, urgent=0)
    # Whatever the checksum is with a pointer of 0, a pointer of that value makes it 0.
    urgent = int.from_bytes(_tcp(bare)[16:18], "big")
    return replace(bare, urgent=urgent, checksum=0xFFFF if wanted == "sumffff" else None)


def _tcp(segment: Segment) -> bytes:
    packet = replace(segment, extensions=()).to_bytes()
    return packet[20 if packet[0] >> 4 == 4 else 40 :]


def to_bytes(context: Context, segment: Segment, mtu: int) -> bytes:
    """The packet of a segment, with the IP options or extension headers that the MTU allows."""
    packet = segment.to_bytes()
    if segment.extensions and len(packet) > mtu:
        return replace(segment, extensions=()).to_bytes()
    size = _IPV4_OPTIONS[context["headers"]]
    if not size or packet[0] != 0x45 or len(packet) + size > mtu:
        return packet
    total = (len(packet) + size).to_bytes(2, "big")
    head = bytes((0x45 + size // 4, packet[1])) + total + packet[4:10] + b"\0\0" + packet[12:20]
    head += bytes((_NOP,)) * size
    checksum = internet_checksum(head).to_bytes(2, "big")
    return head[:10] + checksum + head[12:] + packet[20:]
