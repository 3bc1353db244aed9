"""The parts that need no network: filters, rates, and reading a packet's ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.icmp import unreachable
from scapy_tfo.segment import ACK, SYN, Segment
from scapy_tfo.wire import bpf, ip_header
from scapy_tfo.wire.rate_limit import Pacer

A4, B4, C4 = (ip_address(f"192.0.2.{number}") for number in (1, 2, 3))
A6, B6, C6 = (ip_address(f"2001:db8::{number}") for number in (1, 2, 3))
D6 = ip_address("2001:db9::1")


def _passes(program: bytes, packet: bytes) -> bool:
    """Whether the kernel itself lets a packet through a filter."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with left, right:
        right.setblocking(False)
        bpf.attach(right, program)
        left.send(packet)
        try:
            return right.recv(2000) == packet
        except BlockingIOError:
            return False


@pytest.mark.parametrize(
    ("targets", "passes", "drops"), [((A4, B4), (A4, B4), (C4,)), ((A6, B6), (A6, B6), (C6, D6))]
)
def test_the_filter_takes_tcp_of_the_targets_and_all_icmp(
    targets: tuple[object, ...], passes: tuple[object, ...], drops: tuple[object, ...]
) -> None:
    program = bpf.from_targets(targets)
    for source in (*passes, *drops):
        segment = Segment(src=source, dst=targets[0], sport=80, dport=5000)
        assert _passes(program, segment.to_bytes()) == (source in passes)
        assert _passes(program, unreachable(segment.to_bytes(), code=1).to_bytes())
    udp = bytearray(segment.to_bytes())
    udp[9 if targets[0] is A4 else 6] = 17
    assert not _passes(program, bytes(udp))


def test_the_filter_of_the_guard_drops_everything() -> None:
    assert not _passes(bpf.drop_all(), b"anything")


class Clock:
    """An event loop whose time is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> Clock:
        self.timers.append((self.now + delay, call))
        return self

    def cancel(self) -> None:
        self.timers.clear()

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while self.timers and self.timers[0][0] <= end:
            self.now, call = self.timers.pop(0)
            call()
        self.now = end


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    hands = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: hands)
    return hands


def test_a_burst_goes_at_once_and_the_rest_at_the_rate_in_order(clock: Clock) -> None:
    sent: list[bytes] = []
    pacer = Pacer(sent.append, rate=100.0, burst=3)
    numbered = [bytes([number]) for number in range(10)]
    for packet in numbered:
        pacer.send(packet)
    assert len(sent) == 3
    clock.advance(0.0405)
    assert len(sent) == 7
    clock.advance(1)
    assert sent == numbered
    # After a pause the burst is there again, and no more than the burst.
    for packet in numbered:
        pacer.send(packet)
    assert len(sent) == 13


def test_what_waits_is_forgotten_at_the_end(clock: Clock) -> None:
    sent: list[bytes] = []
    pacer = Pacer(sent.append, rate=100.0, burst=1)
    pacer.send(b"1")
    pacer.send(b"2")
    pacer.close()
    clock.advance(1)
    assert sent == [b"1"]


PAIRS = st.sampled_from([(A4, B4), (A6, B6)])
PORTS = st.integers(0, 65535)


@given(PAIRS, PORTS, PORTS, st.binary(max_size=20))
def test_our_end_of_a_segment_and_of_an_error_about_ours(
    pair: tuple[object, object], sport: int, dport: int, payload: bytes
) -> None:
    theirs, ours = pair
    came = Segment(
        src=theirs,
        dst=ours,
        sport=sport,
        dport=dport,
        payload=payload,
    )
    assert ip_header.our_end(came.to_bytes()) == (came.dst.packed, dport)
    went = replace(came, src=came.dst, dst=came.src, sport=dport, dport=sport)
    error = unreachable(went.to_bytes(), code=3)
    assert ip_header.our_end(error.to_bytes()) == (came.dst.packed, dport)


@given(PAIRS, st.integers(0, 65535), st.binary(max_size=21))
def test_a_checksum_written_anew_is_right(
    pair: tuple[object, object], checksum: int, payload: bytes
) -> None:
    src, dst = pair
    right = Segment(src=src, dst=dst, sport=1, dport=2, flags=SYN | ACK, payload=payload)
    wrong = replace(right, checksum=checksum).to_bytes()
    assert ip_header.with_checksum(wrong) == right.to_bytes()


@given(st.binary(max_size=80), st.sampled_from([b"\x45", b"\x60", b"\x4f", b""]))
def test_no_bytes_upset_the_readers(data: bytes, start: bytes) -> None:
    packet = start + data
    ip_header.our_end(packet)
    ip_header.with_checksum(packet)
    assert packet.startswith(ip_header.unpadded(packet))
