"""Covering arrays hold every combination, which is counted anew here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo import covering as arrays
from scapy_tfo.client_laws.schedules.plan import rows as of_clients
from scapy_tfo.covering import Row, covering, left_out
from scapy_tfo.explore.ends import context as explored
from scapy_tfo.explore.live.scan import LEFT_OUT
from scapy_tfo.explore.stages import crossed
from scapy_tfo.explore.stages.deeds import scenes
from scapy_tfo.explore.stages.rows import rows as contexts
from scapy_tfo.explore.stages.single import with_a_deed, with_a_fault
from scapy_tfo.vary.plan import planned, whole

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


@pytest.mark.parametrize("name", arrays.stored())
def test_an_array_that_was_made_before_is_complete(name: str) -> None:
    of, strength, _ = name.split(", ")
    rows = [tuple(row) for row in arrays.stored()[name]]
    levels = list(map(int, of.split()))
    assert missing(rows, levels, int(strength)) == []
    assert rows[0] == (0,) * len(levels)


def test_what_every_run_needs_was_made_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(levels: Sequence[int], strength: int, seed: int) -> list[Row]:
        pytest.fail(f"not in {arrays.FILE}: {levels}, {strength}, {seed}; run `make arrays`")

    monkeypatch.setattr(arrays, "made", made)
    for strength in (2, 3):
        assert contexts.__wrapped__(strength)
    assert with_a_deed.__wrapped__()
    assert with_a_fault.__wrapped__()
    assert scenes()
    crossed._rows.cache_clear()
    assert crossed.how_many(contexts())
    on_the_wire = contexts.__wrapped__(without=LEFT_OUT)
    assert 0 < len(on_the_wire) < len(contexts())
    assert crossed.how_many(on_the_wire)
    assert planned(whole(), ()).contexts
    assert of_clients.__wrapped__()


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
