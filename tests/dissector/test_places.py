"""Places of a segment in a frame: link layers, extension headers, tunnels, fragments."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from crafted import COOKIE, DATA, Talk, fast_open
from encapsulations import (
    ETHERNET,
    IPV4,
    IPV6,
    MACS,
    RAW,
    WAYS,
    ethernet,
    in_keyed_gre,
    in_vxlan,
    ip_over,
    vlan,
)
from tshark import connections, fields, needs_tshark, table

from scapy_tfo import option as opt

pytestmark = needs_tshark

RADIOTAP = 127
TCP = 6


def accepted(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(len(DATA))
    talk.data(at=len(DATA))
    talk.answer()


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
@pytest.mark.parametrize("way", ["Ethernet", "VLAN", "raw IP", "cooked", "cooked, version 2"])
def test_an_icmp_error_is_found(way: str, family: int, tmp_path: Path) -> None:
    """Also where the packet before it came by another link layer, and among packets without TCP."""
    talk = Talk(family=family)
    talk.syn(COOKIE, DATA)
    talk.unreachable(3, 3) if family == 4 else talk.unreachable(1, 4)
    syn, error = (each.data for each in talk.packets)
    link, wrap = WAYS[way]
    kind = IPV4 if family == 4 else IPV6
    udp = bytes.fromhex("4500001c00000000401100000a0000010a000002") + bytes(8)
    other = (vlan if wrap is ethernet else ethernet)(udp, IPV4) if link == ETHERNET else b""
    frames = [wrap(syn, kind), wrap(udp, IPV4), other, wrap(error, kind)]
    (found,) = connections(write_pcap(tmp_path / "icmp.pcap", link, frames))
    assert found["why"] == "answered by ICMP in 4: port unreachable"


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


def fragments(packet: bytes, family: int, size: int) -> list[bytes]:
    """Of an IP packet without options, each with so many bytes, a multiple of eight."""
    begin = 20 if family == 4 else 40
    body = packet[begin:]
    made = []
    for at in range(0, len(body), size):
        part, more = body[at : at + size], int(at + size < len(body))
        if family == 4:
            where = (more << 13 | at // 8).to_bytes(2, "big")
            head = packet[:2] + (20 + len(part)).to_bytes(2, "big") + b"\x12\x34" + where
            made.append(head + packet[8:20] + part)
        else:
            extension = bytes([TCP, 0]) + (at | more).to_bytes(2, "big") + b"same"
            length = (8 + len(part)).to_bytes(2, "big")
            made.append(packet[:4] + length + bytes([44]) + packet[7:40] + extension + part)
    return made


@pytest.mark.parametrize("put_together", ["TRUE", "FALSE"])
@pytest.mark.parametrize("family", [4, 6])
def test_a_syn_in_fragments_is_no_shorter_syn(
    family: int, put_together: str, tmp_path: Path
) -> None:
    """Where Wireshark is told not to put them together, it shows the first as a segment."""
    data = bytes(1200)
    talk = Talk(family=family)
    talk.syn(COOKIE, data)
    talk.syn_ack(len(data))
    talk.data(at=len(data))
    syn, *others = (each.data for each in talk.packets)
    capture = write_pcap(tmp_path / "parts.pcap", RAW, [*fragments(syn, family, 600), *others])
    told = [f"{ip}.defragment:{put_together}" for ip in ("ip", "ipv6")]
    wanted = [word for each in told for word in ("-o", each)]
    assert table(capture, "outcome", arguments=wanted) == []
    assert fields(capture, "tfo.rule", arguments=tuple(wanted)) == [[""]] * 5


@pytest.mark.parametrize("family", [4, 6])
def test_a_packet_that_is_its_only_fragment_is_whole(family: int, tmp_path: Path) -> None:
    frames = [part for packet in spoken(family) for part in fragments(packet, family, 4000)]
    (found,) = connections(write_pcap(tmp_path / "whole.pcap", RAW, frames))
    assert (found["outcome"], found["resent"]) == ("refused-silently", len(DATA))


def test_data_sent_again_in_fragments_is_not_counted_in_part(tmp_path: Path) -> None:
    talk = Talk()
    talk.syn(COOKIE, bytes(1200))
    talk.syn_ack()
    talk.data(bytes(1200))
    talk.data(at=1200)
    syn, syn_ack, again, ack = (each.data for each in talk.packets)
    frames = [syn, syn_ack, *fragments(again, 4, 600), ack]
    (found,) = connections(write_pcap(tmp_path / "again.pcap", RAW, frames))
    assert found["outcome"] == "refused-silently"
    assert "resent" not in found
