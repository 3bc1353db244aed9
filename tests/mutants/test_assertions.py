"""assertions.md and client-assertions.md in docs/generated are current.

They list every assertion of the cases, and each guards what they say.
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from scapy_tfo.trust.assertion_checks import keys, takes_away
from scapy_tfo.trust.assertion_finder import How, Role, Weakening, weakenings
from scapy_tfo.trust.assertion_mutation import weakened
from scapy_tfo.trust.client_matrix import CLIENTS
from scapy_tfo.trust.matrix import SERVERS, Arena

DOCS = Path(__file__).parents[2] / "docs" / "generated"
AGAIN = "run 'make weaken' and look at what it says"

Witnesses = dict[str, tuple[str, str, int] | None]


FILES = {SERVERS: "assertions.json", CLIENTS: "client-assertions.json"}


@pytest.fixture(scope="module", params=FILES, ids=["servers", "clients"])
def arena(request: pytest.FixtureRequest) -> Arena:
    chosen: Arena = request.param
    return chosen


@pytest.fixture(scope="module")
def witnesses(arena: Arena) -> Witnesses:
    read: Witnesses = json.loads((DOCS / FILES[arena]).read_text())
    return read


@pytest.fixture(scope="module")
def now(arena: Arena) -> dict[str, Weakening]:
    return keys(weakenings(arena.source))


def test_every_assertion_is_weighed(now: dict[str, Weakening], witnesses: Witnesses) -> None:
    assert set(now) == set(witnesses), AGAIN


def test_what_guards_nothing_is_a_step_or_has_its_reason(
    now: dict[str, Weakening], witnesses: Witnesses
) -> None:
    idle = [now[name] for name, witness in witnesses.items() if witness is None]
    assert not [
        each.where
        for each in idle
        if each.role is Role.DEMAND and not each.source.why_exempt(each.where, each.code)
    ]


def test_every_reason_is_still_needed(arena: Arena, now: dict[str, Weakening]) -> None:
    there = {(each.where, each.code) for each in now.values()}
    assert {(each.where, each.code) for each in arena.source.exempt} <= there


def test_every_assertion_guards_what_it_is_said_to(
    arena: Arena, now: dict[str, Weakening], witnesses: Witnesses
) -> None:
    jobs = [(now[name], *witness, arena) for name, witness in witnesses.items() if witness]
    # The others are for `make weaken`, which makes the pages anew.
    jobs = sorted(jobs, key=lambda job: job[2])[::2]
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
