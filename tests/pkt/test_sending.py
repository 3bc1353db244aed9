"""Inbound packets of scripts, turned into bytes for the kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.icmp import IcmpError
from scapy_tfo.option import MAX_OPTIONS, padded, push_options
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.packets.bindings import MeaningError, Meanings
from scapy_tfo.pkt.packets.matching import Heard, compare
from scapy_tfo.pkt.packets.options import raw_option
from scapy_tfo.pkt.packets.sending import icmp_to_send, reset_to_send, segment_to_send
from scapy_tfo.segment import ACK, RST, MalformedPacketError, Segment
from tests.pkt.lines import flow_of, inbound, seen_from_the_other_side

NOTHING = Meanings({})
longs = st.integers(0, 2**32 - 1)
shorts = st.integers(0, 2**16 - 1)


def built(text: str, flow: Any = None, meanings: Meanings = NOTHING, **more: Any) -> Segment:
    return Segment.from_bytes(
        segment_to_send(inbound(text), flow or flow_of(100, 7000), meanings, **more)
    )


# What is built is what a script that wants just this packet takes for it.


@st.composite
def counters(draw: st.DrawFn) -> fields.AccEcn:
    order = draw(st.sampled_from([("e0b", "ceb", "e1b"), ("e1b", "ceb", "e0b")]))
    count = draw(st.integers(1, 3))
    numbers = draw(st.lists(st.integers(0, 2**24 - 1), min_size=count, max_size=count))
    return fields.AccEcn(tuple(zip(order, numbers, strict=False)))


options = st.lists(
    st.one_of(
        st.just(fields.Nop()),
        st.builds(fields.Mss, shorts),
        st.builds(fields.WindowScale, st.integers(0, 255)),
        st.just(fields.SackPermitted()),
        st.builds(
            fields.Sack, st.lists(st.tuples(longs, longs), min_size=1, max_size=4).map(tuple)
        ),
        st.builds(fields.Timestamps, longs, longs),
        st.builds(fields.FastOpen, st.none() | st.binary(min_size=1, max_size=16), st.booleans()),
        st.builds(fields.Md5, st.binary(min_size=1, max_size=16)),
        counters(),
        st.builds(fields.RawOption, st.integers(50, 150), st.none(), st.binary(max_size=10)),
    ),
    max_size=5,
    # No stack sends two timestamps.
    unique_by=lambda option: 0 if isinstance(option, fields.Timestamps) else object(),
).map(tuple)
marks = st.tuples(
    st.sampled_from(["noecn", "ect0", "ect1", "ect01", "ce", "tos"]), st.integers(0, 255)
).map(lambda pair: (tree.Mark(pair[0], pair[1] if pair[0] == "tos" else None),))


@st.composite
def packets(draw: st.DrawFn) -> tree.Packet:
    start, length = draw(longs), draw(st.integers(0, 1400))
    letters = draw(st.sets(st.sampled_from("FSRPUEWA")))
    flags = "".join(sorted(letters)) + draw(st.sampled_from(["", "."])) or "-"
    return tree.Packet(
        direction=tree.Direction.INBOUND,
        flags=flags,
        range=tree.Range(start, (start + length) % 2**32, length),
        ack=draw(longs) if "." in flags else None,
        win=draw(shorts),
        urg=draw(st.none() | shorts),
        options=draw(options),
        marks=draw(st.just(()) | marks) + draw(st.sampled_from([(), (tree.Mark("ttl", 7),)])),
    )


def _options(packet: tree.Packet) -> bytes:
    return push_options(
        raw_option(each, NOTHING, edge_offset=0, echo=NOTHING.number)
        for each in packet.options or ()
    )


@given(packets(), longs, longs, st.sampled_from([4, 6]))
def test_what_is_built_matches_itself(
    packet: tree.Packet, remote_isn: int, local_isn: int, family: int
) -> None:
    flow = flow_of(remote_isn, local_isn, family=family)
    try:
        data = segment_to_send(packet, flow, NOTHING)
    except MeaningError:
        assert len(padded(_options(packet))) > MAX_OPTIONS
        return
    expected = replace(packet, direction=tree.Direction.OUTBOUND)
    other = seen_from_the_other_side(flow)
    assert compare(expected, Heard(Segment.from_bytes(data)), other, NOTHING).differences == []


@given(packets(), longs, longs)
def test_and_nothing_in_it_is_left_to_chance(
    packet: tree.Packet, remote_isn: int, local_isn: int
) -> None:
    packet = replace(packet, options=())
    data = segment_to_send(packet, flow_of(remote_isn, local_isn), NOTHING)
    segment = Segment.from_bytes(data)
    assert (segment.sport, segment.dport) == (40000, 8080)
    assert segment.checksum is None
    assert segment.data_offset is None
    assert not any(segment.payload)


# Numbers.


@pytest.mark.parametrize(
    ("text", "seq", "ack"),
    [
        ("S 500:500(0)", 500, 0),
        (". 1:1(0) ack 1", 101, 7001),
        ("P. 1:11(10) ack 4294967295", 101, 6999),
        ("R 1:1(0)", 101, 0),
        ("S. 500:500(0) ack 6", 500, 7001),
        (". 4294967200:4294967201(1) ack 1", 4, 7001),
    ],
)
def test_numbers_are_counted_from_the_isns(text: str, seq: int, ack: int) -> None:
    flow = flow_of(100, 7000)
    flow.script_isn = 5
    segment = built(text, flow)
    assert (segment.seq, segment.ack) == (seq, ack)


def test_a_syn_before_any_packet_of_the_kernel_keeps_its_numbers() -> None:
    flow = flow_of(0, 0)
    flow.remote_isn = flow.script_isn = flow.live_isn = None
    segment = built("S 500:500(0) win 5", flow)
    assert (segment.seq, segment.window, segment.hop_limit) == (500, 5, 255)


def test_edges_of_sack_blocks_are_of_the_kernels_numbers() -> None:
    segment = built(". 1:1(0) ack 1 <sack 11:21>")
    assert segment.options[:10] == bytes([5, 10]) + (7011).to_bytes(4, "big") + (7021).to_bytes(
        4, "big"
    )


def test_an_echoed_timestamp_is_what_the_kernel_really_said() -> None:
    flow = flow_of(100, 7000)
    assert built(". 1:1(0) ack 1 <TS val 5 ecr 9>", flow).timestamps == (5, 9)
    flow.note_stamp(1000, 99)
    assert built(". 1:1(0) ack 1 <TS val 5 ecr 1000>", flow).timestamps == (5, 99)
    with pytest.raises(MeaningError, match="TS val 1010"):
        built(". 1:1(0) ack 1 <TS val 5 ecr 1010>", flow)
    scaled = built(". 1:1(0) ack 1 <TS val 5 ecr 1010>", flow, scaled=True)
    assert scaled.timestamps == (5, 109)
    assert built("S 0:0(0) <TS val 5 ecr 1010>", flow).timestamps == (5, 1010)


def test_a_kept_timestamp_is_echoed_as_it_was() -> None:
    meanings = Meanings({})
    meanings.keep("T", 123456)
    flow = flow_of(100, 7000)
    flow.note_stamp(1, 2)
    assert built(". 1:1(0) ack 1 <TS val 5 ecr $T>", flow, meanings).timestamps == (5, 123456)


def test_cookies_may_be_symbols_or_kept() -> None:
    meanings = Meanings({"COOKIE": "0a0b0c0d"})
    meanings.keep("C", b"12345678")
    assert built("S 0:0(0) <FO COOKIE>", None, meanings).cookie == b"\x0a\x0b\x0c\x0d"
    assert built("S 0:0(0) <FOEXP $C>", None, meanings).cookie == b"12345678"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("S 0:0(0) <FO COOKIE>", "give -D COOKIE=VALUE"),
        ("S 0:0(0) <FO WORD>", "WORD is not hexadecimal"),
        ("S 0:0(0) <mss WORD>", "WORD is not a number"),
        ("S 0:0(0) <mss BIG>", "does not fit into 16 bits"),
        ("S 0:0(0) <FO $N>", "is a number, but a cookie is needed"),
        ("S 0:0(0) <mss $C>", "is a cookie, but a number is needed"),
        ("S 0:0(0) <mss $X>", "has not come"),
        ("S 0:0(0) win BIG", "does not fit its field"),
        ("S 0:LEN(LEN)", "-5 bytes of data do not fit"),
        ("S 0:HUGE(HUGE)", "bytes of data do not fit"),
    ],
)
def test_what_cannot_be_built_is_said(text: str, problem: str) -> None:
    meanings = Meanings({"WORD": "word", "BIG": "70000", "LEN": "-5", "HUGE": "99999999999"})
    meanings.keep("N", 5)
    meanings.keep("C", b"1234")
    with pytest.raises(MeaningError, match=problem):
        built(text, None, meanings)


def test_a_wildcard_is_not_for_sending() -> None:
    asterisk = replace(inbound("S 0:0(0)"), options=(fields.Mss(fields.Wildcard()),))
    with pytest.raises(MeaningError, match="for packets that the kernel sends"):
        segment_to_send(asterisk, flow_of(1, 2), NOTHING)
    asterisk = replace(inbound("S 0:0(0)"), options=(fields.FastOpen(fields.Wildcard()),))
    with pytest.raises(MeaningError, match="for packets that the kernel sends"):
        segment_to_send(asterisk, flow_of(1, 2), NOTHING)


# Headers that lie.


def test_a_wrong_checksum() -> None:
    right = built("S 0:0(0)")
    wrong = built("S 0:0(0) with checksum bad")
    assert wrong.checksum is not None
    assert replace(wrong, checksum=None) == right
    assert built("S 0:0(0) with checksum 0x1234").checksum == 0x1234


@pytest.mark.parametrize("text", ["S 0:0(0) win 1", "S 0:0(0) win 1 <mss 1460,nop,wscale 7>"])
def test_a_wrong_data_offset(text: str) -> None:
    right = segment_to_send(inbound(text), flow_of(1, 2), NOTHING)
    wrong = segment_to_send(inbound(f"{text} with doff bad"), flow_of(1, 2), NOTHING)
    assert wrong[32] >> 4 == (right[32] >> 4) - 1
    given = segment_to_send(inbound(f"{text} with doff 15"), flow_of(1, 2), NOTHING)
    assert given[32] >> 4 == 15
    assert given[40:] == right[40:]


@pytest.mark.parametrize("family", [4, 6])
def test_a_wrong_ip_length(family: int) -> None:
    flow = flow_of(1, 2, family=family)
    head, at = (20, slice(2, 4)) if family == 4 else (40, slice(4, 6))

    def length(text: str) -> int:
        data = segment_to_send(inbound(text), flow, NOTHING)
        assert len(data) == head + 20
        return int.from_bytes(data[at], "big") + (0 if family == 4 else 40)

    assert length("S 0:0(0) win 1 with ip_len bad") != head + 20
    assert length("S 0:0(0) win 1 with ip_len 55") == 55
    with pytest.raises(MalformedPacketError):
        Segment.from_bytes(
            segment_to_send(inbound("S 0:0(0) win 1 with ip_len 41"), flow, NOTHING)[:41]
        )


def test_raw_options_stand_as_they_are() -> None:
    segment = built("S 0:0(0) <kind 34 len 3 hex 61,kind 99,kind 34 len 1>")
    assert segment.options == padded(bytes.fromhex("220361 6302 2201"))


def test_marks_of_the_ip_header() -> None:
    marked = replace(inbound("S 0:0(0)"), marks=(tree.Mark("tos", 0x10), tree.Mark("ce")))
    segment = Segment.from_bytes(segment_to_send(marked, flow_of(1, 2), NOTHING))
    assert segment.traffic_class == 0x13
    data = segment_to_send(
        replace(inbound("S 0:0(0)"), marks=(tree.Mark("flowlabel", 0x12345),)),
        flow_of(1, 2, family=6),
        NOTHING,
    )
    assert int.from_bytes(data[:4], "big") & 0xFFFFF == 0x12345


# ICMP.


def icmp(text: str) -> tree.Icmp:
    found = parse(f"+0 < {text}").events[0].action
    assert isinstance(found, tree.Icmp)
    return found


@pytest.mark.parametrize(
    ("text", "family", "kind", "code", "mtu"),
    [
        ("icmp unreachable host_unreachable [1:11(10)]", 4, 3, 1, 0),
        ("icmp unreachable frag_needed mtu 1200 [1:11(10)]", 4, 3, 4, 1200),
        ("icmp unreachable CODE [1:11(10)]", 4, 3, 2, 0),
        ("icmp type_12 code_7 [1:11(10)]", 4, 12, 7, 0),
        ("icmp unreachable address_unreachable [1:11(10)]", 6, 1, 3, 0),
        ("icmp packet_too_big mtu 1280 [1:11(10)]", 6, 2, 0, 1280),
    ],
)
def test_icmp_errors_quote_a_segment_of_the_kernel(
    text: str, family: int, kind: int, code: int, mtu: int
) -> None:
    flow = flow_of(100, 2**32 - 5, family=family)
    meanings = Meanings({"CODE": "protocol_unreachable"})
    error = IcmpError.from_bytes(icmp_to_send(icmp(text), flow, meanings))
    assert error is not None
    assert (error.type, error.code, error.mtu) == (kind, code, mtu)
    assert (error.src, error.dst) == (flow.remote, flow.local)
    ports_and_seq = error.quoted[20 if family == 4 else 40 :][:8]
    assert ports_and_seq == bytes.fromhex("1f90 9c40 fffffffc")


def test_an_icmp_error_that_its_ip_version_has_not() -> None:
    with pytest.raises(MeaningError, match="IPv4 has no ICMP type packet_too_big"):
        icmp_to_send(icmp("icmp packet_too_big [1:1(0)]"), flow_of(1, 2), NOTHING)
    text = "icmp unreachable frag_needed [1:1(0)]"
    with pytest.raises(MeaningError, match="IPv6 has no code frag_needed"):
        icmp_to_send(icmp(text), flow_of(1, 2, family=6), NOTHING)


def test_a_reset_for_what_the_kernel_sent() -> None:
    heard = built("P. 1:11(10) ack 1")
    reset = Segment.from_bytes(reset_to_send(heard, 2**32 + 7))
    assert (reset.flags, reset.seq, reset.ack) == (RST | ACK, 7, heard.end)
    assert (reset.sport, reset.dport) == (heard.dport, heard.sport)
