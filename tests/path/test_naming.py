"""Each middlebox is named from what both ends saw alone."""

from __future__ import annotations

import os
import random

import pytest

from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.middleboxes.box import Box, Out, changed, without_option
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.option import Form
from scapy_tfo.path.evidence import Verdict
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.verdict import judge
from scapy_tfo.segment import Segment

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


class StripsKind34(Box):
    def syn(self, segment: Segment, now: float) -> Out:
        iana = any(each.form is Form.IANA for each in segment.fast_open)
        return super().syn(without_option(segment) if iana else segment, now)


def test_which_kind_of_the_option_breaks_is_told() -> None:
    (found,) = judge(observe_simulated([StripsKind34], 6)).findings
    assert found.name == "strips-option-from-syn"
    assert found.says.endswith("(kind 34 only: kind 254 passes)")


class TakesAcknowledgementsBack(Box):
    """No box of ours: the SYN's data arrives, and the client is told that it did not."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._acks: dict[int, int] = {}

    def syn(self, segment: Segment, now: float) -> Out:
        self._acks[segment.sport] = (segment.seq + 1) & 0xFFFFFFFF
        return super().syn(segment, now)

    def syn_ack(self, segment: Segment, now: float) -> Out:
        return super().syn_ack(changed(segment, ack=self._acks[segment.dport]), now)


def test_what_has_no_name_is_not_called_transparent() -> None:
    result = judge(observe_simulated([TakesAcknowledgementsBack], 4))
    assert [each.name for each in result.findings] == ["unexplained"]
    assert result.verdict is Verdict.TAMPERS


def test_two_boxes_are_both_named() -> None:
    boxes = [BOXES["shares-address"], BOXES["strips-option-from-syn"], BOXES["duplicates-syn"]]
    found = judge(observe_simulated(boxes, 4)).findings
    assert {each.name for each in found} == {each.name for each in boxes}


@pytest.mark.parametrize(
    "path",
    [
        "loss=10%,delay=20ms",
        "delay=10ms,jitter=300ms",
        "duplicate=20%,delay=5ms",
        "reorder=20%,delay=5ms",
        "corrupt=5%,delay=5ms",
    ],
)
def test_a_bad_path_is_blamed_for_nothing(path: str) -> None:
    for seed in range(max(2, RUNS)):
        result = judge(observe_simulated([], 4, seed=seed, impairment=Impairment.parse(path)))
        assert result.verdict is Verdict.TRANSPARENT, seed
        assert not result.findings


@pytest.mark.parametrize(
    "name",
    [
        "strips-option",
        "drops-syn-with-data",
        "drops-syn-ack-with-cookie",
        "blocks-flow-after-syn-data",
        "rewrites-cookie",
        "duplicates-syn",
        "acknowledges-lost-data",
    ],
)
def test_a_box_is_named_where_packets_are_lost_by_chance_too(name: str) -> None:
    lossy = Impairment(delay=0.02, loss=0.03)
    for seed in range(max(2, RUNS)):
        found = judge(observe_simulated([BOXES[name]], 4, seed=seed, impairment=lossy)).findings
        assert [each.name for each in found] == [name], seed
