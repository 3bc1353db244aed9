"""Each middlebox is named from what both ends saw alone."""

from __future__ import annotations

import os
import random

import pytest

from scapy_tfo import option as opt
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.middleboxes.box import Box, Out, Passed, changed, without_option
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.option import Form
from scapy_tfo.path.evidence import Evidence, Verdict
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.verdict import judge
from scapy_tfo.segment import Segment

RUNS = int(os.environ.get("PATH_RUNS", "1"))
"""Of each box over one family in turn; more, then over both, are for whoever has the time."""

OVER = [
    (name, family)
    for number, name in enumerate(BOXES)
    for family in ((4, 6) if RUNS > 1 else ((4, 6)[number % 2],))
]


@pytest.mark.parametrize(("name", "family"), OVER)
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


def test_what_has_no_name_is_told_as_what_it_does() -> None:
    result = judge(observe_simulated([TakesAcknowledgementsBack], 4))
    (found,) = result.findings
    assert (found.name, found.where) == ("changes-acknowledgement", "towards the client")
    assert "SYN-ACKs arrive changed (acknowledgement), only in connections whose" in found.says
    assert result.verdict is Verdict.TAMPERS


class ClampsMss(Box):
    """As most access routers do."""

    def syn(self, segment: Segment, now: float) -> Out:
        options = [
            opt.mss(1380) if each.kind == opt.MSS else each
            for each in opt.pull_options(segment.options)
        ]
        return super().syn(changed(segment, options=opt.push_options(options)), now)


def test_what_fast_open_does_not_need_may_change() -> None:
    result = judge(observe_simulated([ClampsMss], 6))
    assert result.verdict is Verdict.TRANSPARENT
    assert [(each.name, each.harm) for each in result.findings] == [("changes-options", False)]


class HoldsBack(Box):
    """Every second segment with data is a second late."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._count = 0

    def homeward(self, segment: Segment, _now: float) -> Out:
        self._count += bool(segment.payload)
        late = bool(segment.payload) and self._count % 2 == 0
        return [Passed(segment.to_bytes(), False, 1.0 if late else 0.0)]


def test_segments_that_are_overtaken_were_delayed() -> None:
    (found,) = judge(observe_simulated([HoldsBack], 4)).findings
    assert (found.name, found.where) == ("delays-data", "towards the client")
    assert "by 1.0 to 1.0 s" in found.says


def test_two_boxes_of_which_one_has_no_name_are_both_told() -> None:
    boxes = [BOXES["drops-syn-with-data"], HoldsBack]
    found = judge(observe_simulated(boxes, 4)).findings
    assert [each.name for each in found] == ["drops-syn-with-data", "delays-data"]


def test_kind_254_is_told_with_what_it_saves() -> None:
    result = judge(observe_simulated([StripsKind34], 4, impairment=Impairment(delay=0.02)))
    assert result.toll is not None
    assert (result.toll.lost, result.toll.of) == (0, 3)
    assert result.toll.seconds == pytest.approx(0.04)
    assert result.toll.other_kind == pytest.approx(0.04)


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
        seen = observe_simulated([], 4, seed=seed, impairment=Impairment.parse(path))
        result = judge(seen)
        assert not result.findings, seed
        # Where a tenth of all packets is lost, a connection can be given up.
        whole = not Evidence(seen).broken
        assert result.verdict is (Verdict.TRANSPARENT if whole else Verdict.UNKNOWN), seed


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
