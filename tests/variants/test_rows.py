"""The covering array: each pair of variants that can go together does so in a row."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import pytest

from scapy_tfo.reference.states import Accepted
from scapy_tfo.segment import SYN
from scapy_tfo.variants.array import LEVELS, ROWS
from scapy_tfo.variants.registry import Variant, all_variants, named
from scapy_tfo.variants.rows import all_rows, members
from tests.reference.wire import ISN, Script

MAKER = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "variant_rows.py"))
KNOWN = {each.name: each for each in all_variants()}


def test_the_array_is_of_the_variants_that_there_are() -> None:
    """`make variant-rows` after a variant was added or removed."""
    assert MAKER["factors"](all_variants()) == LEVELS


def test_every_pair_goes_together_in_a_row() -> None:
    seen = {
        frozenset(pair)
        for number in range(1, len(ROWS) + 1)
        for pair in itertools.combinations([each.name for each in members(number)], 2)
    }
    for a, b in itertools.combinations(LEVELS.values(), 2):
        for one, other in itertools.product(a, b):
            if frozenset((one, other)) not in seen:
                assert not MAKER["together"](KNOWN[one], KNOWN[other]), (one, other)


def test_no_row_joins_what_must_stay_apart() -> None:
    for number in range(1, len(ROWS) + 1):
        names = {each.name for each in members(number)}
        assert not [each for each in MAKER["APART"] if each <= names], number


def test_rows_have_names() -> None:
    assert [each.name for each in all_rows()][:2] == ["variants-row-1", "variants-row-2"]
    assert isinstance(named("variants-row-2"), Variant)


@pytest.mark.parametrize("each", all_rows(), ids=lambda each: each.name)
def test_each_row_completes_a_plain_handshake(each: Variant) -> None:
    script = Script(each.settings, stack_class=each.stack)
    answers = script.send(SYN) + script.wait(0.3)
    (syn_ack,) = (segment for segment in answers if segment.is_syn_ack)
    assert syn_ack.ack == ISN + 1
    script.establish(syn_ack)
    script.wait(0.3)
    assert any(isinstance(event, Accepted) for event in script.events)
