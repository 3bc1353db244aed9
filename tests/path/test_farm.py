"""Several servers behind one address: their number of keys, and rotations in and out of step."""

from __future__ import annotations

import os

import pytest

from scapy_tfo.path.evidence import Verdict
from scapy_tfo.path.farm import FARMS
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.verdict import judge

RUNS = int(os.environ.get("PATH_RUNS", "1"))

NAMES = {
    "farm-with-one-key": None,
    "farm-with-different-keys": "different-keys",
    "farm-rotating-in-step": "keys-in-step",
    "farm-rotating-out-of-step": "keys-out-of-step",
    "farm-that-rotates": "keys-in-step",
    "farm-that-forgets": "keys-out-of-step",
}
HARMFUL = {"different-keys", "keys-out-of-step"}


@pytest.mark.parametrize("agent", [True, False], ids=["with an agent", "one end"])
@pytest.mark.parametrize("farm", FARMS)
def test_what_a_farm_does_with_its_keys_is_told(farm: str, agent: bool) -> None:
    for seed in range(RUNS):
        seen = observe_simulated([], 4 + 2 * (seed % 2), seed=seed, agent=agent, farm=FARMS[farm])
        result = judge(seen)
        found = {each.name for each in result.findings} - {"several-servers"}
        assert found == ({NAMES[farm]} - {None}), seed
        harm = NAMES[farm] in HARMFUL
        assert result.verdict is (Verdict.BALANCED if harm else Verdict.TRANSPARENT)


def test_holders_of_different_keys_are_counted() -> None:
    for seed in range(4):
        farm = FARMS["farm-with-different-keys"]
        result = judge(observe_simulated([], 6, seed=seed, farm=farm, requests=40))
        assert result.keys is not None
        assert 2 <= result.keys.holders <= 4
        assert result.keys.granted == 40
        assert result.keys.accepted < result.keys.tried


def test_one_key_shared_by_several_servers_is_no_harm() -> None:
    result = judge(observe_simulated([], 4, farm=FARMS["farm-with-one-key"]))
    assert result.keys is not None
    assert (result.keys.holders, result.keys.accepted) == (1, result.keys.tried)
    assert "answered by another host" in result.findings[0].says
