"""Stacks that only a context shows to be wrong: their cases pass without it, and fail in it."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.mutants.registry import Mutant, all_context_mutants, all_mutants
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import Verdict

WRONG = {each.name: each for each in all_context_mutants()}


def failed(mutant: Mutant, context: Context, only: str) -> list[str]:
    """Of the cases that this selects, over IPv4."""
    options = Options(intrusive=True, capture=False, families=(4,), context=context)
    chosen = select(all_cases(), [only])
    done = simulate(f"sim:{mutant.name}", chosen, spec.load(), options)
    return [each.case for each in done.results if each.verdict is Verdict.FAIL]


HARMFUL = {
    "times": "wrap",
    "shift": "7",
    "size": "1400",
    "fill": "before-38",
    "urgent": "sum0",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_context_shows_what_is_wrong(name: str) -> None:
    mutant = WRONG[name]
    assert not failed(mutant, USUAL, mutant.breaks)
    assert failed(mutant, Context.parse(mutant.context), mutant.breaks)


def test_they_are_no_mutants_that_cases_catch_by_themselves() -> None:
    assert not WRONG.keys() & {each.name for each in all_mutants()}


@pytest.mark.parametrize("name", sorted({c.id for c in all_cases() if c.fixed}))
def test_a_case_fixes_what_it_could_not_bear(name: str) -> None:
    """With some value of what it fixes, the right stack does not pass it."""
    case = next(each for each in all_cases() if each.id == name)
    import dataclasses

    loose = dataclasses.replace(case, fixed=frozenset())
    for factor in case.fixed - {"sack"}:
        value = HARMFUL[factor]
        context = Context.of({factor: value})
        options = Options(intrusive=True, capture=False, families=(4,), context=context)
        done = simulate("sim:reference", [loose], spec.load(), options)
        assert done.results[0].verdict is not Verdict.PASS, factor
