"""Round trips saved, estimated from the times of requests made in pairs."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")
pytest.importorskip("scipy", reason="the extra 'test' is not installed")

from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from scapy_tfo.gain.measuring.estimate import LEAST_PAIRS, Estimate, ratio, saving, typical


def test_a_round_trip_less_is_one_saved() -> None:
    dice = random.Random(1)
    slow = [0.2 + dice.gauss(0, 0.001) for _ in range(40)]
    fast = [0.1 + dice.gauss(0, 0.001) for _ in range(40)]
    found = saving(slow, fast, 0.1)
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(1.0, abs=0.02)
    assert found.width < 0.05


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


def test_a_ratio_the_other_way_round_is_the_inverse() -> None:
    dice = random.Random(3)
    ours, theirs = ([dice.uniform(1, 3) for _ in range(15)] for _ in range(2))
    one, other = ratio(ours, theirs), ratio(theirs, ours)
    assert one.value == pytest.approx(1 / other.value)
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=LEAST_PAIRS - 1))
def test_fewer_values_than_an_interval_takes_are_all_in_it(values: list[float]) -> None:
    found = typical(values)
    assert (found.low, found.high) == (min(values), max(values))


@given(st.lists(st.floats(-100, 100), min_size=LEAST_PAIRS, max_size=40), st.floats(-50, 50))
def test_the_estimate_moves_with_the_values(values: list[float], shift: float) -> None:
    here, there = typical(values), typical([each + shift for each in values])
    for name in ("value", "low", "high"):
        assert getattr(there, name) == pytest.approx(getattr(here, name) + shift, abs=1e-9)


@given(st.integers(LEAST_PAIRS, 45), st.integers(0, 1000), st.floats(-2, 2))
def test_the_interval_holds_what_the_signed_ranks_do_not_refuse(
    count: int, seed: int, shift: float
) -> None:
    """SciPy's test, which counts the same distribution, of the values less a shift."""
    dice = random.Random(seed)
    values = [dice.gauss(0, 1) for _ in range(count)]
    less = [each - shift for each in values]
    assume(len({abs(each) for each in less}) == count)
    refused = wilcoxon(less, method="exact").pvalue < 0.05
    found = typical(values)
    assert refused == (not found.low <= shift <= found.high)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Also of many values, where the ranks are taken as normal: 95 of 100 within what chance
    allows of 400 trials."""
    dice = random.Random(4)
    held = 0
    for _ in range(400):
        found = typical([dice.gauss(1, 1) for _ in range(60)])
        held += found.low <= 1 <= found.high
    assert 0.92 <= held / 400 <= 0.98
