"""Each middlebox is called by its name, by what both ends saw alone."""

from __future__ import annotations

import os
import random

import pytest

from scapy_tfo.lab.path import Impairment
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.path.evidence import Verdict
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.verdict import judge

RUNS = int(os.environ.get("PATH_RUNS", "1"))
"""Of each box over each family; more are for whoever has the time."""


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("name", BOXES)
def test_a_box_is_named(name: str, family: int) -> None:
    for seed in range(RUNS):
        delay = Impairment(delay=random.Random(seed).uniform(0.0, 0.1))
        seen = observe_simulated([BOXES[name]], family, seed=seed, impairment=delay)
        found = judge(seen).findings
        assert [each.name for each in found] == ([] if name == "none" else [name]), seed


def test_two_boxes_are_both_named() -> None:
    boxes = [BOXES["shares-address"], BOXES["strips-option-from-syn"], BOXES["duplicates-syn"]]
    found = judge(observe_simulated(boxes, 4)).findings
    assert {each.name for each in found} == {each.name for each in boxes}


@pytest.mark.parametrize("seed", range(3))
def test_a_path_that_loses_packets_is_blamed_for_nothing(seed: int) -> None:
    lossy = Impairment(delay=0.02, loss=0.05)
    result = judge(observe_simulated([], 4, seed=seed, impairment=lossy))
    assert result.verdict is Verdict.TRANSPARENT
    assert not result.findings
