"""Fast Open inside Scapy: writing packets, reading packets, and no effect on anything else."""

from __future__ import annotations

import copy
import pickle
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.fields import RawVal
from scapy.layers.inet import ICMP, IP, TCP, UDP, TCPerror, TCPOptionsField
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Padding, fuzz

from scapy_tfo import option as opt
from scapy_tfo import scapy_bridge as bridge
from scapy_tfo.option import RawOption
from scapy_tfo.scapy_bridge import FastOpenTCP
from scapy_tfo.segment import SYN, Flags, MalformedPacketError, Segment

EXID = b"\xf9\x89"


def block_of(options: Any, **fields: Any) -> bytes:
    """The options field that a header built from that list carries."""
    return bytes(FastOpenTCP(options=options, **fields))[20:]


def read(block: bytes) -> list[Any]:
    """The options list of a header that carries the block, a whole number of words."""
    packet = FastOpenTCP(bytes(FastOpenTCP(dataofs=5 + len(block) // 4))[:20] + block)
    return packet.options


def rebuilt(packet: Any) -> bytes:
    """The packet built again from its fields, not from the bytes it was read from."""
    packet = packet.copy()
    for layer in packet.layers():
        packet[layer].raw_packet_cache = None
    return bytes(packet)


not_ours = st.binary(max_size=6).filter(lambda data: not data.startswith(EXID))
# What Scapy's own table knows, in the values it reads these options into.
ordinary = st.one_of(
    st.sampled_from([("NOP", None), ("SAckOK", b"")]),
    st.tuples(st.just("MSS"), st.integers(0, 0xFFFF)),
    st.tuples(st.just("WScale"), st.integers(0, 255)),
    st.tuples(st.just("Timestamp"), st.tuples(*[st.integers(0, 0xFFFFFFFF)] * 2)),
    st.tuples(st.just("SAck"), st.lists(st.integers(0, 9), min_size=2, max_size=4).map(tuple)),
    st.tuples(st.just("MD5"), st.binary(min_size=16, max_size=16)),
    st.tuples(st.sampled_from([77, 253, 254]), not_ours),
)
ordinary_lists = st.lists(ordinary, max_size=6).filter(
    lambda options: len(TCPOptionsField.i2m(None, None, options)) <= opt.MAX_OPTIONS
)


class TestAuthoring:
    def test_cookies_beside_other_options(self) -> None:
        block = block_of([("TFO", b"cookie"), ("TFO", b""), ("MSS", 1460)])
        assert block.hex() == "2208" + b"cookie".hex() + "2202" + "020405b4" + "0000"

    @pytest.mark.parametrize("name", ["TFO", "TFO-EXP", "TFO-EXP253"])
    @pytest.mark.parametrize("size", range(35))
    def test_a_cookie_of_every_size_is_bytes_both_ways(self, name: str, size: int) -> None:
        cookie = bytes(range(1, size + 1))
        kind, start = {
            "TFO": (34, b""),
            "TFO-EXP": (254, EXID),
            "TFO-EXP253": (253, EXID),
        }[name]
        block = block_of([(name, cookie)])
        option = bytes([kind, 2 + len(start) + size]) + start + cookie
        assert block == opt.padded(option)
        assert read(block)[0] == (name, cookie)

    @pytest.mark.parametrize(
        ("options", "wire"),
        [
            ([opt.fast_open(b"cook", length=3)], "2203636f6f6b0000"),
            ([("TFO", RawOption(34, 0, b"\x01\x02"))], "22000102"),
            ([("TFO", RawOption(34, 1))], "22010000"),
            ([("MSS", RawOption(2, 3, b"\x05"))], "02030500"),
            ([RawOption(34)], "22000000"),
            ([("EOL", None), ("TFO", b"")], "00220200"),
            ([("EOL", RawOption(0, None, b"\xff\xff\xff"))], "00ffffff"),
            ([("NOP", None), (34, b"cook")], "012206636f6f6b00"),
            ([(254, b"\x01\x02")], "fe040102"),
            ([(254, EXID + b"cook")], "fe08f989636f6f6b"),
            ([("TFO", None)], "22020000"),
            ([("TFO", bytearray(b"cook"))], "2206636f6f6b0000"),
            ([("TFO", "cook")], "2206636f6f6b0000"),
            ([("TFO", (1, 2))], "220a00000001000000020000"),
            (bytes.fromhex("22020101"), "22020101"),
            (RawVal(b"\x22\x02\x01\x01"), "22020101"),
        ],
    )
    def test_anything_may_be_said(self, options: Any, wire: str) -> None:
        assert block_of(options).hex() == wire

    def test_a_number_is_no_cookie(self) -> None:
        with pytest.raises(TypeError, match="bytes-like"):
            block_of([("TFO", 8)])

    def test_readers_can_unpack_what_an_author_put_in_bare(self) -> None:
        lie = opt.fast_open(b"cook", length=3)
        packet = FastOpenTCP(options=[lie, ("MSS", 1460)])
        assert packet.options == [("TFO", lie), ("MSS", 1460)]

    def test_more_than_a_header_holds_is_refused(self) -> None:
        with pytest.raises(ValueError, match="44 bytes of TCP options, but a header holds 40"):
            block_of([("TFO", bytes(39))])
        assert len(block_of([("TFO", bytes(38))])) == 40

    def test_more_than_a_header_holds_where_the_author_insists(self) -> None:
        assert block_of([("TFO", bytes(50))], dataofs=15) == bytes([34, 52]) + bytes(50)

    def test_a_data_offset_that_lies(self) -> None:
        packet = FastOpenTCP(dataofs=5, options=[("TFO", b"cook")])
        assert bytes(packet)[12] >> 4 == 5
        assert FastOpenTCP(bytes(packet)).load == bytes.fromhex("2206636f6f6b0000")


class TestReading:
    @pytest.mark.parametrize(
        ("wire", "options"),
        [
            ("2202fe04f9890000", [("TFO", b""), ("TFO-EXP", b""), ("EOL", None)]),
            ("fd04f989", [("TFO-EXP253", b"")]),
            ("fe040102fe030101", [(254, b"\x01\x02"), (254, b"\x01"), ("NOP", None)]),
            ("22000102", [("TFO", RawOption(34, 0, b"\x01\x02"))]),
            ("22010102", [("TFO", RawOption(34, 1, b"\x01\x02"))]),
            ("220a0102", [("TFO", RawOption(34, 10, b"\x01\x02"))]),
            ("fe0af98901020304", [("TFO-EXP", RawOption(254, 10, EXID + b"\x01\x02\x03\x04"))]),
            ("01010122", [("NOP", None)] * 3 + [("TFO", RawOption(34))]),
            ("00220200", [("EOL", RawOption(0, None, b"\x22\x02\x00"))]),
            ("00000000", [("EOL", None)]),
            ("0000000000000000", [("EOL", RawOption(0, None, bytes(7)))]),
            ("1306aabbccdd0000", [("MD5", RawOption(19, 6, b"\xaa\xbb\xcc\xdd")), ("EOL", None)]),
            ("1d030100", [("AO", RawOption(29, 3, b"\x01")), ("EOL", None)]),
        ],
    )
    def test_what_the_wire_says(self, wire: str, options: list[Any]) -> None:
        assert read(bytes.fromhex(wire)) == options

    @given(ordinary_lists)
    def test_other_options_read_as_in_scapy(self, options: list[Any]) -> None:
        header = bytes(TCP(options=options))
        assert FastOpenTCP(header).options == TCP(header).options

    @given(st.binary(max_size=40), st.integers(0, 15), st.binary(max_size=8))
    @example(b"\x00\x00\x00\x00", 15, b"")
    @example(b"\x22", 15, b"")
    @example(b"\x1d\x02\x1d\x03\x01\x00\x00\x00", 7, b"")
    @example(b"\x13\x03\x01\x00", 6, b"data")
    def test_any_header_is_built_again_byte_for_byte(
        self, block: bytes, offset: int, payload: bytes
    ) -> None:
        header = bytes(FastOpenTCP(dataofs=offset, chksum=0x1234))[:20] + block + payload
        assert rebuilt(FastOpenTCP(header)) == header

    def test_a_longer_cookie_takes_the_data_offset_with_it(self) -> None:
        packet = FastOpenTCP(bytes(FastOpenTCP(options=[("TFO", b"cook")]) / b"data"))
        assert packet.dataofs == 7
        packet.options = [("TFO", b"0123456789abcdef")]
        again = FastOpenTCP(bytes(packet))
        assert (again.dataofs, again.options[0]) == (10, ("TFO", b"0123456789abcdef"))
        assert again.load == b"data"

    def test_so_does_a_cookie_changed_in_place(self) -> None:
        packet = FastOpenTCP(bytes(FastOpenTCP(options=[("TFO", b"cook")])))
        packet.options[0] = ("TFO", b"0123456789abcdef")
        assert bytes(packet)[12] >> 4 == 10

    def test_so_does_a_copy(self) -> None:
        first = FastOpenTCP(bytes(FastOpenTCP(options=[("TFO", b"cook")])))
        for packet in (first.copy(), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
            packet.options = []
            assert bytes(packet)[12] >> 4 == 5

    def test_an_offset_set_by_hand_stays(self) -> None:
        packet = FastOpenTCP(bytes(FastOpenTCP(options=[("TFO", b"cook")])))
        packet.dataofs = 6
        packet.options = [("TFO", b"0123456789abcdef")]
        assert bytes(packet)[12] >> 4 == 6

    def test_too_many_options_put_into_a_packet_that_was_read(self) -> None:
        packet = FastOpenTCP(bytes(FastOpenTCP(options=[("TFO", b"cook")])))
        packet.options += [("TFO", bytes(38))]
        with pytest.raises(ValueError, match="48 bytes of TCP options"):
            bytes(packet)


class TestBesideScapy:
    def test_it_is_found_as_tcp(self) -> None:
        packet = IP(src="192.0.2.1", dst="192.0.2.2") / FastOpenTCP(sport=4000, dport=80)
        assert TCP in packet
        assert packet.haslayer("TCP")
        assert packet[TCP] is packet[FastOpenTCP]
        # As Scapy's own: a bare machine has no file that names port 80, or protocol 6.
        plain = IP(src="192.0.2.1", dst="192.0.2.2") / TCP(sport=4000, dport=80)
        assert packet.summary() == plain.summary()
        shown = "%TCP.flags% %IP.proto%"
        assert packet.sprintf(shown) == plain.sprintf(shown)

    def test_checksums_of_both_families_are_right(self) -> None:
        for ip in (IP(dst="192.0.2.2"), IPv6(src="2001:db8::1", dst="2001:db8::2")):
            segment = bridge.from_scapy(ip / FastOpenTCP(options=[("TFO", b"cook")]) / b"hi")
            assert segment.checksum is None
            assert segment.cookie == b"cook"

    def test_it_answers_and_is_answered(self) -> None:
        syn = FastOpenTCP(sport=4000, dport=80, seq=7, options=[("TFO", b"")])
        syn_ack = TCP(sport=80, dport=4000, ack=8, flags="SA")
        assert syn_ack.answers(syn)

    def test_fuzzed_headers_always_build(self) -> None:
        for _ in range(200):
            bytes(fuzz(FastOpenTCP()))

    def test_importing_it_changes_nothing(self) -> None:
        script = """
from scapy.layers.inet import TCP, TCPOptions, TCPerror
from scapy.packet import bind_layers
import copy
table, fields = copy.deepcopy(TCPOptions), [type(each) for each in TCP.fields_desc]
header = bytes(TCP(options=[("TFO", (1, 2)), ("TFO", b"odd")]))
before = TCP(header).options
import scapy_tfo.scapy_bridge
assert TCPOptions == table
assert [type(each) for each in TCP.fields_desc] == fields
assert TCP(header).options == before == [("TFO", (1, 2)), ("TFO", b"odd"), ("EOL", None)]
"""
        subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture
def installed() -> Iterator[None]:
    bridge.install()
    yield
    bridge.uninstall()


class TestInstalled:
    @pytest.mark.usefixtures("installed")
    def test_scapys_own_tcp_speaks_fast_open(self) -> None:
        packet = IP(dst="192.0.2.2") / TCP(options=[("TFO", b"12345678"), ("TFO-EXP", b"")])
        read = IP(bytes(packet))
        assert type(read[TCP]) is TCP
        assert read[TCP].options == [("TFO", b"12345678"), ("TFO-EXP", b""), ("EOL", None)]
        read[TCP].options[0] = ("TFO", b"1234")
        assert IP(bytes(read))[TCP].dataofs == 8

    @pytest.mark.usefixtures("installed")
    def test_so_does_the_header_in_an_icmp_error(self) -> None:
        syn = IP(dst="192.0.2.2") / TCP(options=[("TFO", b"12345678")])
        error = IP(bytes(IP(dst="192.0.2.1") / ICMP(type=3, code=1) / bytes(syn)))
        assert error[TCPerror].options[0] == ("TFO", b"12345678")

    @given(ordinary_lists)
    def test_the_tuples_of_others_stay(self, options: list[Any]) -> None:
        header = bytes(TCP(options=options))
        with bridge.installed():
            assert bytes(TCP(options=options)) == header
            ours = TCP(header).options
        assert ours == TCP(header).options

    def test_uninstalling_leaves_what_was_there(self) -> None:
        header = bytes(TCP(options=[("TFO", (1, 2))]))
        field, post_build = TCP.fields_desc[-1], TCP.post_build
        bridge.install()
        bridge.install()
        assert TCP(header).options[0] == ("TFO", b"\0\0\0\1\0\0\0\2")
        bridge.uninstall()
        bridge.uninstall()
        assert TCP(header).options[0] == ("TFO", (1, 2))
        assert TCP.fields_desc[-1] is field
        assert type(field) is TCPOptionsField
        assert TCP.post_build is post_build

    def test_for_a_while_and_nested(self) -> None:
        header = bytes(TCP(options=[("TFO", (1, 2))]))
        with bridge.installed():
            with bridge.installed():
                pass
            assert TCP(header).options[0] == ("TFO", b"\0\0\0\1\0\0\0\2")
        assert TCP(header).options[0] == ("TFO", (1, 2))

    def test_a_field_of_other_code_is_left_alone(self) -> None:
        class Others(TCPOptionsField):
            pass

        field = TCP.fields_desc[-1]
        field.__class__ = Others
        try:
            with pytest.raises(RuntimeError, match="options field Others of other code"):
                bridge.install()
            bridge.uninstall()
            assert type(field) is Others
        finally:
            field.__class__ = TCPOptionsField

    @pytest.mark.usefixtures("installed")
    def test_fuzzed_headers_always_build(self) -> None:
        for _ in range(200):
            bytes(fuzz(TCP()))


u8, u16, u32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))


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
        options=draw(st.binary(max_size=40)),
        payload=draw(st.binary(max_size=30)),
        data_offset=draw(st.none() | st.integers(0, 15)),
        checksum=draw(st.none() | u16),
        reserved=draw(st.integers(0, 15)),
        hop_limit=draw(u8),
        traffic_class=draw(u8),
    )


SEGMENT = Segment(
    src=IPv4Address("192.0.2.1"),
    dst=IPv4Address("192.0.2.2"),
    sport=4000,
    dport=80,
    flags=SYN,
    options=opt.push_options([opt.fast_open(b"cook"), opt.nop(), opt.nop()]),
    payload=b"hi",
)


class TestSegments:
    @given(segments())
    def test_a_segment_builds_the_same_bytes_in_scapy(self, segment: Segment) -> None:
        assert bytes(bridge.to_scapy(segment)) == segment.to_bytes()

    @given(segments())
    def test_a_segment_comes_back(self, segment: Segment) -> None:
        assert bridge.from_scapy(bridge.to_scapy(segment)) == Segment.from_bytes(segment.to_bytes())

    def test_a_packet_shows_its_options_by_name(self) -> None:
        packet = bridge.to_scapy(SEGMENT)
        assert packet[TCP].options == [("TFO", b"cook"), ("NOP", None), ("NOP", None)]
        assert (packet[TCP].chksum, packet[TCP].dataofs) == (None, None)
        assert packet.load == b"hi"

    def test_lies_stay(self) -> None:
        lie = replace(SEGMENT, checksum=0x1234, data_offset=15, options=b"\x22\x09\x01")
        packet = bridge.to_scapy(lie)
        assert (packet[TCP].chksum, packet[TCP].dataofs) == (0x1234, 15)
        assert packet[TCP].options == [("TFO", RawOption(34, 9, b"\x01"))]
        assert bytes(packet) == lie.to_bytes()

    def test_lower_layers_and_padding_are_taken_off(self) -> None:
        frame = Ether() / bridge.to_scapy(SEGMENT) / Padding(bytes(6))
        assert bridge.from_scapy(frame) == SEGMENT
        assert bridge.from_scapy(Ether(bytes(frame))) == SEGMENT

    @pytest.mark.parametrize(
        ("packet", "why"),
        [
            (Ether(), "no IP layer in"),
            (IP(dst="192.0.2.2") / UDP(), "IP protocol 17"),
        ],
    )
    def test_what_is_no_segment(self, packet: Any, why: str) -> None:
        with pytest.raises(MalformedPacketError, match=why):
            bridge.from_scapy(packet)


def test_the_benchmark_compares_ways_that_read_the_same() -> None:
    codec = runpy.run_path(str(Path(__file__).parent.parent / "bench" / "codec.py"))
    codec["check"](codec["full_syn"]())
    result = codec["measure"](rounds=1)
    assert set(result["nanoseconds"]) == {"strict", "raw", "scapy"}
