"""What an IP packet may be captured in: link layers, tunnels, and headers between IP and TCP."""

from __future__ import annotations

import struct
from collections.abc import Callable

MACS = bytes(6) + b"\x02" * 6
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
RAW, ETHERNET, NULL, SLL, SLL2 = 101, 1, 0, 113, 276
"""Link layers, as files number them."""

Wrap = Callable[[bytes, bytes], bytes]
_TCP, _AUTHENTICATION, _SHIM6 = 6, 51, 140


def ethernet(packet: bytes, kind: bytes) -> bytes:
    return MACS + kind + packet


def cooked(packet: bytes, kind: bytes) -> bytes:
    return bytes(5) + b"\x01\x00\x06" + bytes(6) + kind + packet


def cooked_2(packet: bytes, kind: bytes) -> bytes:
    return kind + bytes(2) + bytes(4) + b"\x00\x01" + b"\x00" + b"\x06" + bytes(8) + packet


def null(packet: bytes, kind: bytes) -> bytes:
    return struct.pack("<I", 2 if kind == IPV4 else 30) + packet


def bare(packet: bytes, _: bytes) -> bytes:
    return packet


def vlan(packet: bytes, kind: bytes) -> bytes:
    return MACS + b"\x81\x00\x00\x05" + kind + packet


def ip_over(protocol: int, inside: bytes) -> bytes:
    """An IPv4 packet of other addresses around something."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(inside), 1, 0, 64, protocol, 0)
    return head + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + inside


def _in_udp(port: int, inside: bytes) -> bytes:
    return ip_over(17, struct.pack("!HHHH", 50000, port, 8 + len(inside), 0) + inside)


def in_ip(packet: bytes, kind: bytes) -> bytes:
    return ip_over(4 if kind == IPV4 else 41, packet)


def in_ipv6(packet: bytes, kind: bytes) -> bytes:
    head = struct.pack("!IHBB", 6 << 28, len(packet), 4 if kind == IPV4 else 41, 64)
    return head + bytes(15) + b"\x01" + bytes(15) + b"\x02" + packet


def in_gre(packet: bytes, kind: bytes) -> bytes:
    return ip_over(47, bytes(2) + kind + packet)


def in_keyed_gre(packet: bytes, kind: bytes) -> bytes:
    return ip_over(47, b"\x30\x00" + kind + bytes([0, 0, 0, 9, 0, 0, 0, 1]) + packet)


def in_erspan(packet: bytes, kind: bytes) -> bytes:
    mirrored = bytes([0x10, 1, 0, 1, 0, 0, 0, 5]) + ethernet(packet, kind)
    return ip_over(47, b"\x10\x00\x88\xbe\x00\x00\x00\x01" + mirrored)


def in_vxlan(packet: bytes, kind: bytes) -> bytes:
    return _in_udp(4789, b"\x08" + bytes(7) + ethernet(packet, kind))


def in_geneve(packet: bytes, kind: bytes) -> bytes:
    """With an option of four bytes."""
    return _in_udp(
        6081, bytes.fromhex("0200655800000500 01020301") + bytes(4) + ethernet(packet, kind)
    )


def in_gtp(packet: bytes, _: bytes) -> bytes:
    return _in_udp(2152, struct.pack("!BBHI", 0x30, 0xFF, len(packet), 7) + packet)


def _with_header(packet: bytes, kind: bytes, of_kind: int, header: bytes) -> bytes:
    """Between that of IP, which has no options, and that of TCP."""
    if kind == IPV4:
        total = int.from_bytes(packet[2:4], "big") + len(header)
        front = packet[:2] + total.to_bytes(2, "big") + packet[4:9] + bytes([of_kind])
        return front + packet[10:20] + header + packet[20:]
    length = int.from_bytes(packet[4:6], "big") + len(header)
    front = packet[:4] + length.to_bytes(2, "big") + bytes([of_kind])
    return front + packet[7:40] + header + packet[40:]


def authenticated(packet: bytes, kind: bytes) -> bytes:
    """With the authentication header of IPsec, which encrypts nothing."""
    header = bytes([_TCP, 4, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1]) + bytes(12)
    return _with_header(packet, kind, _AUTHENTICATION, header)


def with_more_header(packet: bytes, kind: bytes) -> bytes:
    """IPv4 options, or an IPv6 extension header, that mean nothing."""
    if kind == IPV4:
        total = int.from_bytes(packet[2:4], "big") + 4
        front = b"\x46" + packet[1:2] + total.to_bytes(2, "big") + packet[4:20]
        return front + bytes([1] * 4) + packet[20:]
    return _with_header(packet, kind, 0, bytes([_TCP, 0, 1, 4, 0, 0, 0, 0]))


def with_shim(packet: bytes, kind: bytes) -> bytes:
    """IPv6 with the header of shim6; IPv4 has none."""
    shim = bytes([_TCP, 0, 0x80, 0, 0, 0, 0, 9])
    return packet if kind == IPV4 else _with_header(packet, kind, _SHIM6, shim)


WAYS: dict[str, tuple[int, Wrap]] = {
    "Ethernet": (ETHERNET, ethernet),
    "VLAN": (ETHERNET, vlan),
    "raw IP": (RAW, bare),
    "cooked": (SLL, cooked),
    "cooked, version 2": (SLL2, cooked_2),
    "loopback": (NULL, null),
    "IP in IP": (RAW, in_ip),
    "IP in IPv6": (RAW, in_ipv6),
    "GRE": (RAW, in_gre),
    "ERSPAN": (RAW, in_erspan),
    "VXLAN": (RAW, in_vxlan),
    "Geneve": (RAW, in_geneve),
    "GTP": (RAW, in_gtp),
    "authentication header": (RAW, authenticated),
    "shim6": (RAW, with_shim),
    "longer IP header": (RAW, with_more_header),
}
"""With the link layer on which each is captured."""
