"""Round trips saved, estimated from the times of requests made in turn."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("scipy", reason="the extra 'gain' is not installed")

from scapy_tfo.gain.estimate import Estimate, saving


def test_a_round_trip_less_is_one_saved() -> None:
    dice = random.Random(1)
    slow = [0.2 + dice.gauss(0, 0.001) for _ in range(40)]
    fast = [0.1 + dice.gauss(0, 0.001) for _ in range(40)]
    found = saving(slow, fast, 0.1)
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(1.0, abs=0.02)
    assert found.high - found.low < 0.05


def test_nothing_saved_is_within_the_interval() -> None:
    dice = random.Random(2)
    times = [[0.1 + dice.gauss(0, 0.01) for _ in range(40)] for _ in range(2)]
    found = saving(*times, 0.1)
    assert found.low < 0 < found.high


def test_a_few_late_ones_do_not_matter() -> None:
    slow = [0.2] * 17 + [5.0] * 3
    found = saving(slow, [0.1] * 20, 0.1)
    assert found.value == pytest.approx(1.0)


def test_times_that_are_all_alike() -> None:
    assert saving([2.0] * 5, [1.0] * 5, 0.5) == Estimate(2.0, 2.0, 2.0)
