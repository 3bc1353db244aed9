"""SACK as RFC 2018 section 4 orders it, and duplicates as RFC 2883 reports them."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.reference import Settings
from scapy_tfo.segment import ACK, Segment

from .wire import ISN, Script

NEXT = ISN + 1
PLAIN = [opt.mss(1460), opt.sack_permitted()]
STAMPED = [*PLAIN, opt.timestamps(5000), opt.nop(), opt.nop()]


class Receiver:
    """A connection whose text comes as offsets; `report` is what its last ACK said."""

    def __init__(self, settings: Settings | None = None, *, stamped: bool = False) -> None:
        self.script = Script(settings)
        options = opt.push_options(STAMPED if stamped else PLAIN)
        self.answer = self.script.syn(options=options)
        self.options = opt.push_options([opt.nop(), opt.nop(), opt.timestamps(5001, 1)])
        self.options = self.options if stamped else b""
        self.script.establish(self.answer, options=self.options)
        self.ack = 0
        self.report: list[tuple[int, int]] = []

    def take(self, *offsets: int, size: int = 5) -> list[tuple[int, int]]:
        for at in offsets:
            self.read(
                self.script.one(
                    ACK,
                    seq=NEXT + at,
                    ack=self.answer.end,
                    payload=b"x" * size,
                    options=self.options,
                )
            )
        return self.report

    def read(self, segment: Segment) -> None:
        self.ack = segment.ack - NEXT
        block = segment.option(opt.SACK)
        data = block.data if block else b""
        edges = [int.from_bytes(data[at : at + 4], "big") - NEXT for at in range(0, len(data), 4)]
        self.report = list(zip(edges[::2], edges[1::2], strict=True))


def test_the_range_of_the_last_segment_comes_first() -> None:
    receiver = Receiver(stamped=True)
    assert receiver.take(10, 30, 50, 70, 90) == [(90, 95), (70, 75), (50, 55)]
    assert receiver.take(15) == [(10, 20), (90, 95), (70, 75)]


def test_as_many_ranges_as_the_header_holds() -> None:
    assert Receiver().take(10, 30, 50, 70, 90) == [(90, 95), (70, 75), (50, 55), (30, 35)]


def test_ranges_that_meet_are_one() -> None:
    assert Receiver().take(10, 30, 20, 25, 15) == [(10, 35)]


def test_a_gap_that_is_filled_leaves_the_other_ranges_in_their_order() -> None:
    receiver = Receiver()
    receiver.take(5, 50, 30)
    assert receiver.take(0) == [(30, 35), (50, 55)]
    assert receiver.ack == 10


def test_text_that_came_before_is_no_news_without_d_sack() -> None:
    receiver = Receiver()
    assert receiver.take(0, 0) == []
    assert receiver.take(10, 10) == [(10, 15)]


@pytest.mark.parametrize(
    ("offsets", "report"),
    [
        # RFC 2883 sections 4.1.1 and 4.1.2: a whole segment twice, and one past a gap.
        ([0, 5, 0], [(0, 5)]),
        ([10, 10], [(10, 15), (10, 15)]),
        # Section 4.2: part of a segment, below what is acknowledged and in a range held.
        ([0, 3], [(3, 5)]),
        ([10, 12], [(12, 15), (10, 17)]),
    ],
)
def test_d_sack_reports_what_came_twice(offsets: list[int], report: list[tuple[int, int]]) -> None:
    receiver = Receiver(Settings(dsack=True))
    assert receiver.take(*offsets) == report


def test_d_sack_reports_a_duplicate_once() -> None:
    receiver = Receiver(Settings(dsack=True))
    receiver.take(0, 0)
    assert receiver.report == [(0, 5)]
    assert receiver.take(5) == []


def test_text_past_a_gap_may_be_dropped() -> None:
    receiver = Receiver(Settings(keep_early_text=False))
    assert receiver.take(5) == []
    receiver.take(0)
    assert receiver.ack == 5
    receiver.take(5)
    assert receiver.ack == 10
    assert receiver.script.received == b"x" * 10
