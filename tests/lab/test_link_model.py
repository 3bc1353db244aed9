"""A link's rate, queue, delay and faults, on a clock of our own."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.lab.links.link_model import Direction, Shape


def link(seed: int = 0, **shape: float) -> Direction:
    return Direction(Shape(**shape), random.Random(seed))  # type: ignore[arg-type]


def arrivals(way: Direction, until: float = 1e6) -> list[tuple[float, bytes]]:
    out = []
    while way.due is not None and way.due <= until:
        when = way.due
        out += [(when, packet) for packet in way.take(when)]
    return out


def test_a_packet_comes_out_after_its_delay() -> None:
    way = link(delay=0.01)
    way.put(b"one", 5.0)
    assert (way.due, way.take(5.009), len(way)) == (5.01, [], 1)
    assert (way.take(5.01), way.due) == ([b"one"], None)


@pytest.mark.parametrize("rate", [256e3, 4e6, 100e6])
def test_the_rate_is_held(rate: float) -> None:
    way = link(rate=rate, delay=0.02)
    for _ in range(1000):
        way.put(bytes(1500), 0.0)
    came = arrivals(way)
    assert len(came) == 1000
    assert came[-1][0] - 0.02 == pytest.approx(1000 * 1500 * 8 / rate)


def test_what_the_queue_has_no_room_for_is_dropped() -> None:
    way = link(rate=8000, queue=3000)
    for _ in range(5):
        way.put(bytes(1000), 0.0)
    assert (len(arrivals(way)), way.dropped) == (3, 2)
    way.put(bytes(1000), 10.0)
    assert len(arrivals(way)) == 1


@given(st.integers(0, 1 << 16), st.lists(st.floats(0, 0.01), min_size=1, max_size=50))
def test_jitter_keeps_the_order_and_its_bound(seed: int, gaps: list[float]) -> None:
    way = link(seed, delay=0.02, jitter=0.03)
    now = 0.0
    sent = {}
    for number, gap in enumerate(gaps):
        now += gap
        sent[number.to_bytes(2, "big")] = now
        way.put(number.to_bytes(2, "big"), now)
    came = arrivals(way)
    assert [packet for _, packet in came] == list(sent)
    assert all(0.02 <= when - sent[packet] <= 0.05 + 1e-9 for when, packet in came)


def test_faults_are_as_frequent_as_was_said() -> None:
    way = link(loss=0.25, duplicate=0.5)
    for number in range(4000):
        way.put(b"x", float(number))
    assert way.lost == pytest.approx(1000, rel=0.1)
    assert len(arrivals(way)) == pytest.approx(4500, rel=0.05)


def test_a_reordered_packet_is_overtaken() -> None:
    way = link(3, reorder=0.5, hold=0.5)
    for number in range(20):
        way.put(bytes([number]), number * 0.01)
    came = [packet[0] for _, packet in arrivals(way)]
    assert sorted(came) == list(range(20))
    assert came != sorted(came)
