"""Schedules in which one thing alone is done: what they have to contain, and what they show."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from scapy_tfo.explore.conversation.deeds import KINDS as DEEDS
from scapy_tfo.explore.conversation.schedule import FAULTS, PIECES
from scapy_tfo.explore.conversation.wrong import KINDS as WRONG
from scapy_tfo.explore.ends.opening import USUAL
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.judging.corpus import corpus
from scapy_tfo.explore.stages.deeds import TALKERS
from scapy_tfo.explore.stages.plan import SERVERS, cells
from scapy_tfo.explore.stages.single import (
    with_a_deed,
    with_a_fault,
    with_a_wrong_segment_in_each_state,
)


@pytest.mark.parametrize(
    ("schedules", "kinds"), [(with_a_deed(), DEEDS), (with_a_fault(), (*FAULTS, *PIECES))]
)
def test_each_kind_meets_each_application_and_opening(schedules: tuple, kinds: object) -> None:
    met = set()
    for each in schedules:
        (done,) = (*each.deeds, *each.faults)
        met |= {(done.kind, each.opening), (done.kind, each.server), (done.kind, each.client)}
    assert met == set(itertools.product(kinds, (*USUAL, *SERVERS, *TALKERS)))


def test_each_wrong_segment_meets_the_states_of_a_connection() -> None:
    runs = list(Explorer("reference").played(cells()))
    made = list(with_a_wrong_segment_in_each_state(runs))
    assert len(made) == len(set(made))
    times = Counter(each.wrong.kind for each in made if each.wrong is not None)
    assert set(times) == set(WRONG)
    # Each in eight states, as far as they are reached where an application answers at once.
    assert min(times.values()) > 8


@pytest.mark.parametrize(
    ("stack", "rule"),
    [("fin-past-a-gap-ends-the-stream", "ack-of-a-gap"), ("one-identification", "id-repeated")],
)
def test_what_one_deed_alone_shows(stack: str, rule: str) -> None:
    assert rule in Explorer(stack).explore_these(with_a_deed()[::8]).found


def test_the_reference_shows_nothing() -> None:
    # What is in the corpus is played for a test of its own.
    others = {*with_a_deed(), *with_a_fault()} - set(corpus())
    result = Explorer("reference").explore_these(sorted(others, key=str))
    assert (result.total, result.found) == (len(others), {})
