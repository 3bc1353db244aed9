"""docs/generated/client-laws.md is current: laws alone catch most wrong clients."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from scapy_tfo.mutants.registry import all_client_mutants
from scapy_tfo.trust.client_laws import EXPLORED, KINDS, kind_of, shows

DOCS = Path(__file__).parents[2] / "docs" / "generated"
AGAIN = "run 'make client-laws' and look at what it says"
LEAST = 0.6


@pytest.fixture(scope="module")
def witnesses() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((DOCS / "client-laws.json").read_text())
    return read


def test_every_wrong_client_is_there(witnesses: dict[str, dict[str, str]]) -> None:
    assert set(witnesses) == {each.name for each in all_client_mutants() if not each.equivalent}
    assert {kind for each in witnesses.values() for kind in each} <= set(KINDS)
    missed = [name for name, each in witnesses.items() if not each]
    document = (DOCS / "client-laws.md").read_text()
    assert [name for name in missed if f"- `{name}`\n" not in document] == [], AGAIN


def test_laws_alone_catch_most(witnesses: dict[str, dict[str, str]]) -> None:
    caught = [each for each in witnesses.values() if set(each) - {EXPLORED}]
    assert len(caught) >= LEAST * len(witnesses), AGAIN


def test_a_witness_of_each_still_holds(witnesses: dict[str, dict[str, str]]) -> None:
    """The last of each: what catches fewer comes behind."""
    pairs = [
        (name, [each[kind] for kind in KINDS if kind in each and kind != EXPLORED][-1])
        for name, each in witnesses.items()
        if set(each) - {EXPLORED}
    ]
    names, some = zip(*pairs, strict=True)
    with ProcessPoolExecutor() as pool:
        held = pool.map(shows, names, some, chunksize=8)
        failed = [pair for pair, holds in zip(pairs, held, strict=True) if not holds]
    assert not failed, AGAIN


def test_each_result_is_of_a_kind() -> None:
    assert [kind_of(each) for each in (
        "CLI-6a.all-is-taken-silence-after-1-steps-stays",
        "CLI-21a.owed-half-is-taken-of-100-bytes",
        "CLI-24.a-bystander-is-still-opened-fast",
        "CLI-6a.chance-7",
        "CLI-6a.schedule-01234567",
    )] == list(KINDS)  # fmt: skip
