"""Each rule of TCP in the oracle is broken by a mutant, which passes once it is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scapy_tfo.mutants.registry import REFERENCE, Mutant, all_mutants, all_tcp_mutants
from scapy_tfo.oracle.conduct.conduct import RULES
from scapy_tfo.suite.registry import all_conversations
from scapy_tfo.trust.rule_checks import telling

MUTANTS = all_tcp_mutants()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "rules-left-out.md"


def test_each_rule_has_a_mutant() -> None:
    assert {each.breaks for each in MUTANTS} == {each.name for each in RULES}


def test_each_names_a_conversation_that_there_is() -> None:
    assert {each.shown_by for each in MUTANTS} <= {each.id for each in all_conversations()}


def test_no_name_is_taken_twice() -> None:
    assert not {each.name for each in MUTANTS} & {each.name for each in all_mutants()}


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_each_says_in_one_sentence_what_is_wrong(each: Mutant) -> None:
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", each.description), each.description
    assert ". " not in each.description


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_its_rule_tells_of_it_and_nothing_else_does(each: Mutant) -> None:
    told = telling(each.name)
    assert told.is_told
    assert told.left == ()


def test_the_page_names_each_of_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [each.name for each in MUTANTS if f"`{each.name}`" not in page]
    assert not missing, "run `make left-out`"


def test_the_reference_is_no_mutant_of_tcp() -> None:
    assert REFERENCE.name not in {each.name for each in MUTANTS}
