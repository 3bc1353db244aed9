"""What packets of a client have beside what the conversation asks for, and no receiver may mind.

The bytes of a packet are changed when it arrives, behind the back of whoever judges: a field that
says nothing is no excuse for a target. What has no room in a packet is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo import extension_headers
from scapy_tfo import option as opt
from scapy_tfo.extension_headers import DESTINATION, HOP_BY_HOP
from scapy_tfo.segment import URG, internet_checksum

Edit = Callable[[bytes], bytes]

_IPV4, _IPV6 = 20, 40
"""Bytes of the headers that the reference sends."""
_TCP = 6
"""The protocol's number."""
_OFFSET, _FLAGS, _CHECKSUM, _URGENT, _OPTIONS = 12, 13, 16, 18, 20
"""Where they stand in the header of TCP."""
_RESERVED = 0b1110
"""Of the bits beside the data offset; the fourth is that of accurate ECN (RFC 9768)."""
_POINTER = 0xFFFF
_NO_OPERATION = 1
"""An option of IPv4 that says nothing (RFC 791 section 3.1)."""
UNKNOWN = 77
"""A kind of option that nobody has been given."""


def _start(packet: bytes) -> int:
    """Where TCP begins in a packet that the reference sent."""
    return _IPV4 if packet[0] >> 4 == 4 else _IPV6


def _with_tcp(packet: bytes, tcp: bytes) -> bytes:
    """The packet with another segment in it, and the right length and checksums."""
    start = _start(packet)
    if start == _IPV4:
        head = packet[:2] + (start + len(tcp)).to_bytes(2, "big") + packet[4:10] + b"\0\0"
        head += packet[12:start]
        head = head[:10] + internet_checksum(head).to_bytes(2, "big") + head[12:]
        pseudo = packet[12:20] + bytes((0, _TCP)) + len(tcp).to_bytes(2, "big")
    else:
        head = packet[:4] + len(tcp).to_bytes(2, "big") + packet[6:start]
        pseudo = packet[8:40] + len(tcp).to_bytes(4, "big") + bytes((0, 0, 0, _TCP))
    blank = tcp[:_CHECKSUM] + b"\0\0" + tcp[_URGENT:]
    checksum = internet_checksum(pseudo + blank).to_bytes(2, "big")
    return head + blank[:_CHECKSUM] + checksum + blank[_URGENT:]


def urgent_pointer(packet: bytes) -> bytes:
    """An urgent pointer without URG says nothing (RFC 9293 section 3.1)."""
    tcp = packet[_start(packet) :]
    if tcp[_FLAGS] & URG:
        return packet
    return _with_tcp(packet, tcp[:_URGENT] + _POINTER.to_bytes(2, "big") + tcp[_OPTIONS:])


def checksum_of(value: int) -> Edit:
    """A checksum of 0 or 0xFFFF, which are both zero in one's complement (RFC 1071): an urgent
    pointer without URG makes up what is missing."""

    def edit(packet: bytes) -> bytes:
        start = _start(packet)
        tcp = packet[start:]
        if tcp[_FLAGS] & URG:
            return packet
        # The pointer was 0, so that what was the checksum fills the sum up.
        sums = tcp[:_CHECKSUM] + value.to_bytes(2, "big") + tcp[_CHECKSUM:_URGENT] + tcp[_OPTIONS:]
        return packet[:start] + sums

    return edit


def reserved_bits(packet: bytes) -> bytes:
    """Bits that have no meaning yet, which a receiver ignores (RFC 9293 section 3.1)."""
    tcp = packet[_start(packet) :]
    return _with_tcp(packet, tcp[:_OFFSET] + bytes((tcp[_OFFSET] | _RESERVED,)) + tcp[_FLAGS:])


def ip_options(size: int) -> Edit:
    """So many bytes of IPv4 options, all of them No Operation (RFC 791 section 3.1)."""

    def edit(packet: bytes) -> bytes:
        if packet[0] >> 4 != 4:
            return packet
        words = (_IPV4 + size) // 4
        total = (len(packet) + size).to_bytes(2, "big")
        head = bytes((0x40 | words, packet[1])) + total + packet[4:10] + b"\0\0" + packet[12:_IPV4]
        head += bytes((_NO_OPERATION,)) * size
        checksum = internet_checksum(head).to_bytes(2, "big")
        return head[:10] + checksum + head[12:] + packet[_IPV4:]

    return edit


def extensions(*kinds: int, size: int) -> Edit:
    """Extension headers of IPv6 that hold padding only (RFC 8200 section 4.2)."""
    chain = [extension_headers.padding(kind, size) for kind in kinds]
    first, block = extension_headers.push(chain, _TCP)

    def edit(packet: bytes) -> bytes:
        if packet[0] >> 4 != 6:
            return packet
        length = int.from_bytes(packet[4:6], "big") + len(block)
        head = packet[:4] + length.to_bytes(2, "big") + bytes((first,))
        return head + packet[7:_IPV6] + block + packet[_IPV6:]

    return edit


def _without_padding(block: bytes) -> bytes:
    """Options without what fills them up at their end."""
    kept = list(opt.pulled(block))
    while kept and kept[-1].kind in (opt.EOL, opt.NOP):
        kept.pop()
    return opt.push_options(kept)


def unknown_option(size: int, *, first: bool) -> Edit:
    """An option of a kind that nobody knows, in each segment (RFC 9293 section 3.1, MUST-6).

    size: of it, in bytes, 0 for all the room that is left. first: it stands before the others.
    """

    def edit(packet: bytes) -> bytes:
        tcp = packet[_start(packet) :]
        stop = (tcp[12] >> 4) * 4
        others = tcp[_OPTIONS:stop]
        if not first:
            others = _without_padding(others)
        room = opt.MAX_OPTIONS - len(others)
        length = size or room
        if not 2 <= length <= room:
            return packet
        own = bytes((UNKNOWN, length)) + b"\xa5" * (length - 2)
        block = opt.padded(own + others if first else others + own)
        words = (_OPTIONS + len(block)) // 4
        head = tcp[:12] + bytes((words << 4 | tcp[12] & 15,)) + tcp[13:_OPTIONS]
        return _with_tcp(packet, head + block + tcp[stop:])

    return edit


def _options() -> dict[str, Edit]:
    return {
        f"{where} {size or 'all'}": unknown_option(size, first=where == "first")
        for where in ("first", "last")
        for size in (0, *range(2, 39))
    }


EDITS: dict[str, Edit] = {
    "reserved bits": reserved_bits,
    "urgent pointer": urgent_pointer,
    "checksum 0": checksum_of(0),
    "checksum 65535": checksum_of(0xFFFF),
    "ip options 4": ip_options(4),
    "ip options 40": ip_options(40),
    "hop by hop": extensions(HOP_BY_HOP, size=8),
    "destination": extensions(DESTINATION, size=8),
    "long extensions": extensions(HOP_BY_HOP, DESTINATION, size=40),
    **_options(),
}
"""Every one, by name."""


def dressed(packet: bytes, names: tuple[str, ...]) -> bytes:
    """The packet after these edits. Options come first, for a checksum is of all that TCP has; what
    stands below TCP comes last."""
    for name in sorted(names, key=_place):
        packet = EDITS[name](packet)
    return packet


_BELOW = ("ip options 4", "ip options 40", "hop by hop", "destination", "long extensions")
_FIELDS = ("reserved bits", "urgent pointer", "checksum 0", "checksum 65535")


def _place(name: str) -> int:
    return 2 if name in _BELOW else int(name in _FIELDS)
