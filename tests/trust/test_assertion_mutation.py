"""Weakened conditions hold whenever the original holds, and in further cases."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.trust.assertion_finder import How, atoms
from scapy_tfo.trust.assertion_mutation import widened

NUMBERS = st.integers(-5, 20)
BOUNDS = ["got <= size", "got < size", "got >= size", "got > size", "1 <= got <= size"]


def weaker(source: str, how: How, *, holds: bool) -> str:
    node = ast.parse(source, mode="eval").body
    assert isinstance(node, ast.Compare)
    return ast.unparse(ast.fix_missing_locations(widened(node, how, holds)))


@pytest.mark.parametrize("source", BOUNDS)
@given(got=NUMBERS, size=NUMBERS)
def test_a_widened_bound_forgives_more_and_blames_nothing_new(
    source: str, got: int, size: int
) -> None:
    for holds in (True, False):
        after = weaker(source, How.BOUND_WIDENED, holds=holds)
        values = {"got": got, "size": size}
        forgiven = eval(source, values) is holds
        assert not forgiven or eval(after, values) is holds, f"{source} became {after}"


@pytest.mark.parametrize("source", BOUNDS)
def test_a_widened_bound_forgives_what_lies_just_outside(source: str) -> None:
    for holds in (True, False):
        after = weaker(source, How.BOUND_WIDENED, holds=holds)
        assert any(
            eval(source, {"got": got, "size": 7}) is not holds
            and eval(after, {"got": got, "size": 7}) is holds
            for got in range(30)
        )


@given(got=NUMBERS, size=NUMBERS)
def test_an_exact_demand_becomes_a_bound_on_one_side(got: int, size: int) -> None:
    at_least = weaker("got == size", How.AT_LEAST, holds=True)
    at_most = weaker("got == size", How.AT_MOST, holds=True)
    values = {"got": got, "size": size}
    assert (eval(at_least, values), eval(at_most, values)) == (got >= size, got <= size)


def test_a_part_of_what_must_not_be_is_found_with_its_sign() -> None:
    condition = ast.parse("not (late or len(extra) > 2) and done", mode="eval").body
    found = {ast.unparse(atom): holds for atom, holds in atoms(condition, True)}
    assert found == {"late": False, "len(extra) > 2": False, "done": True}
