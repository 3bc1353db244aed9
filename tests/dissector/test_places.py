"""Places of a segment in a frame: link layers, extension headers, tunnels, fragments."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from crafted import COOKIE, DATA, Talk, fast_open
from tshark import connections, fields, needs_tshark

from scapy_tfo import option as opt

pytestmark = needs_tshark

MACS = bytes(6) + b"\x02" * 6
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
RAW, ETHERNET, NULL, SLL, SLL2, RADIOTAP = 101, 1, 0, 113, 276, 127
TCP = 6


def cooked(packet: bytes, kind: bytes) -> bytes:
    return bytes(5) + b"\x01\x00\x06" + bytes(6) + kind + packet


def cooked_2(packet: bytes, kind: bytes) -> bytes:
    return kind + bytes(2) + bytes(4) + b"\x00\x01" + b"\x00" + b"\x06" + bytes(8) + packet


def null(packet: bytes, kind: bytes) -> bytes:
    return struct.pack("<I", 2 if kind == IPV4 else 30) + packet


def ethernet(packet: bytes, kind: bytes) -> bytes:
    return MACS + kind + packet


def vlan(packet: bytes, kind: bytes) -> bytes:
    return MACS + b"\x81\x00\x00\x05" + kind + packet


def ip_over(protocol: int, inside: bytes) -> bytes:
    """An IPv4 packet of other addresses around something."""
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(inside), 1, 0, 64, protocol, 0)
    return head + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + inside


def in_ip(packet: bytes, kind: bytes) -> bytes:
    return ip_over(4 if kind == IPV4 else 41, packet)


def in_gre(packet: bytes, kind: bytes) -> bytes:
    return ip_over(47, bytes(2) + kind + packet)


def in_keyed_gre(packet: bytes, kind: bytes) -> bytes:
    return ip_over(47, b"\x30\x00" + kind + bytes([0, 0, 0, 9, 0, 0, 0, 1]) + packet)


def in_vxlan(packet: bytes, kind: bytes) -> bytes:
    inside = b"\x08" + bytes(7) + ethernet(packet, kind)
    return ip_over(17, struct.pack("!HHHH", 50000, 4789, 8 + len(inside), 0) + inside)


def with_more_header(packet: bytes, kind: bytes) -> bytes:
    """IPv4 options, or an IPv6 extension header, that mean nothing."""
    if kind == IPV4:
        total = int.from_bytes(packet[2:4], "big") + 4
        return (
            b"\x46"
            + packet[1:2]
            + total.to_bytes(2, "big")
            + packet[4:20]
            + bytes([1] * 4)
            + packet[20:]
        )
    length = int.from_bytes(packet[4:6], "big") + 8
    more = bytes([TCP, 0, 1, 4, 0, 0, 0, 0])
    return packet[:4] + length.to_bytes(2, "big") + b"\x00" + packet[7:40] + more + packet[40:]


def accepted(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))
    talk.answer()


def bare(packet: bytes, _: bytes) -> bytes:
    return packet


WAYS = {
    "Ethernet": (ETHERNET, ethernet),
    "VLAN": (ETHERNET, vlan),
    "raw IP": (RAW, bare),
    "cooked": (SLL, cooked),
    "cooked, version 2": (SLL2, cooked_2),
    "loopback": (NULL, null),
    "IP in IP": (RAW, in_ip),
    "GRE": (RAW, in_gre),
    "VXLAN": (RAW, in_vxlan),
    "longer IP header": (RAW, with_more_header),
}


def write_pcap(path: Path, link: int, frames: list[bytes], *, snap: int = 65535) -> Path:
    """A frame each millisecond, of which `snap` bytes are captured."""
    records = [
        struct.pack("<IIII", 1_700_000_000, n * 1000, min(snap, len(f)), len(f)) + f[:snap]
        for n, f in enumerate(frames)
    ]
    path.write_bytes(
        struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link) + b"".join(records)
    )
    return path


def spoken(family: int) -> list[bytes]:
    talk = Talk(family=family)
    talk.syn(COOKIE, DATA)
    talk.syn_ack()
    talk.data(DATA)
    return [each.data for each in talk.packets]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("way", WAYS)
def test_the_segment_is_found(way: str, family: int, tmp_path: Path) -> None:
    link, wrap = WAYS[way]
    frames = [wrap(packet, IPV4 if family == 4 else IPV6) for packet in spoken(family)]
    (found,) = connections(write_pcap(tmp_path / "one.pcap", link, frames))
    assert (found["outcome"], found["sent"], found["resent"]) == (
        "refused-silently",
        len(DATA),
        len(DATA),
    )


def test_an_option_at_the_far_end_of_the_header_is_found_in_later_frames_too(
    tmp_path: Path,
) -> None:
    late = bytes([opt.NOP] * 28) + fast_open(COOKIE)[4:]
    frames = []
    for sport in (40000, 40001):
        talk = Talk(family=6, sport=sport)
        talk.syn(options=late, data=DATA)
        frames += [vlan(each.data, IPV6) for each in talk.packets]
    capture = write_pcap(tmp_path / "late.pcap", ETHERNET, frames)
    assert fields(capture, "tfo.cookie") == [[COOKIE.hex()], [COOKIE.hex()]]


TCP_OFFSETS = range(34, 161)


def tagged(packet: bytes, offset: int, family: int) -> bytes:
    """On Ethernet, behind so many VLAN tags that the TCP header comes to stand there."""
    tags = (offset - 14 - (20 if family == 4 else 40)) // 4
    front = b"\x88\xa8\x00\x05" * (tags - 1) + b"\x81\x00\x00\x05" if tags else b""
    return MACS + front + (IPV4 if family == 4 else IPV6) + packet


def padded_radiotap(packet: bytes, offset: int, family: int) -> bytes:
    """A data frame of 802.11 behind a radiotap header as long as needed, up to the TCP header."""
    inside = b"\xaa\xaa\x03\x00\x00\x00" + (IPV4 if family == 4 else IPV6)
    wireless = b"\x08\x01" + bytes(22)
    room = offset - (20 if family == 4 else 40) - len(inside) - len(wireless)
    return struct.pack("<BBHI", 0, 0, room, 0) + bytes(room - 8) + wireless + inside + packet


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(
    ("link", "wrap", "shortest", "step"),
    [(ETHERNET, tagged, 14, 4), (RADIOTAP, padded_radiotap, 40, 1)],
    ids=["VLAN tags", "radiotap"],
)
def test_options_are_seen_at_every_offset(
    link: int,
    wrap: Callable[[bytes, int, int], bytes],
    shortest: int,
    step: int,
    family: int,
    tmp_path: Path,
) -> None:
    """Two connections at each: the place is known from the first of them."""
    frames, offsets = [], {}
    first = shortest + (20 if family == 4 else 40)
    for offset in range(first, TCP_OFFSETS.stop, step):
        for sport in (40000 + offset, 41000 + offset):
            talk = Talk(family=family, sport=sport)
            accepted(talk)
            offsets[sport] = offset
            frames += [wrap(each.data, offset, family) for each in talk.packets]
    found = connections(write_pcap(tmp_path / "offsets.pcap", link, frames))
    shown = {each["client_port"]: each["outcome"] for each in found}
    assert shown == dict.fromkeys(offsets, "accepted")


def test_other_frames_between_them_disturb_nothing(tmp_path: Path) -> None:
    arp = MACS + b"\x08\x06" + bytes(28)
    udp = ethernet(ip_over(17, struct.pack("!HHHH", 53, 53, 60, 0) + bytes(52)), IPV4)
    frames = [arp]
    for number, packet in enumerate(spoken(4)):
        frames += [(vlan if number % 2 else ethernet)(packet, IPV4), udp, b"", arp[:13]]
    (found,) = connections(write_pcap(tmp_path / "mixed.pcap", ETHERNET, frames))
    assert found["outcome"] == "refused-silently"


def test_an_address_that_looks_like_a_header_where_headers_were_is_none(tmp_path: Path) -> None:
    """Behind GRE, the octet 0x64 of the server's address stands where IPv6 began behind VXLAN, and
    a byte of the SYN's ISN stands where it would name TCP."""
    before, behind = Talk(sport=40001), Talk(sport=40002, isn=0x06000000)
    accepted(before)
    accepted(behind)
    frames = [ethernet(in_vxlan(each.data, IPV4), IPV4) for each in before.packets]
    frames += [ethernet(in_keyed_gre(each.data, IPV4), IPV4) for each in behind.packets]
    found = connections(write_pcap(tmp_path / "tunnels.pcap", ETHERNET, frames))
    assert [each["outcome"] for each in found] == ["accepted", "accepted"]


@pytest.mark.parametrize("first", [0x45, 0x4E])
def test_a_tag_that_looks_like_a_header_where_headers_were_is_none(
    first: int, tmp_path: Path
) -> None:
    """A VLAN of priority 2 stands where IPv4 began in untagged frames, with a 6 in the place
    of the protocol: in the packet's identification."""
    plain, tagged = Talk(sport=40001), Talk(sport=40002)
    accepted(plain)
    accepted(tagged)
    frames = []
    for here, there in zip(plain.packets, tagged.packets, strict=True):
        packet = there.data[:4] + b"\x00\x06" + there.data[6:]
        frames += [
            ethernet(here.data, IPV4),
            MACS + b"\x81\x00" + bytes([first, 5]) + IPV4 + packet,
        ]
    found = connections(write_pcap(tmp_path / "tags.pcap", ETHERNET, frames))
    assert [each["outcome"] for each in found] == ["accepted"] * 2


def test_a_fragment_without_a_header_is_no_segment(tmp_path: Path) -> None:
    (syn, *_) = spoken(4)
    # The bytes of a SYN with a cookie, as they might stand in the middle of a large datagram.
    fragment = syn[:6] + b"\x20\x10" + syn[8:]
    capture = write_pcap(tmp_path / "fragment.pcap", RAW, [fragment])
    assert fields(capture, "tfo.role") == [[""]]
    assert connections(capture) == []
