"""Laws of streams whose pieces come in any order."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.oracle.parts.reassembly import Assembly
from scapy_tfo.program.payload import text, wrong_text

starts = st.integers(-(1 << 33), 1 << 33)
pieces = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=12)


def whole(start: int, some: list[tuple[int, int]]) -> int:
    """What is whole from the start, the slow way."""
    have = {start + at + each for at, size in some for each in range(size)}
    end = start
    while end in have:
        end += 1
    return end


@settings(max_examples=60)
@given(starts, pieces, st.randoms(use_true_random=False))
def test_the_order_of_pieces_does_not_matter(
    start: int, some: list[tuple[int, int]], dice: random.Random
) -> None:
    found = []
    for _ in range(2):
        stream = Assembly(start)
        for at, size in some:
            stream.add(start + at, start + at + size)
        found.append((stream.next, stream.gaps))
        dice.shuffle(some)
    assert found[0] == found[1]
    assert found[0][0] == whole(start, some)


@given(starts, pieces)
def test_what_is_whole_stays_whole(start: int, some: list[tuple[int, int]]) -> None:
    stream = Assembly(start)
    for at, size in some:
        before = stream.next
        stream.add(start + at, start + at + size)
        assert stream.next >= before
        again = stream.next
        stream.add(start + at, start + at + size)
        assert stream.next == again


@given(st.integers(1, 30), st.lists(st.integers(1, 29), unique=True), st.integers(0, 1 << 32))
def test_the_end_has_a_number_of_its_own(size: int, cuts: list[int], start: int) -> None:
    bounds = [0, *sorted(each for each in cuts if each < size), size]
    stream = Assembly(start)
    for low, high in reversed(list(pairwise(bounds))):
        assert not stream.ended
        stream.add(start + low, start + high, fin=high == size)
        assert stream.gaps is (low > 0)
    assert stream.ended
    assert stream.next == start + size + 1


def test_nothing_counts_behind_the_end() -> None:
    stream = Assembly(1)
    stream.add(1, 11, fin=True)
    stream.add(11, 30)
    stream.add(12, 30, fin=True)
    assert (stream.next, stream.fin, stream.gaps) == (12, 11, False)


def test_an_end_past_a_gap_waits() -> None:
    stream = Assembly(1)
    stream.add(11, 11, fin=True)
    assert (stream.next, stream.gaps, stream.ended) == (1, True, False)
    stream.add(1, 11)
    assert (stream.next, stream.gaps, stream.ended) == (12, False, True)


@given(st.integers(0, 9), st.integers(0, 1000), st.integers(0, 300), st.integers(0, 300))
def test_text_is_a_function_of_its_place(flow: int, at: int, size: int, more: int) -> None:
    assert text(flow, at, size + more) == text(flow, at, size) + text(flow, at + size, more)
    assert bytes(each ^ 0xFF for each in text(flow, at, size)) == wrong_text(flow, at, size)


def test_flows_say_different_things() -> None:
    assert len({text(flow, 1, 8) for flow in range(64)}) == 64
    assert len(text(0, 0, 1 << 17)) == 1 << 17
    with pytest.raises(ValueError, match="131073 bytes"):
        text(0, 0, (1 << 17) + 1)
