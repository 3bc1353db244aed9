"""docs/assertions.md is current: each assertion of the cases is there, and guards what it says."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from scapy_tfo.suite.assertions import How, Role, Weakening, weakenings
from scapy_tfo.suite.guards import EXEMPT, keys, takes_away
from scapy_tfo.suite.weakening import weakened

DOCS = Path(__file__).parents[2] / "docs"
AGAIN = "run 'make weaken' and look at what it says"

Witnesses = dict[str, tuple[str, str, int] | None]


@pytest.fixture(scope="module")
def witnesses() -> Witnesses:
    read: Witnesses = json.loads((DOCS / "assertions.json").read_text())
    return read


@pytest.fixture(scope="module")
def now() -> dict[str, Weakening]:
    return keys(weakenings())


def test_every_assertion_is_weighed(now: dict[str, Weakening], witnesses: Witnesses) -> None:
    assert set(now) == set(witnesses), AGAIN


def test_what_guards_nothing_is_a_step_or_has_its_reason(
    now: dict[str, Weakening], witnesses: Witnesses
) -> None:
    idle = [now[name] for name, witness in witnesses.items() if witness is None]
    assert not [
        each.where
        for each in idle
        if each.role is Role.DEMAND and (each.where, each.code) not in EXEMPT
    ]


def test_every_reason_is_still_needed(now: dict[str, Weakening]) -> None:
    assert set(EXEMPT) <= {(each.where, each.code) for each in now.values()}


def test_every_assertion_guards_what_it_is_said_to(
    now: dict[str, Weakening], witnesses: Witnesses
) -> None:
    jobs = [(now[name], *witness) for name, witness in witnesses.items() if witness]
    jobs.sort(key=lambda job: job[2])
    with ProcessPoolExecutor() as pool:
        taken = pool.map(takes_away, *zip(*jobs, strict=True), chunksize=16)
        wrong = [job for job, held in zip(jobs, taken, strict=True) if not held]
    assert not wrong, AGAIN


def test_a_weakened_function_is_whole_again_afterwards(now: dict[str, Weakening]) -> None:
    removed = next(each for each in now.values() if each.how is How.REMOVED)
    code = _code(removed)
    with weakened(removed):
        assert _code(removed) is not code
    assert _code(removed) is code


def _code(weakening: Weakening) -> object:
    module = __import__(weakening.module, fromlist=[weakening.function])
    return getattr(module, weakening.function).__code__
