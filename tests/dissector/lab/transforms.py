"""Transforms of captures: other encapsulations, copies, losses, clocks, lengths.

Each takes one connection's packets in the order of time and gives others; the dice are its own.
`SAME` must change nothing that is said of a connection, `LESS` may make it unknown.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import encapsulations as ways
from encapsulations import ETHERNET, IPV4, IPV6, MACS, Wrap

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.segment import MalformedPacketError, Segment

MILLISECOND = 1_000_000


@dataclass(frozen=True)
class Packet:
    """when: nanoseconds. frame: Ethernet. snap: bytes that are captured."""

    when: int
    outbound: bool
    frame: bytes
    snap: int = 1 << 16


Transform = Callable[[list[Packet], Random], list[Packet]]


def by_port(capture: Path, ports: Iterable[int]) -> dict[int, list[Packet]]:
    """The packets of each connection, on Ethernet, by the client's port."""
    found: dict[int, list[Packet]] = {port: [] for port in ports}
    for frame in read_frames(capture):
        try:
            segment = Segment.from_bytes(frame.data)
        except MalformedPacketError:
            continue
        port = segment.sport if segment.sport in found else segment.dport
        if port in found:
            kind = IPV4 if segment.src.version == 4 else IPV6
            data = MACS + kind + frame.data
            found[port].append(Packet(frame.when, segment.sport == port, data))
    return found


def write(path: Path, packets: Iterable[Packet], link: int = ETHERNET) -> Path:
    """A pcap file with nanoseconds, in the order of time."""
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 16, link)]
    for each in sorted(packets, key=lambda packet: packet.when):
        seconds, nanoseconds = divmod(each.when, 1_000_000_000)
        held = each.frame[: each.snap]
        records += struct.pack("<IIII", seconds, nanoseconds, len(held), len(each.frame)), held
    path.write_bytes(b"".join(records))
    return path


def _wrapped(packets: list[Packet], wrap: Wrap) -> list[Packet]:
    return [replace(each, frame=wrap(each.frame[14:], each.frame[12:14])) for each in packets]


def _on_ethernet(wrap: Wrap) -> Wrap:
    """The frame around the IP packet that `wrap` makes."""

    def wrapped(packet: bytes, kind: bytes) -> bytes:
        made = wrap(packet, kind)
        return ways.ethernet(made, IPV4 if made[0] >> 4 == 4 else IPV6)

    return wrapped


TUNNELS = tuple(
    map(
        _on_ethernet,
        (
            *(ways.in_keyed_gre, ways.in_erspan, ways.in_ip, ways.in_ipv6, ways.in_vxlan),
            *(ways.in_geneve, ways.in_gtp, ways.authenticated, ways.with_more_header),
        ),
    )
)


def encapsulated(packets: list[Packet], dice: Random) -> list[Packet]:
    """VLAN tags, labels of MPLS, PPPoE, tunnels, or a header more."""

    def vlans(packet: bytes, kind: bytes) -> bytes:
        return MACS + b"\x88\xa8\x00\x05" * (many - 1) + b"\x81\x00\x00\x07" + kind + packet

    def labels(packet: bytes, kind: bytes) -> bytes:
        stack = b"\x00\x01\x00\x40" * (many - 1) + b"\x00\x01\x01\x40"
        if kind == IPV6:
            # Behind MPLS tshark guesses: some flow labels look like the address of a known maker.
            packet = packet[:1] + bytes([packet[1] & 0xF0, 0, 0]) + packet[4:]
        return MACS + b"\x88\x47" + stack + packet

    def session(packet: bytes, kind: bytes) -> bytes:
        protocol = b"\x00\x21" if kind == IPV4 else b"\x00\x57"
        head = struct.pack("!BBHH", 0x11, 0, 5, len(packet) + 2)
        return MACS + b"\x88\x64" + head + protocol + packet

    many = dice.randint(1, 4)
    return _wrapped(packets, dice.choice((vlans, labels, session, *TUNNELS)))


def copied(packets: list[Packet], dice: Random) -> list[Packet]:
    """Some, or all, captured twice, up to 150 ms later."""
    share, later = dice.choice((0.2, 1.0)), dice.choice((1_000, 150 * MILLISECOND))
    return packets + [
        replace(each, when=each.when + later) for each in packets if dice.random() < share
    ]


def linked(packets: Iterable[Packet], head: Callable[[bytes], bytes]) -> list[Packet]:
    """On another link layer; head: what stands before a packet of that EtherType."""
    return [replace(each, frame=head(each.frame[12:14]) + each.frame[14:]) for each in packets]


LINKS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "raw IP": (101, lambda _kind: b""),
    "loopback of BSD": (0, lambda kind: struct.pack("<I", 2 if kind == IPV4 else 30)),
    "cooked": (113, lambda kind: bytes(5) + b"\x01\x00\x06" + bytes(6) + kind),
    "cooked, version 2": (276, lambda kind: kind + bytes(7) + b"\x01\x00\x06" + bytes(8)),
    "802.11": (105, lambda kind: b"\x08" + bytes(23) + b"\xaa\xaa\x03" + bytes(3) + kind),
}
"""The number of a link layer in a pcap file, and its header."""

FORMATS = ("pcap", "pcapng", "snoop", "netmon2")
"""Formats of files that editcap writes."""


def in_microseconds(packets: list[Packet], _dice: Random) -> list[Packet]:
    """With the resolution of the oldest format."""
    return [replace(each, when=each.when // 1000 * 1000) for each in packets]


def without_one(packets: list[Packet], dice: Random) -> list[Packet]:
    """One was not captured."""
    at = dice.randrange(len(packets))
    return packets[:at] + packets[at + 1 :]


def without_some(packets: list[Packet], dice: Random) -> list[Packet]:
    """5 % were not captured."""
    return [each for each in packets if dice.random() >= 0.05]


def one_direction(packets: list[Packet], dice: Random) -> list[Packet]:
    outbound = dice.random() < 0.5
    return [each for each in packets if each.outbound == outbound]


def from_the_middle(packets: list[Packet], dice: Random) -> list[Packet]:
    return packets[dice.randrange(1, len(packets) + 1) :]


def skewed(packets: list[Packet], dice: Random) -> list[Packet]:
    """The tap on the server's packets has a clock of its own, up to 60 ms off."""
    offset = dice.randint(-60, 60) * MILLISECOND
    return [each if each.outbound else replace(each, when=each.when + offset) for each in packets]


def truncated(packets: list[Packet], dice: Random) -> list[Packet]:
    """By one snap length."""
    snap = dice.randint(34, 140)
    return [replace(each, snap=snap) for each in packets]


SAME: tuple[Transform, ...] = (encapsulated, copied, in_microseconds)
LESS: tuple[Transform, ...] = (
    *(without_one, without_some, one_direction, from_the_middle, skewed, truncated),
)
