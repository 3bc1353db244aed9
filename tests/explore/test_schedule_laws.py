"""Laws of schedules: they survive JSON; fault placements are complete, and each is there once."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.deeds import KINDS as DEEDS
from scapy_tfo.explore.conversation.schedule import (
    FAULTS,
    LOST,
    Deed,
    Fault,
    Schedule,
    Wrong,
    from_json,
    to_json,
)
from scapy_tfo.explore.conversation.wrong import KINDS
from scapy_tfo.explore.ends.context import FACTORS
from scapy_tfo.explore.ends.opening import USUAL
from scapy_tfo.explore.stages.crossed import PACKETS as FAULTY_PACKETS
from scapy_tfo.explore.stages.crossed import with_three_faults
from scapy_tfo.explore.stages.plan import (
    CLIENTS,
    SERVERS,
    cells,
    interleaved,
    stage_of,
    with_one_more,
)
from scapy_tfo.explore.stages.rows import rows

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
    st.lists(st.builds(Deed, st.sampled_from(sorted(DEEDS)), st.integers(0, 30)), max_size=3).map(
        tuple
    ),
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
    full = [usual, *({**usual, **dict(row)} for row in rows())]
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


@pytest.fixture(scope="module")
def threes() -> list[Schedule]:
    return with_three_faults(2)


def test_faults_meet_all_applications_and_openings(threes: list[Schedule]) -> None:
    some = {
        (each.opening, each.server, each.client, fault) for each in threes for fault in each.faults
    }
    fates = {(place, kind) for place in FAULTY_PACKETS for kind in FAULTS}
    assert {((f.to_target, f.index), f.kind) for *_, f in some} == fates
    for names, at in ((USUAL, 0), (SERVERS, 1), (CLIENTS, 2)):
        for place in FAULTY_PACKETS:
            met = {each[at] for each in some if (each[3].to_target, each[3].index) == place}
            assert met == set(names)
        assert {(each[at], each[3].kind) for each in some} == set(product(names, FAULTS))


def test_most_have_three_faults_and_none_is_there_twice(threes: list[Schedule]) -> None:
    assert len(set(threes)) == len(threes)
    assert sum(len(each.faults) == 3 for each in threes) > len(threes) / 2


def test_two_faults_come_in_turn_with_the_others() -> None:
    """Not behind everything else, which few explorations see the end of."""
    firsts = [(Schedule(faults=(Fault(True, 0, LOST),)), (True, False))]
    stages = [iter([[Schedule()], [Schedule()]])]
    played = [stage_of(each) for batch in interleaved(stages, firsts) for each in batch]
    assert played == ["cells", *["two faults"] * len(FAULTS), "cells"]


def test_no_cell_is_there_twice() -> None:
    assert len(set(cells())) == len(cells()) > 400
