"""Covering arrays hold every combination, which is counted anew here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.covering import Row, covering, left_out
from scapy_tfo.explore.ends import context as explored
from scapy_tfo.vary.plan import whole

sizes = st.lists(st.integers(1, 5), min_size=3, max_size=7)


def missing(rows: Sequence[Row], levels: Sequence[int], strength: int) -> list[tuple[int, ...]]:
    """Factors whose combinations are not all there."""
    return [
        factors
        for factors in itertools.combinations(range(len(levels)), strength)
        if {tuple(row[each] for each in factors) for row in rows}
        != set(itertools.product(*(range(levels[each]) for each in factors)))
    ]


@given(sizes, st.integers(1, 3), st.integers(0, 3))
@settings(deadline=None, max_examples=40)
def test_every_combination_is_in_some_row(levels: list[int], strength: int, seed: int) -> None:
    assert missing(covering(levels, strength, seed), levels, strength) == []


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("strength", [1, 2])
@pytest.mark.parametrize(
    "levels",
    [
        [len(each) for each in whole().levels.values()],
        [len(each) for each in explored.FACTORS.values()],
    ],
    ids=["cases", "schedules"],
)
def test_the_arrays_of_cases_and_schedules(levels: list[int], strength: int, seed: int) -> None:
    assert missing(covering(levels, strength, seed), levels, strength) == []


def test_every_triple_of_the_contexts_of_schedules() -> None:
    levels = [len(each) for each in explored.FACTORS.values()]
    assert missing(covering(levels, 3), levels, 3) == []


@given(sizes, st.integers(1, 3), st.integers(0, 3))
@settings(deadline=None, max_examples=20)
def test_the_first_row_is_the_usual_one(levels: list[int], strength: int, seed: int) -> None:
    rows = covering(levels, strength, seed)
    assert rows[0] == (0,) * len(levels)
    assert all(0 <= level < most for row in rows for level, most in zip(row, levels, strict=True))


def test_rows_are_few() -> None:
    """Twelve factors of two to six levels: at least 36 rows are needed, 38 are known to do."""
    assert len(covering([6, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2], 2)) <= 44


def test_the_same_seed_gives_the_same_rows() -> None:
    levels = [4, 3, 3, 2, 2]
    assert covering(levels, 2, 7) == covering(levels, 2, 7) != covering(levels, 2, 8)


def test_what_is_not_covered_is_told() -> None:
    assert left_out([(0, 0), (1, 1)], [2, 2], 2) == {((0, 0), (1, 1)), ((0, 1), (1, 0))}


@pytest.mark.parametrize(("levels", "strength"), [([2, 2], 0), ([2, 2], 3), ([2, 0], 2)])
def test_a_strength_that_there_is_not(levels: list[int], strength: int) -> None:
    with pytest.raises(ValueError, match="no combinations"):
        covering(levels, strength)
