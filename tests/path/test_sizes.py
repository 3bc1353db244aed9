"""The limit on the size of data or cookies is found to the byte."""

from __future__ import annotations

import random

import pytest

from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.middleboxes.box import Box, Out, without_option
from scapy_tfo.middleboxes.dropping import DropsSynWithMuchData
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.path.evidence import Verdict
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.sizes import DROPS_LONG, STRIPS_LONG
from scapy_tfo.path.verdict import judge
from scapy_tfo.segment import Segment


def drops_from(size: int) -> type[Box]:
    class Drops(DropsSynWithMuchData):
        def syn(self, segment: Segment, now: float) -> Out:
            return [] if len(segment.payload) >= size else Box.syn(self, segment, now)

    return Drops


@pytest.mark.parametrize("agent", [True, False], ids=["with an agent", "one end"])
@pytest.mark.parametrize("family", [4, 6])
def test_how_much_data_passes_is_told_to_the_byte(family: int, agent: bool) -> None:
    for seed in range(4):
        size = random.Random(seed).randint(450, 1380)
        seen = observe_simulated([drops_from(size)], family, seed=seed, agent=agent)
        result = judge(seen)
        assert result.syn_data == (size - 1, size)
        (found,) = result.findings
        assert str(size) in found.says


@pytest.mark.parametrize("family", [4, 6])
def test_the_limit_of_an_mtu_is_told_in_bytes_of_data(family: int) -> None:
    result = judge(observe_simulated([BOXES["finds-syn-too-big"]], family))
    headers = {4: 20, 6: 40}[family] + 20
    options = 36
    assert result.syn_data == (1280 - headers - options, 1280 - headers - options + 1)


def test_lost_packets_do_not_move_the_limit() -> None:
    for seed in range(4):
        lossy = Impairment(delay=0.02, loss=0.03)
        seen = observe_simulated([drops_from(700)], 4, seed=seed, impairment=lossy)
        limit = judge(seen).syn_data
        assert limit is None or limit[0] < 700


def test_where_nothing_is_too_much_no_limit_is_told() -> None:
    assert judge(observe_simulated([], 4)).syn_data is None


class _Minds(Box):
    """It minds cookies longer than `most` bytes."""

    most = 12

    def is_long(self, segment: Segment) -> bool:
        return len(segment.cookie or b"") > self.most


class DropsLongOption(_Minds):
    def syn(self, segment: Segment, now: float) -> Out:
        return [] if self.is_long(segment) else super().syn(segment, now)


class StripsLongOption(_Minds):
    def syn(self, segment: Segment, now: float) -> Out:
        return super().syn(without_option(segment) if self.is_long(segment) else segment, now)


@pytest.mark.parametrize("agent", [True, False], ids=["with an agent", "one end"])
@pytest.mark.parametrize(
    ("box", "name", "verdict"),
    [
        (DropsLongOption, DROPS_LONG, Verdict.DROPS),
        (StripsLongOption, STRIPS_LONG, Verdict.STRIPS),
    ],
)
def test_which_cookies_are_too_long_is_told(
    box: type[Box], name: str, verdict: Verdict, agent: bool
) -> None:
    result = judge(observe_simulated([box], 4, agent=agent))
    (found,) = result.findings
    assert (found.name, result.verdict) == (name, verdict)
    assert found.says.startswith("cookies of up to 12 bytes pass")
    assert found.says.endswith("from 14 bytes on")


def test_no_cookie_is_too_long_where_packets_are_lost_by_chance() -> None:
    for seed in range(6):
        seen = observe_simulated([], 4, seed=seed, impairment=Impairment(delay=0.02, loss=0.1))
        assert judge(seen).findings == []
