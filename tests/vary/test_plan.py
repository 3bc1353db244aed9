"""The plan of a run: its contexts hold all pairs, and no case meets the same context twice."""

from __future__ import annotations

import itertools

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.context.factors import BY_NAME, FACTORS
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.vary.plan import Model, planned, reduced, whole

FEW = select(all_cases(), ["OPT-9"])


def test_the_contexts_hold_every_pair_of_levels() -> None:
    contexts = planned(whole(), FEW).contexts
    for one, other in itertools.combinations(FACTORS, 2):
        for left, right in itertools.product(one.levels, other.levels):
            assert any(
                context[one.name] in left.values and context[other.name] in right.values
                for context in contexts
            ), (one.name, left, other.name, right)


def test_the_first_context_is_the_usual_one() -> None:
    assert planned(whole(), FEW).contexts[0] == USUAL


def test_values_of_one_level_take_turns() -> None:
    ports = {context["port"] for context in planned(whole(), FEW).contexts}
    assert {"1", "80", "443", "512", "1023", "same", "65535"} <= ports
    assert len(ports & set(BY_NAME["port"].levels[3].values)) > 5


def test_a_factor_that_a_case_fixes_keeps_its_usual_value() -> None:
    plan = planned(whole(), FEW)
    fixed = next(case for case in FEW if case.fixed)
    contexts = [context.without(fixed.fixed) for context, cases in plan.runs() if fixed in cases]
    assert len(contexts) == len(set(contexts))
    assert all(context[name] == BY_NAME[name].usual for context in contexts for name in fixed.fixed)


def test_a_context_that_a_case_has_met_is_left_out() -> None:
    """Where all that varies is fixed by the case, it runs once."""
    fixed = next(case for case in FEW if "times" in case.fixed)
    model = Model({"times": BY_NAME["times"].levels})
    assert planned(model, [fixed], strength=1).size == 1


def test_a_level_without_values_is_gone() -> None:
    levels = reduced(BY_NAME["port"], {"any", "80"})
    assert [level.values for level in levels] == [("any",), ("80",)]


def test_a_context_reads_as_it_is_written() -> None:
    for context in planned(whole(), FEW).contexts:
        assert Context.parse(str(context)) == context


@pytest.mark.parametrize(
    ("text", "why"),
    [("prot=80", "did you mean 'port'"), ("port=81", "no value of port"), ("port", "no value")],
)
def test_a_context_that_there_is_not(text: str, why: str) -> None:
    with pytest.raises(SetupError, match=why):
        Context.parse(text)


def test_every_usual_value_comes_first_and_no_value_twice() -> None:
    for factor in FACTORS:
        assert factor.usual == factor.levels[0].values[0]
        assert len(factor.levels[0].values) == 1, factor.name
    whole_model = whole()
    assert set(whole_model.factors) == set(BY_NAME)
