"""The description of a segment off the wire in a script's words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.printing import show_action, show_option, show_script
from scapy_tfo.pkt.packets.describe import describe, describe_options
from scapy_tfo.segment import ACK, SYN, Segment
from tests.test_segment import segments

IN, OUT = tree.Direction.INBOUND, tree.Direction.OUTBOUND
WIRE = {
    row["name"]: Segment.from_bytes(bytes.fromhex(row["wire"]))
    for row in json.loads((Path(__file__).parents[1] / "vectors" / "segments.json").read_text())
}
IN_WORDS = [
    ("IPv4, bare ACK", "< . 1:1(0) ack 2 win 512"),
    (
        "IPv6, SYN with a cookie and data",
        "< S 4294967280:4294967285(5) win 8192 <FO a0a1a2a3a4a5a6a7,eol,eol>",
    ),
    ("IPv4, wrong checksum", "< S 0:1(1) win 8192 with checksum 0x1234"),
    ("IPv4, data offset 4", "< S 0:12(12) win 8192 with doff 4"),
    (
        "IPv4, data offset past the end, options not whole words",
        "< S 0:0(0) win 8192 <FO,nop> with doff 15",
    ),
    ("IPv4, all flags and reserved bits", "< FSRPUEWA. 0:0(0) ack 0 win 8192 urg 9"),
    ("IPv4, TOS and TTL", "< [tos 0xb9] R 0:0(0) win 8192"),
]
OPTIONS = [
    ("020405b4 0402 030307", "mss 1460,sackOK,wscale 7"),
    ("01 01 080a 00000001 00000002", "nop,nop,TS val 1 ecr 2"),
    ("050a 00000065 00000066", "sack 1:2"),
    ("2202 2206a1a2a3a4 2203aa", "FO,FO a1a2a3a4,FO aa"),
    ("fe04f989 fe06f9890102", "FOEXP,FOEXP 0102"),
    ("fd04f989 fe04f98a fe03f9", "kind 253 hex f989,kind 254 hex f98a,kind 254 hex f9"),
    ("ac05000001 ae08000001000002", "ECN e0b 1,ECN e1b 1 ceb 2"),
    ("1312" + "ab" * 16, "md5 " + "ab" * 16),
    ("1e0481aa", "kind 30 hex 81aa"),
    ("0203ff 030400ff 0a02", "kind 2 hex ff,kind 3 hex 00ff,kind 10"),
    ("0502 0506ffffffff", "kind 5,kind 5 hex ffffffff"),
    ("2209ff", "kind 34 len 9 hex ff"),
    ("2200 0101", "kind 34 len 0 hex 0101"),
    ("2201", "kind 34 len 1"),
    # What nobody reads, behind an EOL.
    ("00 020405b4 00", "eol,mss 1460,eol"),
    # A kind that has no room for a length.
    ("010122", "nop,kind 1 len 34"),
    ("0022", "kind 0 len 34"),
    ("020405b422", "kind 2 len 4 hex 05b422"),
]
NOT_SAID = {"hop_limit": 64, "reserved": 0}


@pytest.mark.parametrize(("name", "words"), IN_WORDS)
def test_a_segment_in_words(name: str, words: str) -> None:
    assert show_action(describe(WIRE[name], IN)) == words


@pytest.mark.parametrize(("wire", "words"), OPTIONS)
def test_options_in_words(wire: str, words: str) -> None:
    found = describe_options(bytes.fromhex(wire), ack_offset=-100)
    assert ",".join(map(show_option, found)) == words


def test_numbers_are_moved_modulo_2_32() -> None:
    segment = replace(
        WIRE["IPv4, bare ACK"],
        seq=5,
        ack=3,
        options=bytes.fromhex("050a 00000002 00000003 080a 0000000a 0000000b"),
        payload=b"abc",
    )
    moved = describe(
        segment,
        OUT,
        seq_offset=-6,
        ack_offset=2**32 - 3,
        timestamps=lambda value, echo: (value * 10, echo * 10),
        ports=(80, 5000),
    )
    assert show_action(moved) == (
        "> 80 > 5000 . 4294967295:2(3) ack 0 win 512 <sack 4294967295:0,TS val 100 ecr 110>"
    )


def test_an_acknowledgement_number_without_its_bit_is_told_as_it_is() -> None:
    segment = replace(WIRE["IPv4, bare ACK"], flags=SYN)
    assert describe(segment, IN, ack_offset=7).ack == 2
    assert describe(replace(segment, ack=0), IN, ack_offset=7).ack is None
    assert describe(replace(segment, flags=ACK), IN, ack_offset=7).ack == 9


@pytest.mark.parametrize(("byte", "mark"), [(0, None), (1, "ect1"), (2, "ect0"), (3, "ce")])
def test_ecn_bits(byte: int, mark: str | None) -> None:
    marks = describe(replace(WIRE["IPv4, bare ACK"], traffic_class=byte), IN).marks
    assert marks == (() if mark is None else (tree.Mark(mark),))


@given(segments())
def test_what_is_told_of_any_segment_is_read_back(segment: Segment) -> None:
    packet = describe(segment, IN)
    script = tree.Script((tree.Event(tree.Time(), packet),))
    assert parse(show_script(script)) == script


@given(segments(), segments())
def test_two_segments_that_differ_are_told_apart(one: Segment, other: Segment) -> None:
    for name in Segment.__slots__:
        changed = replace(one, **{name: getattr(other, name)} | NOT_SAID)
        same = replace(one, **NOT_SAID)
        told = describe(changed, IN) != describe(same, IN)
        if name == "payload":
            assert told == (len(changed.payload) != len(same.payload))
        elif name not in ("src", "dst", "sport", "dport", *NOT_SAID):
            assert told == (changed != same)


@given(st.binary(max_size=40))
def test_any_options_field_is_taken_apart(block: bytes) -> None:
    found = describe_options(block)
    written = ",".join(map(show_option, found))
    if found:
        event = parse(f"+0 < S 0:0(0) win 1 <{written}>").events[0].action
        assert isinstance(event, tree.Packet)
        assert event.options == found
    assert not any(isinstance(each, fields.FastOpen) and each.cookie == b"" for each in found)
