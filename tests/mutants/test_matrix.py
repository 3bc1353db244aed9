"""The matrix in docs/ is current: no mutant survives, no case idles, nothing is unchecked."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from scapy_tfo import spec
from scapy_tfo.mutants.registry import all_mutants
from scapy_tfo.suite.registry import all_cases
from scapy_tfo.trust.coverage import left_of
from scapy_tfo.trust.matrix import catches, failures, is_observable

DOCS = Path(__file__).parents[2] / "docs" / "generated"
AGAIN = "run 'make matrix' and look at what it says"


@pytest.fixture(scope="module")
def witnesses() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((DOCS / "matrix.json").read_text())
    return read


def test_every_observable_requirement_has_a_case() -> None:
    checked = {each for case in all_cases() for each in case.requirements}
    bare = [
        each.id for each in spec.load().values() if is_observable(each) and each.id not in checked
    ]
    assert not bare


def test_every_mutant_has_a_witness_or_a_reason(witnesses: dict[str, dict[str, str]]) -> None:
    mutants = all_mutants()
    living = {each.name for each in mutants if not each.equivalent}
    assert set(witnesses["mutants"]) == living, AGAIN


def test_every_case_has_a_witness(witnesses: dict[str, dict[str, str]]) -> None:
    assert set(witnesses["cases"]) == {each.id for each in all_cases()}, AGAIN


def test_the_document_names_what_there_is() -> None:
    document = (DOCS / "matrix.md").read_text()
    names = [each.name for each in all_mutants()] + [each.id for each in all_cases()]
    missing = [name for name in names if f"| `{name}` |" not in document]
    assert not missing, AGAIN


def test_every_witness_still_holds(witnesses: dict[str, dict[str, str]]) -> None:
    pairs = {(case, name) for name, case in witnesses["mutants"].items()}
    pairs |= set(witnesses["cases"].items())
    ordered = sorted(pairs, key=lambda pair: pair[1])
    with ProcessPoolExecutor() as pool:
        held = pool.map(catches, *zip(*ordered, strict=True), chunksize=16)
        failed = [pair for pair, holds in zip(ordered, held, strict=True) if not holds]
    assert not failed, AGAIN


def test_the_first_group_of_failures_names_what_is_broken() -> None:
    """One fault is told as one, for nine mutants out of ten and more."""
    groups = json.loads((DOCS / "matrix.json").read_text())["concerns"]
    breaks = {each.name: {each.breaks, *each.also} for each in all_mutants()}
    named = [name for name, (first, *_) in groups.items() if breaks[name] & set(first)]
    assert len(named) >= 0.9 * len(groups)
    assert median(map(len, groups.values())) == 1


def test_few_failures_are_left_of_what_the_fault_is_not_about() -> None:
    """Before symptoms were found in each assertion it was half of them."""
    left = json.loads((DOCS / "matrix.json").read_text())["left"].values()
    assert sum(others for _, others in left) < 0.45 * sum(map(sum, left))
    assert median(others for _, others in left) == 0


@pytest.mark.parametrize(
    "name",
    [
        "accepts-any-cookie",
        "acks-one-byte-too-few",
        "ignores-the-limit",
        "never-tells-the-end",
        "never-closes-after-its-peer",
    ],
)
def test_the_groups_in_the_document_are_those_of_a_run(name: str) -> None:
    document = json.loads((DOCS / "matrix.json").read_text())
    found = failures(name)
    assert [list(each) for each in found.concerns] == document["concerns"][name], AGAIN
    assert list(left_of(found, all_mutants())) == document["left"][name], AGAIN
