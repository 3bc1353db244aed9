"""Rounds in a random order, until they are enough."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from scapy_tfo.gain.measuring.estimate import LEAST_PAIRS, Estimate
from scapy_tfo.gain.measuring.rounds import MOST, Budget, Until, blocks, progress

WAYS = ("tcp", "tfo", "control")
NARROW, WIDE = Estimate(1.0, 0.98, 1.02), Estimate(1.0, 0.8, 1.2)


class Clock:
    """now: seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_block_has_each_way_once_and_each_order_comes() -> None:
    found = [tuple(each) for each in islice(blocks(WAYS, 1), 600)]
    assert all(sorted(each) == sorted(WAYS) for each in found)
    orders = Counter(found)
    assert len(orders) == 6
    assert min(orders.values()) > 60


def test_the_same_seed_gives_the_same_order() -> None:
    one, same, other = (list(islice(blocks(WAYS, seed), 20)) for seed in (1, 1, 2))
    assert one == same != other


def test_without_a_precision_there_are_as_many_rounds_as_were_asked_for() -> None:
    budget = Budget(until=Until(rounds=8), cells=1)
    budget.begin()
    enough = [budget.enough(number, NARROW, NARROW) for number in range(1, 9)]
    assert enough == [False] * 7 + [True]


def test_narrow_intervals_of_effect_and_control_are_enough() -> None:
    budget = Budget(until=Until(rounds=8, precision=0.03), cells=1)
    budget.begin()
    assert not budget.enough(LEAST_PAIRS - 1, NARROW, NARROW)
    assert budget.enough(LEAST_PAIRS, NARROW, NARROW)
    assert not budget.enough(50, NARROW, WIDE)
    assert not budget.enough(50, WIDE, NARROW)
    assert not budget.enough(50, None, None)
    assert budget.enough(MOST, WIDE, WIDE)


def test_the_time_is_shared_among_the_cells() -> None:
    """60 s for three: the second begins late, and has half of what is left."""
    clock = Clock()
    budget = Budget(until=Until(rounds=100, seconds=60.0), cells=3, clock=clock)
    budget.begin()
    clock.now = 19.0
    assert not budget.enough(5)
    clock.now = 20.0
    assert budget.enough(5)
    clock.now = 30.0
    budget.begin()
    clock.now = 44.0
    assert not budget.enough(1)
    clock.now = 45.0
    assert budget.enough(1)


def test_a_cell_that_begins_anew_shares_what_is_left_again() -> None:
    clock = Clock()
    budget = Budget(until=Until(rounds=100, seconds=60.0), cells=2, clock=clock)
    budget.begin()
    clock.now = 30.0
    budget.again()
    clock.now = 44.0
    assert not budget.enough(3)
    clock.now = 45.0
    assert budget.enough(3)


def test_a_cell_has_one_round_even_where_no_time_is_left() -> None:
    clock = Clock()
    budget = Budget(until=Until(rounds=9, seconds=1.0), cells=1, clock=clock)
    clock.now = 5.0
    budget.begin()
    assert not budget.enough(0)
    assert budget.enough(1)


def test_the_progress_tells_how_the_interval_narrows() -> None:
    assert progress(1, None, None) == "1 round"
    assert progress(7, NARROW, WIDE) == "7 rounds, 1.000 ±0.020, control 1.000 ±0.200"
