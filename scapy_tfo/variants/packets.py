"""The IP header, and what routers say (RFC 6864, RFC 6437, RFC 1191, RFC 8201)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address, Segment, internet_checksum
from scapy_tfo.variants.registry import add, variant

_IPV4_HEAD = 20


class PatchesPackets(Stack):
    """Packets that are changed as bytes on their way out."""

    def patched(self, packet: bytes) -> bytes:
        """The packet to send instead."""
        raise NotImplementedError

    def take_packets(self) -> list[bytes]:
        return [self.patched(each) for each in super().take_packets()]


def with_ipv4(packet: bytes, at: int, value: bytes) -> bytes:
    """A packet with other bytes in its IPv4 header, and the right checksum; IPv6 as it is."""
    if packet[0] >> 4 != 4:
        return packet
    head = bytearray(packet[:_IPV4_HEAD])
    head[at : at + len(value)] = value
    head[10:12] = b"\0\0"
    head[10:12] = internet_checksum(bytes(head)).to_bytes(2, "big")
    return bytes(head) + packet[_IPV4_HEAD:]


@variant({"ip-id": "a counter"})
class CountsPackets(PatchesPackets):
    """The Identification of IPv4 counts the packets."""

    count = 0

    def patched(self, packet: bytes) -> bytes:
        self.count = (self.count + 1) % 0x10000
        return with_ipv4(packet, 4, self.count.to_bytes(2, "big"))


@variant({"ip-id": "random", "ip-id-repeated": "another"})
class RandomIdentification(PatchesPackets):
    """The Identification of IPv4 is random for each packet, repeated or not."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.number = 1

    def patched(self, packet: bytes) -> bytes:
        # Numbers of its own, so that the dice of the stack fall as they do elsewhere.
        self.number = self.number * 48_271 % 0x7FFFFFFF
        return with_ipv4(packet, 4, struct.pack("!H", self.number & 0xFFFF))


@variant({"flow-label": "one for each connection"})
class LabelsFlows(PatchesPackets):
    """The packets of a connection over IPv6 carry a flow label."""

    def patched(self, packet: bytes) -> bytes:
        if packet[0] >> 4 != 6:
            return packet
        label = zlib.crc32(packet[8:44]) % 0xFFFFF + 1
        (word,) = struct.unpack("!I", packet[:4])
        return struct.pack("!I", word & ~0xFFFFF | label) + packet[4:]


class Hops(Stack):
    """Packets with another hop limit."""

    hops = 64

    def send(self, segment: Segment) -> None:
        super().send(replace(segment, hop_limit=self.hops))


@variant({"ttl": "255"})
class HopLimit255(Hops):
    """The hop limit is 255."""

    hops = 255


@variant({"ttl": "128"})
class HopLimit128(Hops):
    """The hop limit is 128."""

    hops = 128


@variant({"ttl": "32"})
class HopLimit32(Hops):
    """The hop limit is 32."""

    hops = 32


@variant({"dscp": "AF21"})
class MarksPackets(Stack):
    """Packets are marked AF21."""

    def send(self, segment: Segment) -> None:
        super().send(replace(segment, traffic_class=0x48))


@variant({"dscp": "CS6", "dscp-changes": "yes"})
class MarksSynAcks(Stack):
    """SYN-ACKs are marked CS6, and nothing else is."""

    def send(self, segment: Segment) -> None:
        super().send(replace(segment, traffic_class=0xC0) if segment.is_syn_ack else segment)


@variant({"path-mtu-scope": "the whole host"})
class OnePathMtu(Stack):
    """A path MTU that a router told holds for all destinations of its IP version."""

    def mtu_towards(self, destination: Address) -> int:
        told = self.told.get(destination.version, self.settings.mtu)
        return min(super().mtu_towards(destination), told)

    def note_mtu(self, destination: Address, mtu: int) -> None:
        self.told = {**self.told, destination.version: mtu}
        super().note_mtu(destination, mtu)

    told: Mapping[int, int] = MappingProxyType({})


@variant({"icmp-at-all": "no"})
class IgnoresUnreachable(PassiveConnection):
    """ICMP errors of unreachable destinations are ignored."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        return


add(
    "small-packets",
    "Packets have at most 1,280 bytes.",
    {"dont-fragment": "packets of at most 1280 bytes"},
    mtu=1280,
)
