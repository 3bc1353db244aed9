"""What a run with one small listener says of its length, before it begins."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from scapy_tfo.address import known_address
from scapy_tfo.stacks.small_port import told_wait
from scapy_tfo.stacks.standing import STANDING, StandingHooks
from scapy_tfo.suite.application import Echo
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.target import Service, Target
from scapy_tfo.wire.link import Link

CASES = select(all_cases(), ["LIM-1", "ACC-2"])
TURNS = [each for each in CASES if each.intrusive and "listeners" in each.needs]


@pytest.fixture
def target() -> Target:
    address = known_address(bytes((192, 0, 2, 1)))
    small = Service(9, Echo())
    return Target(
        name="t",
        link=cast("Link", None),
        addresses={4: address},
        main=Service(7, Echo()),
        small=small,
        hooks=StandingHooks({}, small.port),
        verbs=frozenset({STANDING}),
    )


def test_the_most_is_told_of_the_cases_that_take_turns(target: Target) -> None:
    quick = [each for each in TURNS if not each.slow]
    told = told_wait(target, CASES, None, slow=False)
    assert told.startswith(f"up to {len(quick)} cases use --small-port 9, one after the other")
    assert f"75 s each at most, {-(-len(quick) * 75 // 60)} minutes in all" in told
    assert f"up to {len(TURNS)} cases" in told_wait(target, CASES, (4, 6), slow=True)


def test_nothing_is_told_where_nobody_waits(target: Target) -> None:
    assert not told_wait(target, select(CASES, ["ACC-2"]), None, slow=True)
    assert not told_wait(target, CASES, (6,), slow=True)
    assert not told_wait(replace(target, small=None), CASES, None, slow=True)
    assert not told_wait(replace(target, verbs=frozenset({"listen"})), CASES, None, slow=True)
