"""Laws of schedules: they survive JSON; fault placements are complete, and each is there once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.context import FACTORS
from scapy_tfo.explore.conversation.schedule import (
    FAULTS,
    Fault,
    Schedule,
    Wrong,
    from_json,
    to_json,
)
from scapy_tfo.explore.conversation.wrong import KINDS
from scapy_tfo.explore.plan import cells, with_one_more
from scapy_tfo.explore.rows import ROWS

faults = st.builds(Fault, st.booleans(), st.integers(0, 30), st.sampled_from(FAULTS))
contexts = st.lists(
    st.sampled_from([(name, level) for name, levels in FACTORS.items() for level in levels]),
    unique_by=lambda each: each[0],
).map(tuple)
schedules = st.builds(
    Schedule,
    st.sampled_from(["plain", "good", "flip:3"]),
    st.sampled_from(["echo", "think:20"]),
    st.sampled_from(["write:100", "write-abort:7"]),
    contexts,
    st.lists(faults, max_size=2).map(tuple),
    st.none() | st.builds(Wrong, st.sampled_from(sorted(KINDS)), st.integers(0, 30)),
)


@given(schedules)
def test_a_schedule_survives_json(schedule: Schedule) -> None:
    assert from_json(json.loads(json.dumps(to_json(schedule)))) == schedule


@pytest.mark.parametrize("values", [{}, {"opening": "good"}, [], {"faults": 3}])
def test_what_is_no_schedule_is_told(values: object) -> None:
    with pytest.raises(SetupError, match="no schedule"):
        from_json(values)  # type: ignore[arg-type]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_each_packet_meets_each_fault_once(order: list[bool]) -> None:
    made = list(with_one_more(Schedule(), order))
    assert len(made) == len(set(made)) == len(order) * len(FAULTS)


@given(st.lists(st.booleans(), min_size=2, max_size=8))
def test_two_faults_are_placed_once_in_each_order(order: list[bool]) -> None:
    pairs = [two for one in with_one_more(Schedule(), order) for two in with_one_more(one, order)]
    placed = {frozenset(each.faults) for each in pairs}
    size = len(order)
    assert len(pairs) == len(placed) == size * (size - 1) // 2 * len(FAULTS) ** 2


def test_any_two_levels_of_two_factors_meet_in_a_row() -> None:
    usual = {name: next(iter(levels)) for name, levels in FACTORS.items()}
    full = [usual, *({**usual, **dict(row)} for row in ROWS)]
    names = list(FACTORS)
    missing = [
        ((one, a), (two, b))
        for at, one in enumerate(names)
        for two in names[at + 1 :]
        for a in FACTORS[one]
        for b in FACTORS[two]
        if not any(row[one] == a and row[two] == b for row in full)
    ]
    assert missing == []


def test_no_cell_is_there_twice() -> None:
    assert len(set(cells())) == len(cells()) > 400
