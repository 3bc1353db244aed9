"""A segment as a value: its properties, and its bytes both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scapy_tfo import extension_headers as ext
from scapy_tfo import option as opt
from scapy_tfo.segment import (
    ACK,
    FIN,
    SYN,
    Flags,
    MalformedPacketError,
    Segment,
    internet_checksum,
    tcp_checksum,
)

TABLE = json.loads((Path(__file__).parent / "vectors" / "segments.json").read_text())
ROWS = [pytest.param(row, id=row["name"]) for row in TABLE]

V4, V6 = IPv4Address("192.0.2.1"), IPv6Address("2001:db8::1")
u8, u16, u32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
whole_words = st.integers(0, 10).flatmap(lambda n: st.binary(min_size=4 * n, max_size=4 * n))


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    family = draw(st.sampled_from([st.ip_addresses(v=4), st.ip_addresses(v=6)]))
    return Segment(
        src=draw(family),
        dst=draw(family),
        sport=draw(u16),
        dport=draw(u16),
        seq=draw(u32),
        ack=draw(u32),
        flags=Flags(draw(u8)),
        window=draw(u16),
        urgent=draw(u16),
        options=draw(whole_words),
        payload=draw(st.binary(max_size=80)),
        reserved=draw(st.integers(0, 15)),
        hop_limit=draw(u8),
        traffic_class=draw(u8),
    )


@st.composite
def marked(draw: st.DrawFn) -> Segment:
    """Segments with IP ID, or flow label and extension headers."""
    segment = draw(segments())
    if segment.src.version == 4:
        return replace(segment, ip_id=draw(u16))
    # No routing header: options in one mean something, and Scapy reads them so.
    header = st.builds(
        ext.padding,
        st.sampled_from([ext.HOP_BY_HOP, ext.DESTINATION]),
        st.integers(1, 32).map(lambda words: 8 * words),
    )
    return replace(
        segment,
        flow_label=draw(st.integers(0, (1 << 20) - 1)),
        extensions=tuple(draw(st.lists(header, max_size=3))),
    )


def from_row(row: dict[str, Any]) -> Segment:
    fields = dict(row["segment"])
    for name in ("src", "dst"):
        fields[name] = ip_address(fields[name])
    for name in ("options", "payload"):
        fields[name] = bytes.fromhex(fields.get(name, ""))
    fields["flags"] = Flags(fields["flags"])
    return Segment(**fields)


def syn(**fields: Any) -> Segment:
    return Segment(
        **{
            "src": IPv4Address("192.0.2.1"),
            "dst": IPv4Address("192.0.2.2"),
            "sport": 40000,
            "dport": 80,
            "flags": SYN,
            **fields,
        }
    )


class TestBytes:
    @pytest.mark.parametrize("row", ROWS)
    def test_reads_the_vector(self, row: dict[str, Any]) -> None:
        packet = bytes.fromhex(row["wire"]) + bytes.fromhex(row["trailer"])
        assert Segment.from_bytes(packet) == from_row(row)

    @pytest.mark.parametrize("row", ROWS)
    def test_writes_the_vector(self, row: dict[str, Any]) -> None:
        assert from_row(row).to_bytes().hex() == row["wire"]

    @given(segments())
    def test_what_is_written_reads_the_same(self, segment: Segment) -> None:
        assert Segment.from_bytes(segment.to_bytes()) == segment

    @given(segments(), u16, st.binary(max_size=20))
    def test_lies_and_bytes_behind_the_packet(
        self, segment: Segment, checksum: int, trailer: bytes
    ) -> None:
        lie = replace(segment, checksum=checksum).to_bytes()
        read = Segment.from_bytes(lie + trailer)
        assert replace(read, checksum=None) == segment
        assert read.to_bytes() == lie

    @given(segments(), st.integers(0, 15), st.binary(max_size=43))
    def test_any_data_offset_keeps_the_bytes(
        self, segment: Segment, offset: int, options: bytes
    ) -> None:
        packet = replace(segment, data_offset=offset, options=options).to_bytes()
        read = Segment.from_bytes(packet)
        assert read.to_bytes() == packet
        assert read.options + read.payload == options + segment.payload

    @given(st.one_of(st.binary(max_size=120), segments().map(Segment.to_bytes)), st.data())
    @example(b"", None)
    @example(b"\x45", None)
    @example(b"\x60" + bytes(39), None)
    def test_any_bytes_are_read_or_called_malformed(
        self, packet: bytes, data: st.DataObject | None
    ) -> None:
        if data is not None and packet:
            at = data.draw(st.integers(0, len(packet) - 1))
            packet = packet[:at] + bytes([data.draw(u8)]) + packet[at + 1 :]
            packet = packet[: data.draw(st.integers(0, len(packet)))]
        try:
            segment = Segment.from_bytes(packet)
        except MalformedPacketError:
            return
        assert Segment.from_bytes(segment.to_bytes()) == segment
        assert str(segment)

    @pytest.mark.parametrize(
        ("packet", "why"),
        [
            (b"", "not an IP packet"),
            (bytes(40), "not an IP packet"),
            (syn().to_bytes()[:39], "lengths do not fit"),
            (b"\x44" + syn().to_bytes()[1:], "lengths do not fit"),
            (b"\x4f" + syn().to_bytes()[1:], "lengths do not fit"),
            (b"\x46" + syn().to_bytes()[1:], "16 bytes of TCP"),
            (syn().to_bytes()[:6] + b"\x20\x00" + syn().to_bytes()[8:], "a fragment"),
            (syn().to_bytes()[:9] + b"\x11" + syn().to_bytes()[10:], "IP protocol 17"),
        ],
    )
    def test_says_what_is_malformed(self, packet: bytes, why: str) -> None:
        with pytest.raises(MalformedPacketError, match=why):
            Segment.from_bytes(packet)

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"options": bytes(41)}, "44 bytes of options; a header holds 40"),
            ({"seq": 1 << 32}, "does not fit its field"),
            ({"sport": -1}, "does not fit its field"),
            ({"checksum": 1 << 16}, "does not fit its field"),
            ({"payload": bytes(65536)}, "does not fit its field"),
            ({"dst": IPv6Address("::1")}, "not of one IP version"),
        ],
    )
    def test_refuses_what_no_packet_holds(self, fields: dict[str, Any], why: str) -> None:
        with pytest.raises(ValueError, match=why):
            syn(**fields).to_bytes()

    def test_more_options_than_a_header_holds_with_an_offset_given(self) -> None:
        packet = syn(options=bytes(44), data_offset=15).to_bytes()
        assert len(packet) == 20 + 20 + 44


class TestAgainstScapy:
    @given(segments())
    def test_scapy_builds_the_same_bytes(self, segment: Segment) -> None:
        from scapy.layers.inet import IP, TCP
        from scapy.layers.inet6 import IPv6
        from scapy.packet import Raw

        src, dst = str(segment.src), str(segment.dst)
        if segment.src.version == 4:
            ip = IP(
                src=src,
                dst=dst,
                id=0,
                flags="DF",
                ttl=segment.hop_limit,
                tos=segment.traffic_class,
            )
        else:
            ip = IPv6(src=src, dst=dst, hlim=segment.hop_limit, tc=segment.traffic_class)
        # As payload, so that Scapy's own reading of options has no say in their bytes.
        tcp = TCP(
            sport=segment.sport,
            dport=segment.dport,
            seq=segment.seq,
            ack=segment.ack,
            dataofs=5 + len(segment.options) // 4,
            reserved=segment.reserved >> 1,
            flags=(segment.reserved & 1) << 8 | segment.flags,
            window=segment.window,
            urgptr=segment.urgent,
        )
        assert segment.to_bytes() == bytes(ip / tcp / Raw(segment.options + segment.payload))


class TestChecksum:
    @given(st.binary(max_size=61))
    def test_words_with_their_checksum_sum_to_nothing(self, data: bytes) -> None:
        even = data + b"\0" * (len(data) % 2)
        if any(even):
            assert internet_checksum(even + internet_checksum(data).to_bytes(2, "big")) == 0

    def test_example_of_rfc_1071(self) -> None:
        assert internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2

    def test_covers_the_addresses(self) -> None:
        here, there = IPv4Address("192.0.2.1"), IPv4Address("192.0.2.9")
        assert tcp_checksum(here, here, bytes(20)) != tcp_checksum(here, there, bytes(20))

    def test_zero_is_right_in_both_its_forms(self) -> None:
        # One's complement has two zeros; Linux writes 0xFFFF (CSUM_MANGLED_0).
        here = IPv4Address("192.0.2.1")
        segment = Segment(src=here, dst=here, sport=1, dport=2, checksum=0)
        rest = tcp_checksum(here, here, segment.to_bytes()[20:])
        for zero in (0, 0xFFFF):
            balanced = replace(segment, urgent=rest, checksum=zero)
            assert Segment.from_bytes(balanced.to_bytes()).checksum is None


class TestFields:
    def test_a_syn_with_a_cookie_tells_it(self) -> None:
        options = opt.push_options([opt.mss(1460), opt.timestamps(5, 6), opt.fast_open(b"cook")])
        segment = syn(seq=0xFFFFFFFF, options=options, payload=b"hi")
        assert segment.is_syn
        assert not segment.is_syn_ack
        assert (segment.mss, segment.timestamps, segment.cookie) == (1460, (5, 6), b"cook")
        assert (segment.length, segment.end) == (3, 2)
        assert segment.flow == "192.0.2.1:40000>192.0.2.2:80"
        assert str(segment) == "S seq 4294967295 len 2 win 65535 TFO=636f6f6b"

    @pytest.mark.parametrize(
        ("options", "cookie"),
        [
            ([], None),
            ([opt.fast_open()], b""),
            ([opt.fast_open(b"odd")], None),
            ([opt.fast_open(b"cook"), opt.fast_open(b"cookie")], b"cookie"),
            ([opt.fast_open(b"cook"), opt.fast_open(b"odd")], b"cook"),
            ([opt.fast_open(b"cook", form=opt.Form.EXPERIMENT_2)], b"cook"),
            ([opt.RawOption(opt.EOL), opt.fast_open(b"cook")], None),
        ],
    )
    def test_the_cookie_is_that_of_the_last_valid_option(
        self, options: list[opt.RawOption], cookie: bytes | None
    ) -> None:
        assert syn(options=opt.push_options(options)).cookie == cookie

    @pytest.mark.parametrize(
        ("wire", "size", "stamps"),
        [
            ("", None, None),
            ("0203050000", None, None),
            ("020405b4020405c0", 0x5C0, None),
            ("0806000000010000", None, None),
            ("00020405b4", None, None),
            ("0204", None, None),
        ],
    )
    def test_malformed_options_have_no_value(
        self, wire: str, size: int | None, stamps: tuple[int, int] | None
    ) -> None:
        segment = syn(options=bytes.fromhex(wire))
        assert (segment.mss, segment.timestamps) == (size, stamps)

    def test_a_broken_option_and_another_form_show_in_the_text(self) -> None:
        options = opt.push_options(
            [opt.fast_open(form=opt.Form.EXPERIMENT_2), opt.fast_open(b"odd")]
        )
        text = str(syn(flags=SYN | ACK | FIN, ack=9, options=options))
        assert text == ("SF. seq 0 ack 9 len 0 win 65535 TFO=request/254 TFO!(length 5 is odd)")

    def test_ipv6_flows_have_brackets(self) -> None:
        segment = syn(src=IPv6Address("2001:db8::1"), dst=IPv6Address("2001:db8::2"))
        assert segment.flow == "[2001:db8::1]:40000>[2001:db8::2]:80"


@given(marked())
def test_ip_id_flow_label_and_extension_headers_survive(segment: Segment) -> None:
    read = Segment.from_bytes(segment.to_bytes())
    assert read == segment
    assert (read.ip_id, read.flow_label) == (segment.ip_id, segment.flow_label)
    assert Segment.read_back(segment.to_bytes()).flow_label == segment.flow_label


@given(marked())
@settings(max_examples=30)
def test_scapy_reads_the_same(segment: Segment) -> None:
    from scapy.layers.inet import IP, TCP
    from scapy.layers.inet6 import IPv6

    packet = segment.to_bytes()
    read = (IP if packet[0] >> 4 == 4 else IPv6)(packet)
    assert read[TCP].sport == segment.sport
    assert (read.id if read.version == 4 else read.fl) == segment.ip_id + segment.flow_label
    if read.version == 4:
        assert internet_checksum(packet[:20]) == 0


def test_segments_that_differ_in_marks_alone_are_equal() -> None:
    segment = Segment(src=V4, dst=V4, sport=1, dport=2)
    assert replace(segment, ip_id=7) == segment
    assert hash(replace(segment, flow_label=7)) == hash(segment)


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        ((ext.FRAGMENT, bytes(2) + b"\x01" + bytes(4)), "a fragment"),
        ((ext.FRAGMENT, bytes(1) + b"\x01\x00" + bytes(4)), "a fragment"),
        ((ext.HOP_BY_HOP, b"\x09" + bytes(6)), "longer than the packet"),
        ((ext.AUTHENTICATION, b"\xff" + bytes(10)), "longer than the packet"),
    ],
)
def test_extension_headers_that_are_not_whole(chain: ext.Extension, said: str) -> None:
    packet = Segment(src=V6, dst=V6, sport=1, dport=2, extensions=(chain,)).to_bytes()
    with pytest.raises(MalformedPacketError, match=said):
        Segment.from_bytes(packet)


def test_a_fragment_that_is_the_whole_packet_is_read() -> None:
    atomic = (ext.FRAGMENT, bytes(7))
    segment = Segment(src=V6, dst=V6, sport=1, dport=2, payload=b"x", extensions=(atomic,))
    assert Segment.from_bytes(segment.to_bytes()) == segment


@pytest.mark.parametrize("fields", [{"flow_label": 1 << 20}, {"flow_label": -1}])
def test_a_flow_label_that_does_not_fit(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Segment(src=V6, dst=V6, sport=1, dport=2, **fields).to_bytes()


def test_an_ip_id_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Segment(src=V4, dst=V4, sport=1, dport=2, ip_id=1 << 16).to_bytes()
