"""Cases are found, and chosen by id, requirement, group and pattern."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.suite.registry import all_cases, select


def test_every_case_names_requirements_that_exist() -> None:
    catalogue = spec.load()
    for case in all_cases():
        assert set(case.requirements) <= set(catalogue), case.id
        assert case.id.startswith(f"{case.requirements[0]}.")
        assert len(case.title) < 160, case.id


def test_cases_can_be_chosen_by_id_requirement_group_and_pattern() -> None:
    cases = all_cases()
    one = cases[0]
    assert select(cases, [one.id]) == (one,)
    assert one in select(cases, [one.requirements[0].lower()])
    assert set(select(cases, ["ACC"])) >= set(select(cases, ["ACC-2"]))
    assert select(cases, ["*"]) == cases
    assert one not in select(cases, exclude=[one.id])


@pytest.mark.parametrize("entry", ["ACC-999", "nothing", ""])
def test_a_choice_that_matches_nothing_is_an_error(entry: str) -> None:
    with pytest.raises(SetupError, match="matches no case"):
        select(all_cases(), [entry])
    with pytest.raises(SetupError, match="matches no case"):
        select(all_cases(), exclude=[entry])


def test_a_choice_that_leaves_nothing_is_an_error() -> None:
    with pytest.raises(SetupError, match="no case is left"):
        select(all_cases(), ["ACC-2"], ["ACC"])
