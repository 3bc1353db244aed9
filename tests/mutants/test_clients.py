"""The registry of wrong clients: each is named once, breaks a requirement, and can connect."""

from __future__ import annotations

import re

import pytest

from scapy_tfo import spec
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.mutants.registry import Mutant, all_client_mutants, client_mutant
from scapy_tfo.reference.server import Listener

MUTANTS = all_client_mutants()
CATALOGUE = spec.load()


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_each_breaks_a_known_requirement_in_one_sentence(each: Mutant) -> None:
    assert each.breaks in CATALOGUE
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", each.description), each.description
    assert ". " not in each.description
    assert re.fullmatch(r"[a-z0-9-]+", each.name)


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_each_opens_a_plain_connection(each: Mutant) -> None:
    """So that it is judged, and not given up as one that cannot connect at all."""
    options = Options(families=(4,), capture=False)
    assert simulate(f"sim:{each.name}", all_cases()[:1], CATALOGUE, options).results


def test_no_mutant_keeps_state_in_its_class() -> None:
    """A stack made twice starts twice from nothing: a list in the class would be shared."""
    for each in MUTANTS:
        for part in (each.stack, each.stack.active_class, each.stack.cache_class):
            own = {name: value for name, value in vars(part).items() if name[0] != "_"}
            mutable = [name for name, value in own.items() if isinstance(value, list | dict | set)]
            assert not mutable, (each.name, mutable)


def test_a_client_mutant_is_a_part_that_a_client_has() -> None:
    with pytest.raises(TypeError, match="no part"):

        @client_mutant("CLI-1")
        class OfNoPart(Listener):
            """A listener is no part that a client has."""
