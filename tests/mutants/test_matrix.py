"""The matrix in docs/ is current: nothing survives, nothing idles, nothing is unchecked."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from scapy_tfo import spec
from scapy_tfo.mutants.registry import all_mutants
from scapy_tfo.suite.matrix import catches, is_observable
from scapy_tfo.suite.registry import all_cases

DOCS = Path(__file__).parents[2] / "docs"
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
