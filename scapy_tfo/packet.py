"""Builds and reads packets as bytes with struct alone, because every probe passes through here.

`scapy_tfo.segment` does the same with an object for each packet, at ten times the cost; the tests
compare the two.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from scapy_tfo.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG, internet_checksum

LETTERS = {"F": FIN, "S": SYN, "R": RST, "P": PSH, ".": ACK, "U": URG, "E": ECE, "W": CWR}
"""Flags as packetdrill writes them."""

_TCP = struct.Struct("!HHIIHHHH")
_IPV4 = struct.Struct("!BBHHHBBH")
_IPV6 = struct.Struct("!IHBB")
_TCP_BYTES, _IPV4_BYTES, _IPV6_BYTES = 20, 20, 40
_PROTOCOL = 6
_DONT_FRAGMENT = 0x4000
_HOPS = 64
_MORE = 0x2000


@lru_cache(256)
def flags_of(letters: str) -> int:
    """The flags byte for letters as in "S", "P." or "SEW". Raises KeyError for another letter."""
    flags = 0
    for each in letters:
        flags |= LETTERS[each]
    return flags


class Ends(NamedTuple):
    """Both ends of a flow. client and target: packed addresses."""

    client: bytes
    target: bytes
    sport: int
    dport: int


class Reply(NamedTuple):
    """A TCP segment from the target. sound: its checksum, offset and lengths are right, and its
    reserved bits 0. accurate: it has the AE bit beside them (RFC 9768 section 3.1)."""

    seq: int
    ack: int
    flags: int
    window: int
    options: bytes
    payload: bytes
    sound: bool
    accurate: bool = False


@lru_cache(4096)
def _head(client: bytes, target: bytes, size: int, traffic_class: int) -> tuple[bytes, int]:
    """The IP header before `size` bytes of TCP, and the sum of the pseudo header."""
    pseudo = int.from_bytes(client + target, "big") + size + _PROTOCOL
    if len(client) == 4:
        head = _IPV4.pack(
            0x45, traffic_class, _IPV4_BYTES + size, 0, _DONT_FRAGMENT, _HOPS, _PROTOCOL, 0
        )
        checksum = internet_checksum(head + client + target)
        return head[:10] + checksum.to_bytes(2, "big") + client + target, pseudo % 0xFFFF
    word = 6 << 28 | traffic_class << 20
    return _IPV6.pack(word, size, _PROTOCOL, _HOPS) + client + target, pseudo % 0xFFFF


def build(
    ends: Ends,
    seq: int,
    ack: int,
    flags: int,
    window: int = 65535,
    options: bytes = b"",
    payload: bytes = b"",
    *,
    urgent: int = 0,
    reserved: int = 0,
    checksum: int = 0,
    data_offset: int | None = None,
    traffic_class: int = 0,
) -> bytes:
    """One IP packet. options: a multiple of four bytes. checksum: added to the right one."""
    client, target, sport, dport = ends
    words = (_TCP_BYTES + len(options)) // 4 if data_offset is None else data_offset
    tcp = (
        _TCP.pack(sport, dport, seq, ack, words << 12 | reserved << 8 | flags, window, 0, urgent)
        + options
        + payload
    )
    size = len(tcp)
    head, pseudo = _head(client, target, size, traffic_class)
    # One's complement addition is addition modulo 2**16 - 1 (RFC 1071).
    total = int.from_bytes(tcp, "big") << 8 if size & 1 else int.from_bytes(tcp, "big")
    right = ~((pseudo + total) % 0xFFFF) & 0xFFFF
    field = (right + checksum) & 0xFFFF
    return b"".join((head, tcp[:16], field.to_bytes(2, "big"), tcp[18:]))


def fragmented(packet: bytes, size: int, identification: int) -> list[bytes]:
    """The packet in fragments of at most `size` bytes of payload (RFC 791, RFC 8200 4.5)."""
    size = max(8, size // 8 * 8)
    if packet[0] >> 4 == 4:
        head, body = packet[:_IPV4_BYTES], packet[_IPV4_BYTES:]
    else:
        head, body = packet[:_IPV6_BYTES], packet[_IPV6_BYTES:]
    if len(body) <= size:
        return [packet]
    out = []
    for at in range(0, len(body), size):
        piece = body[at : at + size]
        more = at + size < len(body)
        if len(head) == _IPV4_BYTES:
            word = (_MORE if more else 0) | at // 8
            fixed = struct.pack("!HHH", _IPV4_BYTES + len(piece), identification & 0xFFFF, word)
            bare = head[:2] + fixed + head[8:10] + b"\0\0" + head[12:]
            out.append(bare[:10] + internet_checksum(bare).to_bytes(2, "big") + bare[12:] + piece)
        else:
            extension = struct.pack("!BBHI", _PROTOCOL, 0, at | more, identification & 0xFFFFFFFF)
            length = (8 + len(piece)).to_bytes(2, "big")
            out.append(head[:4] + length + bytes((44,)) + head[7:] + extension + piece)
    return out


def key_of(packet: bytes) -> tuple[bytes, int, int] | None:
    """Our address, our port and the target's of a TCP packet that came; None for another."""
    if packet[0] >> 4 == 4:
        if packet[9] != _PROTOCOL:
            return None
        at = (packet[0] & 15) * 4
        ours = packet[16:20]
    else:
        if packet[6] != _PROTOCOL:
            return None
        at, ours = _IPV6_BYTES, packet[24:40]
    if len(packet) < at + _TCP_BYTES:
        return None
    return ours, packet[at + 2] << 8 | packet[at + 3], packet[at] << 8 | packet[at + 1]


def read(packet: bytes) -> Reply:
    """A TCP packet that came, whole, for which `key_of` is not None."""
    if packet[0] >> 4 == 4:
        at = (packet[0] & 15) * 4
        stop = packet[2] << 8 | packet[3]
        pseudo = packet[12:20]
    else:
        at = _IPV6_BYTES
        stop = at + (packet[4] << 8 | packet[5])
        pseudo = packet[8:40]
    _, _, seq, ack, word, window, _, _ = _TCP.unpack_from(packet, at)
    text = at + (word >> 12) * 4
    tcp = packet[at:stop]
    total = int.from_bytes(tcp, "big") << (8 if len(tcp) & 1 else 0)
    right = (total + int.from_bytes(pseudo, "big") + len(tcp) + _PROTOCOL) % 0xFFFF == 0
    return Reply(
        seq,
        ack,
        word & 0xFF,
        window,
        packet[at + _TCP_BYTES : text],
        packet[text:stop],
        right and at + _TCP_BYTES <= text <= stop == len(packet) and not word & 0xE00,
        bool(word & 0x100),
    )
