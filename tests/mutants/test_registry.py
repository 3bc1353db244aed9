"""The registry of mutants: each is named once, breaks a requirement, and is still a TCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scapy_tfo import spec
from scapy_tfo.mutants.registry import Mutant, all_client_mutants, all_mutants, mutant
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.server import Listener
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Accepted
from tests.reference.wire import ISN, Script

MUTANTS = all_mutants()
CATALOGUE = spec.load()
TABLE = Path(__file__).parents[2] / "docs" / "bugs-as-mutants.md"


def test_there_are_many() -> None:
    assert len(MUTANTS) >= 90
    assert len({each.name for each in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_each_breaks_a_known_requirement_in_one_sentence(each: Mutant) -> None:
    assert each.breaks in CATALOGUE
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", each.description), each.description
    assert ". " not in each.description
    assert re.fullmatch(r"[a-z0-9-]+", each.name)


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_what_each_breaks_besides_is_known_and_named_once_in_order(each: Mutant) -> None:
    order = list(CATALOGUE)
    assert set(each.also) <= set(order) - {each.breaks}
    assert list(each.also) == sorted(set(each.also), key=order.index)
    assert len(each.also) <= 4


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_each_completes_a_plain_handshake(each: Mutant) -> None:
    """So that a verdict is about the bug, and a run is not given up for a target that is down."""
    script = Script(each.settings, stack_class=each.stack)
    syn_ack = script.syn()
    assert syn_ack.is_syn_ack
    assert syn_ack.ack == ISN + 1
    script.establish(syn_ack)
    assert any(isinstance(event, Accepted) for event in script.events)


def test_the_table_of_bugs_names_every_mutant_that_has_one() -> None:
    rows = TABLE.read_text(encoding="utf-8")
    for each in (*MUTANTS, *all_client_mutants()):
        if each.bug:
            assert re.search(rf"^\| {each.bug} .*`{each.name}`", rows, re.MULTILINE), each.name


def test_the_table_of_bugs_names_mutants_that_exist() -> None:
    names = {each.name for each in (*MUTANTS, *all_client_mutants())}
    assert set(re.findall(r"`([a-z0-9-]+)`", TABLE.read_text("utf-8"))) - {"scapy-tfo"} <= names


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="taken"):

        @mutant("SRV-1")
        class AcceptsAnyCookie(Listener):
            """A second one."""


def test_a_mutant_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="docstring"):

        @mutant("SRV-1")
        class SaysNothing(Stack): ...


def test_a_mutant_is_a_part_of_the_reference() -> None:
    with pytest.raises(TypeError, match="no part"):

        @mutant("SRV-1")
        class OfNoPart(Cache):
            """The cache is no part that a server has."""
