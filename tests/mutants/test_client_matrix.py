"""docs/generated/client-matrix.md is current: no mutant survives, no case idles, nothing is
unchecked.
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from scapy_tfo import spec
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.mutants.registry import all_client_mutants
from scapy_tfo.trust.client_matrix import CLIENTS
from scapy_tfo.trust.matrix import catches

DOCS = Path(__file__).parents[2] / "docs" / "generated"
AGAIN = "run 'make client-matrix' and look at what it says"
MUTANTS = all_client_mutants()
CATALOGUE = spec.load()


@pytest.fixture(scope="module")
def witnesses() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((DOCS / "client-matrix.json").read_text())
    return read


def test_every_observable_requirement_has_a_case() -> None:
    checked = {each for case in all_cases() for each in case.requirements}
    observable = [each.id for each in CATALOGUE.values() if CLIENTS.observable(each)]
    assert [each for each in observable if each not in checked] == []


def test_every_mutant_has_a_witness_or_a_reason(witnesses: dict[str, dict[str, str]]) -> None:
    assert set(witnesses["mutants"]) == {each.name for each in MUTANTS if not each.equivalent}, (
        AGAIN
    )


def test_every_mutant_is_caught_by_a_case_of_what_it_breaks(
    witnesses: dict[str, dict[str, str]],
) -> None:
    requirements = {each.id: each.requirements for each in all_cases()}
    strays = [
        each.name
        for each in MUTANTS
        if not each.equivalent and each.breaks not in requirements[witnesses["mutants"][each.name]]
    ]
    assert not strays


def test_every_case_has_a_witness(witnesses: dict[str, dict[str, str]]) -> None:
    assert set(witnesses["cases"]) == {each.id for each in all_cases()}, AGAIN


def test_the_document_names_what_there_is() -> None:
    document = (DOCS / "client-matrix.md").read_text()
    names = [each.name for each in MUTANTS] + [each.id for each in all_cases()]
    assert [name for name in names if f"| `{name}` |" not in document] == [], AGAIN


def test_every_witness_still_holds(witnesses: dict[str, dict[str, str]]) -> None:
    pairs = {(case, name) for name, case in witnesses["mutants"].items()}
    pairs |= set(witnesses["cases"].items())
    ordered = sorted(pairs, key=lambda pair: pair[1])
    with ProcessPoolExecutor() as pool:
        held = pool.map(_catches, *zip(*ordered, strict=True), chunksize=16)
        failed = [pair for pair, holds in zip(ordered, held, strict=True) if not holds]
    assert not failed, AGAIN


def _catches(case: str, mutant: str) -> bool:
    return catches(case, mutant, CLIENTS)
