"""Reads the few fields of an IP packet that a link needs to hand it to the right place."""

from __future__ import annotations

from scapy_tfo.segment import PROTOCOL_TCP, internet_checksum

_ICMP, _ICMPV6 = 1, 58


def source(packet: bytes) -> bytes:
    """The packed source address; b"" where there is none."""
    return packet[12:16] if _version(packet) == 4 else packet[8:24]


def destination(packet: bytes) -> bytes:
    """The packed destination address; b"" where there is none."""
    return packet[16:20] if _version(packet) == 4 else packet[24:40]


def our_end(packet: bytes) -> tuple[bytes, int] | None:
    """Packed address and port on our side, of a packet that came in.

    For TCP that is its destination, for an ICMP error the source of the segment that it quotes
    (and so None for an ICMP error that we sent ourselves). None also for anything else, IPv6
    extension headers and later fragments among it.
    """
    protocol, head = _payload(packet)
    if protocol == PROTOCOL_TCP:
        return destination(packet), int.from_bytes(packet[head + 2 : head + 4], "big")
    if protocol not in (_ICMP, _ICMPV6):
        return None
    quoted = packet[head + 8 :]
    protocol, head = _payload(quoted)
    if protocol != PROTOCOL_TCP:
        return None
    return source(quoted), int.from_bytes(quoted[head : head + 2], "big")


def with_checksum(packet: bytes) -> bytes:
    """The packet with its TCP checksum written anew; unchanged where it is not TCP."""
    protocol, head = _payload(packet)
    if protocol != PROTOCOL_TCP or len(packet) < head + 20:
        return packet
    tcp = packet[head : head + 16] + b"\0\0" + packet[head + 18 :]
    pseudo = (
        source(packet)
        + destination(packet)
        + len(tcp).to_bytes(4, "big")
        + PROTOCOL_TCP.to_bytes(4, "big")
    )
    checksum = internet_checksum(pseudo + tcp).to_bytes(2, "big")
    return packet[: head + 16] + checksum + packet[head + 18 :]


def unpadded(packet: bytes) -> bytes:
    """The packet without what Ethernet adds to a short frame."""
    ipv4 = _version(packet) == 4
    field = int.from_bytes(packet[2:4] if ipv4 else packet[4:6], "big")
    # Zero stands for a merged packet too long for the field.
    return packet[: field if ipv4 else 40 + field] if field else packet


def _version(packet: bytes) -> int:
    return packet[0] >> 4 if packet else 0


def _payload(packet: bytes) -> tuple[int, int]:
    """Protocol and offset of what the IP header carries; -1 where that cannot be told."""
    version = _version(packet)
    if version == 4 and len(packet) >= 20 and not int.from_bytes(packet[6:8], "big") & 0x1FFF:
        return packet[9], (packet[0] & 15) * 4
    if version == 6 and len(packet) >= 40:
        return packet[6], 40
    return -1, 0
