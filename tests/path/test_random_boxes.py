"""Of boxes with random rules nothing wrong is said: a sample of those that a script runs."""

from __future__ import annotations

import random

import pytest

from scapy_tfo.cli import main
from scapy_tfo.middleboxes.box import changed
from scapy_tfo.middleboxes.fuzzed import Action, Deeds, FuzzedBox, Kind, Rule, fuzzed
from scapy_tfo.path.fuzzing import judged
from scapy_tfo.segment import ACK, SYN, Segment
from tests.path.segments import segment


@pytest.mark.parametrize("first", range(0, 30, 6))
def test_nothing_wrong_is_said_of_random_boxes(first: int) -> None:
    for seed in range(first, first + 6):
        found = judged(seed)
        assert not found.wrong, found


def test_the_sample_has_boxes_of_all_sorts() -> None:
    actions = {rule.action for seed in range(30) for rule in fuzzed(seed).rules}
    assert actions == set(Action)


def box_with(rule: Rule) -> FuzzedBox:
    made = type("One", (FuzzedBox,), {"rules": (rule,), "deeds": Deeds()})
    box = made(random.Random(0))
    assert isinstance(box, FuzzedBox)
    return box


def test_a_rule_counts_each_connections_packets() -> None:
    box = box_with(Rule(action=Action.DROP, onward=True, kind=Kind.ANY, first=2, every=2))
    for port in (1, 2):
        packet = segment(sport=port).to_bytes()
        assert [len(box.from_client(packet, 0.0)) for _ in range(5)] == [1, 0, 1, 0, 1]
    assert box.deeds.lost == {True: 4}


def test_a_flow_that_is_forgotten_is_lost_both_ways() -> None:
    box = box_with(Rule(action=Action.FORGET, onward=True, kind=Kind.SYN))
    there = segment()
    back = changed(there, src=there.dst, dst=there.src, sport=there.dport, dport=there.sport)
    assert box.from_server(back.to_bytes(), 0.0)
    assert not box.from_client(there.to_bytes(), 0.0)
    assert not box.from_server(back.to_bytes(), 0.0)
    assert box.from_client(segment(sport=9, flags=ACK).to_bytes(), 0.0)


@pytest.mark.parametrize("icmp", [True, False])
def test_an_answer_goes_back_in_place_of_the_packet(icmp: bool) -> None:
    box = box_with(Rule(action=Action.ANSWER, onward=True, kind=Kind.SYN, icmp=icmp))
    (answer,) = box.from_client(segment().to_bytes(), 0.0)
    assert not answer.onward
    assert (box.deeds.lost[True], box.deeds.invented[False]) == (1, 1)
    if not icmp:
        rst = Segment.from_bytes(answer.packet)
        assert rst.is_rst
        assert rst.ack == segment().end


def test_what_does_not_change_a_packet_is_no_deed() -> None:
    rule = Rule(action=Action.CHANGE, onward=True, kind=Kind.ANY, change="the data")
    box = box_with(rule)
    box.from_client(segment(flags=SYN).to_bytes(), 0.0)
    assert box.deeds.none
    box.from_client(segment(payload=b"text").to_bytes(), 0.0)
    assert not box.deeds.none


def test_a_box_is_named_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "sim:fuzzed-15", "-4"]) == 1
    assert "loses-ack (towards the client): " in capsys.readouterr().out
