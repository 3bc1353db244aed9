"""Covering arrays hold every combination, which is counted anew here."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.vary.array import covering, left_out

sizes = st.lists(st.integers(1, 5), min_size=3, max_size=7)


@given(sizes, st.integers(1, 3), st.integers(0, 3))
@settings(deadline=None, max_examples=40)
def test_every_combination_is_in_some_row(levels: list[int], strength: int, seed: int) -> None:
    rows = covering(levels, strength, seed)
    for factors in itertools.combinations(range(len(levels)), strength):
        wanted = set(itertools.product(*(range(levels[each]) for each in factors)))
        assert {tuple(row[each] for each in factors) for row in rows} == wanted


@given(sizes, st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_the_first_row_is_the_usual_one(levels: list[int], strength: int) -> None:
    assert covering(levels, strength)[0] == (0,) * len(levels)


def test_rows_are_few() -> None:
    """Twelve factors of two to six levels: at least 36 rows are needed, 38 are known to do."""
    assert len(covering([6, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2], 2)) <= 44


def test_the_same_seed_gives_the_same_rows() -> None:
    levels = [4, 3, 3, 2, 2]
    assert covering(levels, 2, 7) == covering(levels, 2, 7)


def test_what_is_not_covered_is_told() -> None:
    assert left_out([(0, 0), (1, 1)], [2, 2], 2) == {((0, 0), (1, 1)), ((0, 1), (1, 0))}


@pytest.mark.parametrize("strength", [0, 3])
def test_a_strength_that_there_is_not(strength: int) -> None:
    with pytest.raises(ValueError, match="no combinations"):
        covering([2, 2], strength)
