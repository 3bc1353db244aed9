"""ICMP errors that quote a segment: bytes both ways, and no exception whatever arrives."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.icmp import (
    IcmpError,
    about_header,
    about_ports,
    about_udp,
    echo_reply,
    is_about_tcp,
    packet_too_big,
    port_unreachable,
    unreachable,
)
from scapy_tfo.segment import SYN, Segment

TABLE = json.loads((Path(__file__).parent / "vectors" / "icmp.json").read_text())
ROWS = [pytest.param(row, id=row["name"]) for row in TABLE]
WIRES = [bytes.fromhex(row["wire"]) for row in TABLE]

SYN4 = Segment(
    src=IPv4Address("192.0.2.1"),
    dst=IPv4Address("192.0.2.2"),
    sport=40000,
    dport=80,
    flags=SYN,
    payload=b"data",
)
SYN6 = Segment(
    src=IPv6Address("2001:db8::1"),
    dst=IPv6Address("2001:db8::2"),
    sport=40000,
    dport=80,
    flags=SYN,
    payload=b"data",
)


def from_row(row: dict[str, Any]) -> IcmpError:
    fields = dict(row["error"])
    for name in ("src", "dst"):
        fields[name] = ip_address(fields[name])
    return IcmpError(**{**fields, "quoted": bytes.fromhex(fields["quoted"])})


@pytest.mark.parametrize("row", ROWS)
def test_reads_and_writes_the_vector(row: dict[str, Any]) -> None:
    wire = bytes.fromhex(row["wire"])
    assert IcmpError.from_bytes(wire) == from_row(row)
    assert from_row(row).to_bytes() == wire


@pytest.mark.parametrize("row", ROWS)
def test_bytes_behind_the_packet_are_not_quoted(row: dict[str, Any]) -> None:
    assert IcmpError.from_bytes(bytes.fromhex(row["wire"]) + bytes(6)) == from_row(row)


@given(st.one_of(st.binary(max_size=120), st.sampled_from(WIRES)), st.data())
def test_never_raises(packet: bytes, data: st.DataObject) -> None:
    if packet:
        at = data.draw(st.integers(0, len(packet) - 1))
        packet = packet[:at] + bytes([data.draw(st.integers(0, 255))]) + packet[at + 1 :]
    error = IcmpError.from_bytes(packet[: data.draw(st.integers(0, len(packet)))])
    assert error is None or len(error.quoted) < len(packet)


@pytest.mark.parametrize("segment", [SYN4, SYN6], ids=["IPv4", "IPv6"])
def test_an_error_comes_back_from_where_the_segment_went(segment: Segment) -> None:
    for error in (
        unreachable(segment.to_bytes(), code=3),
        packet_too_big(segment.to_bytes(), mtu=1280),
    ):
        assert (error.src, error.dst) == (segment.dst, segment.src)
        read = IcmpError.from_bytes(error.to_bytes())
        assert read is not None
        assert segment.to_bytes().startswith(read.quoted)
        assert (read.type, read.code, read.mtu) == (error.type, error.code, error.mtu)


def test_ipv4_quotes_eight_bytes_behind_a_header_with_options() -> None:
    packet = SYN4.to_bytes()
    packet = b"\x46" + packet[1:20] + bytes(4) + packet[20:]
    read = IcmpError.from_bytes(unreachable(packet, code=1).to_bytes())
    assert read is not None
    assert read.quoted == packet[:32]


def test_a_segment_is_no_error() -> None:
    assert IcmpError.from_bytes(SYN4.to_bytes()) is None
    assert IcmpError.from_bytes(SYN6.to_bytes()) is None


@pytest.mark.parametrize("quoted", [b"", b"\x00" * 40, b"\x45\x00"])
def test_only_ip_can_be_quoted(quoted: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unreachable(quoted, code=1)


@pytest.mark.parametrize("syn", [SYN4, SYN6], ids=["ipv4", "ipv6"])
def test_messages_that_name_no_segment_come_back_from_the_wire(syn: Segment) -> None:
    quoted = syn.to_bytes()
    told = {}
    for make in (port_unreachable, about_ports, about_header, about_udp):
        error = IcmpError.from_bytes(make(quoted).to_bytes())
        assert error is not None
        told[make] = is_about_tcp(error)
    assert told == {
        port_unreachable: True,
        about_ports: True,
        about_header: False,
        about_udp: False,
    }
    assert IcmpError.from_bytes(echo_reply(quoted).to_bytes()) is None


@pytest.mark.parametrize("syn", [SYN4, SYN6], ids=["ipv4", "ipv6"])
def test_what_quotes_the_ports_has_no_sequence_number(syn: Segment) -> None:
    error = about_ports(syn.to_bytes())
    head = (error.quoted[0] & 15) * 4 if syn.src.version == 4 else 40
    assert error.quoted[head:] == syn.to_bytes()[-20 - len(syn.payload) :][:4]
