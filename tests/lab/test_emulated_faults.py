"""The emulator's process between two sockets: its effects on packets, for each direction apart."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterator

import pytest

from scapy_tfo.lab.links.emulator import Emulator
from scapy_tfo.lab.links.link_model import Shape
from scapy_tfo.lab.process.packet_pair import packet_pair
from scapy_tfo.lab.process.priority import go_first

TRIES = 5
"""Of a measurement: another process that takes the core for a moment makes a packet late."""

PATIENCE = 10.0
PLAIN = Shape()


class Ends:
    """Both ends of an emulated link."""

    def __init__(self) -> None:
        self.near, near = packet_pair()
        self.far, far = packet_pair()
        self._inner = near, far
        self._emulator = Emulator(near.fileno(), far.fileno())

    def shape(self, onward: Shape, homeward: Shape = PLAIN) -> dict[str, int]:
        return self._emulator.set(onward, homeward)

    def pass_on(
        self, packets: list[bytes], count: int, *, homeward: bool = False
    ) -> list[tuple[float, bytes]]:
        """Send them at once; `count` of those that come, with the seconds since the first left."""
        here, there = (self.far, self.near) if homeward else (self.near, self.far)
        began = time.perf_counter()
        for each in packets:
            here.send(each)
        came = []
        while len(came) < count and select.select([there], [], [], PATIENCE)[0]:
            came.append((time.perf_counter() - began, there.recv(1 << 16)))
        return came

    def close(self) -> None:
        self._emulator.close()
        for each in (self.near, self.far, *self._inner):
            each.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    usual = os.sched_getscheduler(0), os.sched_getparam(0), os.getpriority(os.PRIO_PROCESS, 0)
    # We are the clock: what else runs here must not make us read it late.
    go_first()
    yield made
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, *usual[:2])
        os.setpriority(os.PRIO_PROCESS, 0, usual[2])
    made.close()


def numbered(count: int, size: int = 1500) -> list[bytes]:
    return [number.to_bytes(2, "big") + bytes(size - 2) for number in range(count)]


def holds(measure: Callable[[], float], low: float, high: float) -> bool:
    """Whether one of some measurements lies between."""
    return any(low <= measure() <= high for _ in range(TRIES))


def test_the_delay_of_each_way_is_held_within_a_millisecond(ends: Ends) -> None:
    ends.shape(Shape(delay=0.03), Shape(delay=0.01))
    for homeward, delay in ((False, 0.03), (True, 0.01)):

        def one(homeward: bool = homeward) -> float:
            return ends.pass_on([b"x"], 1, homeward=homeward)[0][0]

        assert holds(one, delay, delay + 0.001)


@pytest.mark.parametrize(
    ("rate", "homeward", "queue", "count", "least"),
    [
        (4e6, True, 128 * 1024, 80, 0.98),
        (256e3, False, 128 * 1024, 10, 0.98),
        # Of 8,333 packets a second, a busy core reads some late: the model's test has the rate.
        (100e6, True, None, 2000, 0.5),
    ],
)
def test_the_rate_of_each_way_is_held_within_two_percent(
    ends: Ends, rate: float, homeward: bool, queue: int | None, count: int, least: float
) -> None:
    """In a burst that the buffer holds, while the other way has a rate of its own."""
    ways = [Shape(rate=1e6), Shape(rate=1e6)]
    ways[homeward] = Shape(rate=rate, queue=queue)
    ends.shape(*ways)

    def found() -> float:
        came = ends.pass_on(numbered(count), count, homeward=homeward)
        return (count - 1) * 1500 * 8 / (came[-1][0] - came[0][0])

    assert holds(found, least * rate, 1.02 * rate)


def test_the_queue_is_counted_in_bytes(ends: Ends) -> None:
    """Of 100 packets, 87 fit into 128 KB; the first of them leaves at the speed of the link."""
    ends.shape(Shape(rate=4e6, queue=128 * 1024))
    came = ends.pass_on(numbered(100), 87)
    assert [packet for _, packet in came] == numbered(100)[:87]
    assert ends.shape(PLAIN) == {"dropped": 13, "lost": 0}


def test_loss_is_of_one_way(ends: Ends) -> None:
    ends.shape(Shape(loss=0.5))
    assert len(ends.pass_on(numbered(100, 40), 100, homeward=True)) == 100
    kept = len(ends.pass_on(numbered(200, 40), 60))
    assert kept == 60
    # Those behind the last that was read may not have been looked at yet.
    assert 30 < ends.shape(PLAIN)["lost"] < 140


def test_each_packet_is_doubled(ends: Ends) -> None:
    ends.shape(Shape(duplicate=1.0))
    came = [packet for _, packet in ends.pass_on(numbered(20), 40)]
    assert came == [each for each in numbered(20) for _ in range(2)]


def test_some_are_overtaken(ends: Ends) -> None:
    ends.shape(Shape(reorder=0.3, hold=0.02))
    came = [packet for _, packet in ends.pass_on(numbered(60), 60)]
    assert sorted(came) == numbered(60)
    assert came != numbered(60)


def test_jitter_keeps_the_order_and_is_no_less_than_the_delay(ends: Ends) -> None:
    ends.shape(Shape(delay=0.01, jitter=0.03))
    came = ends.pass_on(numbered(40), 40)
    assert [packet for _, packet in came] == numbered(40)
    assert came[0][0] >= 0.01
    assert came[-1][0] >= 0.02


def test_a_link_without_a_shape_passes_everything_on(ends: Ends) -> None:
    assert [packet for _, packet in ends.pass_on(numbered(64), 64)] == numbered(64)
