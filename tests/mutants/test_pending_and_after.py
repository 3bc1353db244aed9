"""For every rule on pending fast opens, and on their later life, a mutant breaks it."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.mutants.registry import all_mutants

BREAKS = {each.breaks for each in all_mutants() if not each.equivalent}
OBSERVABLE = [
    each.id
    for each in spec.load().values()
    if each.id.startswith(("LIM", "AFT")) and "wire" in each.observed
]


@pytest.mark.parametrize("requirement", OBSERVABLE)
def test_the_rule_is_broken_by_a_mutant(requirement: str) -> None:
    assert requirement in BREAKS


def test_no_mutant_keeps_state_in_its_class() -> None:
    """A stack made twice starts twice from nothing: a list in the class would be shared."""
    for each in all_mutants():
        for part in (each.stack, each.stack.connection_class, each.stack.listener_class):
            own = {name: value for name, value in vars(part).items() if name[0] != "_"}
            mutable = [name for name, value in own.items() if isinstance(value, list | dict | set)]
            assert not mutable, (each.name, mutable)
