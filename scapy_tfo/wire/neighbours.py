"""Ethernet frames of ARP (RFC 826, RFC 5227) and neighbour discovery (RFC 4861)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from scapy_tfo.segment import Address, internet_checksum

HEADER = 14
"""Bytes of an Ethernet header."""

ETHERTYPE_IPV4, ETHERTYPE_ARP, ETHERTYPE_IPV6 = 0x0800, 0x0806, 0x86DD
BROADCAST = b"\xff" * 6

_ARP = struct.Struct("!HHBBH6s4s6s4s")
_ARP_KIND = 1, ETHERTYPE_IPV4, 6, 4
_ARP_REQUEST, _ARP_REPLY = 1, 2
_ICMPV6 = 58
_SOLICITATION, _ADVERTISEMENT = 135, 136
_SOURCE_MAC, _TARGET_MAC = 1, 2
_SOLICITED, _OVERRIDE = 0x40, 0x20
_HOP_LIMIT = 255
_ALL_NODES = IPv6Address("ff02::1")


@dataclass(frozen=True, slots=True)
class Question:
    """Somebody asks who has an address. asker: unspecified where it only looks whether the
    address is free. mac: the asker's."""

    asked: Address
    asker: Address
    mac: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Somebody says that it has an address. to: whom it tells."""

    address: Address
    mac: bytes
    to: Address


def ethernet(destination: bytes, source: bytes, ethertype: int) -> bytes:
    """An Ethernet header."""
    return destination + source + ethertype.to_bytes(2, "big")


def solicited_node(address: IPv6Address) -> IPv6Address:
    """The multicast group in which an address is asked for (RFC 4291 section 2.7.1)."""
    return IPv6Address(IPv6Address("ff02::1:ff00:0").packed[:13] + address.packed[13:])


def group_mac(group: IPv6Address) -> bytes:
    """The Ethernet address of a multicast group (RFC 2464 section 7)."""
    return b"\x33\x33" + group.packed[12:]


def ask(mac: bytes, source: Address, wanted: Address) -> bytes:
    """The frame that asks for `wanted`, and so tells that `source` is at `mac`.

    An unspecified source only asks whether the address is free (RFC 5227 2.1.1, RFC 4862 5.4.2).
    """
    if isinstance(wanted, IPv4Address):
        arp = _ARP.pack(*_ARP_KIND, _ARP_REQUEST, mac, source.packed, bytes(6), wanted.packed)
        return ethernet(BROADCAST, mac, ETHERTYPE_ARP) + arp
    group = solicited_node(wanted)
    body = bytes([_SOLICITATION, 0, 0, 0]) + bytes(4) + wanted.packed
    if not source.is_unspecified:
        body += bytes([_SOURCE_MAC, 1]) + mac
    return _discovery(mac, group_mac(group), source, group, body)


def reply(mac: bytes, question: Question) -> bytes:
    """The frame that answers: the address asked for is at `mac`."""
    asked, asker = question.asked, question.asker
    if isinstance(asked, IPv4Address):
        arp = _ARP.pack(*_ARP_KIND, _ARP_REPLY, mac, asked.packed, question.mac, asker.packed)
        return ethernet(question.mac, mac, ETHERTYPE_ARP) + arp
    flags, to, to_mac = _SOLICITED | _OVERRIDE, asker, question.mac
    if asker.is_unspecified:
        flags, to, to_mac = _OVERRIDE, _ALL_NODES, group_mac(_ALL_NODES)
    body = bytes([_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0]) + asked.packed
    body += bytes([_TARGET_MAC, 1]) + mac
    return _discovery(mac, to_mac, asked, to, body)


def read(frame: bytes) -> Question | Answer | None:
    """What a frame asks or answers; None for any other frame, and for a damaged one."""
    ethertype = int.from_bytes(frame[12:14], "big")
    if ethertype == ETHERTYPE_ARP and len(frame) >= HEADER + _ARP.size:
        return _read_arp(frame)
    if ethertype == ETHERTYPE_IPV6 and len(frame) >= HEADER + 64 and frame[20] == _ICMPV6:
        return _read_discovery(frame)
    return None


def _read_arp(frame: bytes) -> Question | Answer | None:
    *kind, operation, mac, sender, _, target = _ARP.unpack_from(frame, HEADER)
    if tuple(kind) != _ARP_KIND:
        return None
    if operation == _ARP_REQUEST:
        return Question(IPv4Address(target), IPv4Address(sender), mac)
    if operation == _ARP_REPLY:
        return Answer(IPv4Address(sender), mac, IPv4Address(target))
    return None


def _read_discovery(frame: bytes) -> Question | Answer | None:
    packet = frame[HEADER:]
    source, to = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    body = packet[40 : 40 + int.from_bytes(packet[4:6], "big")]
    # A hop limit below 255 comes from beyond the link (RFC 4861 sections 7.1.1 and 7.1.2).
    if packet[7] != _HOP_LIMIT or len(body) < 24 or body[1] != 0:
        return None
    about, mac = IPv6Address(body[8:24]), frame[6:12]
    if body[0] == _SOLICITATION:
        return Question(about, source, mac)
    if body[0] == _ADVERTISEMENT:
        return Answer(about, _target_mac(body[24:]) or mac, to)
    return None


def _target_mac(options: bytes) -> bytes | None:
    while len(options) >= 8 and options[1]:
        if options[:2] == bytes([_TARGET_MAC, 1]):
            return options[2:8]
        options = options[8 * options[1] :]
    return None


def _discovery(mac: bytes, to_mac: bytes, source: Address, to: Address, body: bytes) -> bytes:
    pseudo = source.packed + to.packed + struct.pack("!II", len(body), _ICMPV6)
    checksum = internet_checksum(pseudo + body).to_bytes(2, "big")
    body = body[:2] + checksum + body[4:]
    head = struct.pack("!IHBB", 6 << 28, len(body), _ICMPV6, _HOP_LIMIT)
    return ethernet(to_mac, mac, ETHERTYPE_IPV6) + head + source.packed + to.packed + body
