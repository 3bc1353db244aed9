"""Packets of the hot path and `Segment` agree, both ways."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scapy_tfo.packet import Ends, build, flags_of, fragmented, key_of, read
from scapy_tfo.segment import ACK, SYN, Segment, internet_checksum
from tests.test_segment import segments

ENDS = Ends(ip_address("192.0.2.10").packed, ip_address("192.0.2.1").packed, 40000, 80)
ENDS6 = Ends(ip_address("fd00::10").packed, ip_address("fd00::1").packed, 40000, 80)
few = settings(max_examples=50)
both = pytest.mark.parametrize("ends", [ENDS, ENDS6], ids=["ipv4", "ipv6"])


_AE = 1
"""Of the four bits behind the data offset, the one that has a meaning (RFC 9768 section 3.1)."""


def built(segment: Segment, **changes: int) -> bytes:
    return build(
        Ends(segment.src.packed, segment.dst.packed, segment.sport, segment.dport),
        segment.seq,
        segment.ack,
        segment.flags,
        segment.window,
        segment.options,
        segment.payload,
        urgent=segment.urgent,
        reserved=segment.reserved,
        traffic_class=segment.traffic_class,
        **changes,
    )


@few
@given(segments())
def test_what_is_built_reads_as_the_segment(segment: Segment) -> None:
    found = Segment.from_bytes(built(segment))
    assert str(found) == str(segment)
    fields = ("seq", "ack", "flags", "window", "options", "payload", "urgent", "traffic_class")
    for name in (*fields, "reserved"):
        assert getattr(found, name) == getattr(segment, name)


@few
@given(segments())
def test_what_a_segment_says_is_read(segment: Segment) -> None:
    packet = segment.to_bytes()
    reply = read(packet)
    assert reply == (
        segment.seq,
        segment.ack,
        segment.flags,
        segment.window,
        segment.options,
        segment.payload,
        not segment.reserved & ~_AE,
        bool(segment.reserved & _AE),
    )
    assert key_of(packet) == (segment.dst.packed, segment.dport, segment.sport)


@few
@given(segments(), st.integers(1, 0xFFFE))
def test_a_wrong_checksum_is_seen_by_both(segment: Segment, off: int) -> None:
    right = built(segment)
    wrong = built(segment, checksum=off)
    at = (20 if right[0] >> 4 == 4 else 40) + 16
    # The two zeros of one's complement are the same sum.
    assume({right[at : at + 2], wrong[at : at + 2]} != {b"\0\0", b"\xff\xff"})
    assert read(right).sound is (segment.reserved & ~_AE == 0)
    assert not read(wrong).sound
    assert Segment.read_back(wrong).checksum == int.from_bytes(wrong[at : at + 2], "big")
    assert Segment.read_back(right).checksum is None


@few
@given(segments(), st.integers(0, 15))
def test_a_wrong_offset_is_no_more_than_unsound(segment: Segment, words: int) -> None:
    size = 20 + len(segment.options) + len(segment.payload)
    reply = read(built(segment, data_offset=words))
    if words < 5 or words * 4 > size:
        assert not reply.sound
        assert Segment.from_bytes(built(segment, data_offset=words)).data_offset == words


def test_each_byte_that_is_turned_over_is_noticed() -> None:
    packet = build(ENDS, 1, 2, SYN | ACK, options=b"\x02\x04\x05\xb4", payload=b"text")
    for at in range(20, len(packet)):
        turned = bytearray(packet)
        turned[at] ^= 0x10
        assert not read(bytes(turned)).sound


@few
@given(segments(), st.integers(1, 100), st.integers(0, 1 << 32))
def test_fragments_make_the_packet_again(segment: Segment, size: int, number: int) -> None:
    packet = built(segment)
    head = 20 if packet[0] >> 4 == 4 else 40
    pieces = fragmented(packet, size, number)
    if len(pieces) == 1:
        assert pieces == [packet]
        return
    body = bytearray(len(packet) - head)
    for index, piece in enumerate(pieces):
        if head == 20:
            assert internet_checksum(piece[:20]) == 0
            assert int.from_bytes(piece[2:4], "big") == len(piece)
            word, text = int.from_bytes(piece[6:8], "big"), piece[20:]
            more, at = bool(word & 0x2000), (word & 0x1FFF) * 8
        else:
            assert piece[6] == 44
            assert piece[40] == 6
            assert int.from_bytes(piece[4:6], "big") == len(piece) - 40
            word, text = int.from_bytes(piece[42:44], "big"), piece[48:]
            more, at = bool(word & 1), word & 0xFFF8
        assert more is (index < len(pieces) - 1)
        assert len(text) <= max(size, 8)
        body[at : at + len(text)] = text
    assert bytes(body) == packet[head:]


@both
def test_other_protocols_have_no_key(ends: Ends) -> None:
    packet = bytearray(build(ends, 1, 0, SYN))
    assert key_of(bytes(packet)) == (ends.target, 80, 40000)
    assert key_of(bytes(packet[:-1])) is None
    packet[9 if len(ends.client) == 4 else 6] = 17
    assert key_of(bytes(packet)) is None


def test_flags_are_written_as_in_packetdrill() -> None:
    assert flags_of("S") == SYN
    assert flags_of("FSRP.UEW") == 0xFF
    assert flags_of("") == 0
    with pytest.raises(KeyError):
        flags_of("Z")
