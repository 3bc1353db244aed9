"""Sequence numbers wrap at 2**32 (RFC 9293 section 3.4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo import seq

numbers = st.integers(0, seq.MODULUS - 1)
steps = st.integers(-(2**31), 2**31 - 1)


@given(numbers, steps)
def test_distance_undoes_add(start: int, count: int) -> None:
    assert seq.distance(start, seq.add(start, count)) == count


@given(numbers, st.integers(-(2**40), 2**40))
def test_add_stays_a_sequence_number(start: int, count: int) -> None:
    assert 0 <= seq.add(start, count) < seq.MODULUS


@given(numbers, st.integers(1, 2**31 - 1))
def test_what_lies_ahead_is_after_and_never_before(start: int, count: int) -> None:
    end = seq.add(start, count)
    assert seq.before(start, end)
    assert seq.at_most(start, end)
    assert not seq.before(end, start)
    assert not seq.at_most(end, start)


@given(numbers)
def test_a_number_is_at_most_itself_but_not_before(number: int) -> None:
    assert seq.at_most(number, number)
    assert not seq.before(number, number)


@pytest.mark.parametrize(
    ("start", "end", "ahead"),
    [
        (0xFFFFFFF0, 0x10, 0x20),
        (0x10, 0xFFFFFFF0, -0x20),
        (0xFFFFFFFF, 0, 1),
        (0, 0x80000000, -0x80000000),
        (0, 0x7FFFFFFF, 0x7FFFFFFF),
    ],
)
def test_crossing_zero(start: int, end: int, ahead: int) -> None:
    assert seq.distance(start, end) == ahead
