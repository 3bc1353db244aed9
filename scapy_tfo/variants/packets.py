"""The IP header, and what routers say (RFC 6864, RFC 6437, RFC 1191, RFC 8201)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address, Segment, internet_checksum
from scapy_tfo.variants.later import LaterStack
from scapy_tfo.variants.registry import add, variant

_IPV4_HEAD = 20

_PLATEAUS = (65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68)
"""MTUs in bytes (RFC 1191 section 7)."""

_RECORD_ROUTE = bytes([7, 7, 4, 0, 0, 0, 0, 0])
"""Type, length, pointer, one free slot; and the end of the options (RFC 791 section 3.1)."""


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


@variant({"path-mtu-age": "after 10 minutes"})
class ForgetsThePathMtu(LaterStack):
    """Ten minutes after a router told the path's MTU, larger packets are tried again."""

    def note_mtu(self, destination: Address, mtu: int) -> None:
        super().note_mtu(destination, mtu)
        due = self.clock + 600
        self.due = {**self.due, destination: due}
        self.later(due, partial(self.forget_mtu, destination))

    def forget_mtu(self, destination: Address, now: float) -> None:
        """A later word from a router puts it off."""
        if self.due.get(destination, 0.0) <= now:
            super().note_mtu(destination, self.settings.mtu)
            for each in self.connections.values():
                if each.remote[0] == destination:
                    each.resize()

    due: Mapping[Address, float] = MappingProxyType({})


@variant({"path-mtu-untold": "the next plateau"})
class TriesTheNextPlateau(Stack):
    """Where a router tells no MTU, the next one of the table of RFC 1191 is used."""

    def untold_mtu(self, size: int) -> int:
        return next((each for each in _PLATEAUS if each < size), 0)


@variant({"ip-options": "yes"})
class RecordsTheRoute(PatchesPackets):
    """Packets of IPv4 carry a Record Route option with room for one address."""

    def mss_towards(self, destination: Address) -> int:
        taken = len(_RECORD_ROUTE) if destination.version == 4 else 0
        return super().mss_towards(destination) - taken

    def patched(self, packet: bytes) -> bytes:
        if packet[0] >> 4 != 4:
            return packet
        longer = packet[:_IPV4_HEAD] + _RECORD_ROUTE + packet[_IPV4_HEAD:]
        words = (_IPV4_HEAD + len(_RECORD_ROUTE)) // 4
        head = bytearray(longer[: 4 * words])
        head[0] = 4 << 4 | words
        head[2:4] = len(longer).to_bytes(2, "big")
        head[10:12] = b"\0\0"
        head[10:12] = internet_checksum(bytes(head)).to_bytes(2, "big")
        return bytes(head) + longer[len(head) :]


@variant({"ecn-agreed": "yes", "ecn-codepoint": "ECT(1)"}, ecn=True)
class MarksTextEct1(PassiveConnection):
    """Agrees to ECN, and marks text with ECT(1)."""

    def agree_on_ecn(self) -> None:
        super().agree_on_ecn()
        if self.congestion is not None:
            self.congestion.capable = 0x01


add(
    "speaks-ecn",
    "Offers ECN but in a SYN that is sent again, agrees to it, and marks text with ECT(0).",
    {
        "ecn-agreed": "yes",
        "ecn-codepoint": "ECT(0)",
        "ecn-offered": "yes",
        "ecn-repeated-syn": "cleared",
    },
    ecn=True,
)
add(
    "small-packets",
    "Packets have at most 1,280 bytes.",
    {"dont-fragment": "packets of at most 1280 bytes"},
    mtu=1280,
)
