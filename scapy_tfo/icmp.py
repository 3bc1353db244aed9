"""ICMP errors that quote a TCP segment: the few that a fast open must survive."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

from scapy_tfo.segment import PROTOCOL_TCP, Address, internet_checksum

_QUOTE_IPV4 = 8
"""Bytes behind the IP header, the least that RFC 792 asks for."""
_QUOTE_IPV6 = 1232
"""As much as fits into the minimum IPv6 MTU (RFC 4443 section 3.1)."""

_PORT, _ECHO_REPLY = {4: 3, 6: 4}, {4: 0, 6: 129}
"""The code of port unreachable, and the type of an echo reply."""
_HEADER, _PROTOCOL_AT = {4: 20, 6: 40}, {4: 9, 6: 6}
"""Bytes of an IP header without options, and where it names what follows."""
_PORTS, _UDP = 4, 17
_WITH_A_WORD, _NOP = 0x46, 1
"""Version and length of an IPv4 header with four bytes of options, and the option that says
nothing."""

SOFT_ERRORS = {
    4: ((3, 0), (3, 1), (3, 5), (4, 0), (11, 0), (11, 1), (12, 0)),
    6: ((1, 0), (1, 3), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2)),
}
"""Type and code of what may pass, and must not end an open connection (RFC 9293 section 3.9.2.2,
MUST-56; RFC 6633 for source quench), by IP version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcmpError:
    """An ICMP (IPv4) or ICMPv6 error message.

    type and code: as in RFC 792 and RFC 4443. mtu: bytes, in packet-too-big messages, else 0.
    quoted: the start of the packet that it complains about.
    """

    src: Address
    dst: Address
    type: int
    code: int
    mtu: int = 0
    quoted: bytes = b""

    def to_bytes(self) -> bytes:
        """The whole IP packet."""
        if isinstance(self.src, IPv4Address):
            body = struct.pack("!BBHHH", self.type, self.code, 0, 0, self.mtu)
            body += self.quoted[: _header_length(self.quoted) + _QUOTE_IPV4]
            body = body[:2] + internet_checksum(body).to_bytes(2, "big") + body[4:]
            head = struct.pack(
                "!BBHHHBBH4s4s",
                0x45,
                0,
                20 + len(body),
                0,
                0,
                64,
                1,
                0,
                self.src.packed,
                self.dst.packed,
            )
            return head[:10] + internet_checksum(head).to_bytes(2, "big") + head[12:] + body
        body = struct.pack("!BBHI", self.type, self.code, 0, self.mtu) + self.quoted[:_QUOTE_IPV6]
        pseudo = self.src.packed + self.dst.packed + struct.pack("!IHH", len(body), 0, 58)
        checksum = internet_checksum(pseudo + body)
        body = body[:2] + checksum.to_bytes(2, "big") + body[4:]
        return (
            struct.pack("!IHBB16s16s", 6 << 28, len(body), 58, 64, self.src.packed, self.dst.packed)
            + body
        )

    @classmethod
    def from_bytes(cls, packet: bytes) -> IcmpError | None:
        """Read an ICMP error from an IP packet; None for anything else. Never raises.

        Bytes behind the IP packet (Ethernet padding) are not part of what is quoted.
        """
        if len(packet) >= 28 and packet[0] >> 4 == 4 and packet[9] == 1:
            head = _header_length(packet)
            end = int.from_bytes(packet[2:4], "big")
            if not 28 <= head + 8 <= end <= len(packet):
                return None
            if packet[head] not in (3, 4, 5, 11, 12):
                return None
            kind, code, _, _, mtu = struct.unpack_from("!BBHHH", packet, head)
            src: Address = IPv4Address(packet[12:16])
            dst: Address = IPv4Address(packet[16:20])
        elif len(packet) >= 48 and packet[0] >> 4 == 6 and packet[6] == 58 and packet[40] < 128:
            head = 40
            end = head + int.from_bytes(packet[4:6], "big")
            if not head + 8 <= end <= len(packet):
                return None
            kind, code, _, mtu = struct.unpack_from("!BBHI", packet, head)
            src, dst = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
        else:
            return None
        return cls(src=src, dst=dst, type=kind, code=code, mtu=mtu, quoted=packet[head + 8 : end])


def unreachable(quoted: bytes, *, code: int) -> IcmpError:
    """Destination unreachable for a packet, as from its destination (RFC 792, RFC 4443 3.1).

    Raises ValueError where `quoted` does not start with an IP header.
    """
    src, dst = _ends(quoted)
    return IcmpError(
        src=dst, dst=src, type=3 if isinstance(src, IPv4Address) else 1, code=code, quoted=quoted
    )


def port_unreachable(quoted: bytes) -> IcmpError:
    """The error that may end a connection (RFC 1122 section 4.2.3.9). Raises as `unreachable`."""
    return unreachable(quoted, code=_PORT[quoted[0] >> 4 if quoted else 0])


def is_about_tcp(error: IcmpError) -> bool:
    """Whether it quotes the ports of a packet that is TCP."""
    quoted, version = error.quoted, error.src.version
    at = _PROTOCOL_AT[version]
    head = _header_length(quoted) if version == 4 else _HEADER[version]
    return quoted[at : at + 1] == bytes((PROTOCOL_TCP,)) and len(quoted) >= head + _PORTS


# Messages that name no segment, for an IP packet without options. Each raises as `unreachable`.


def about_header(quoted: bytes) -> IcmpError:
    """An error that quotes no more than an IP header."""
    return port_unreachable(quoted[: _HEADER[quoted[0] >> 4]])


def about_ports(quoted: bytes) -> IcmpError:
    """An error that quotes the ports, and no sequence number. Of IPv4, with a word of IP options,
    so that it is as long as others."""
    if quoted[0] >> 4 == 6:
        return port_unreachable(quoted[: _HEADER[6] + _PORTS])
    return port_unreachable(
        bytes((_WITH_A_WORD,))
        + quoted[1 : _HEADER[4]]
        + bytes((_NOP,)) * 4
        + quoted[_HEADER[4] :][:_PORTS]
    )


def about_udp(quoted: bytes) -> IcmpError:
    """An error about a packet of UDP that has the same ports."""
    other = bytearray(quoted)
    other[_PROTOCOL_AT[quoted[0] >> 4]] = _UDP
    return port_unreachable(bytes(other))


def echo_reply(quoted: bytes) -> IcmpError:
    """What is no error, whatever it quotes."""
    kind = _ECHO_REPLY[quoted[0] >> 4]
    return replace(port_unreachable(quoted), type=kind, code=0)


def packet_too_big(quoted: bytes, *, mtu: int) -> IcmpError:
    """Fragmentation needed (RFC 1191) or packet too big (RFC 4443 3.2); `mtu` in bytes.

    Raises ValueError where `quoted` does not start with an IP header.
    """
    src, dst = _ends(quoted)
    ipv4 = isinstance(src, IPv4Address)
    return IcmpError(
        src=dst, dst=src, type=3 if ipv4 else 2, code=4 if ipv4 else 0, mtu=mtu, quoted=quoted
    )


def _ends(packet: bytes) -> tuple[Address, Address]:
    version = packet[0] >> 4 if packet else 0
    if version == 4:
        return IPv4Address(packet[12:16]), IPv4Address(packet[16:20])
    if version == 6:
        return IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    raise ValueError("not an IP packet")


def _header_length(packet: bytes) -> int:
    return (packet[0] & 15) * 4 if packet else 0
