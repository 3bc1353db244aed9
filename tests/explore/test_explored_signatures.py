"""Connections whose segments are signed, in an exploration."""

from __future__ import annotations

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.judging.clauses import clause_of
from scapy_tfo.explore.signatures import RULES, unsigned
from scapy_tfo.explore.walk import Mistaken
from scapy_tfo.segment import Segment
from scapy_tfo.variants.registry import named

WRONG, FORGED, REFUSED, LOST = RULES


def found_at(name: str) -> Mistaken | None:
    stack, profile = named(name), SimulatedBench(f"sim:{name}").profile
    return unsigned(lambda number: World(stack, profile, number))


@pytest.mark.parametrize(
    ("name", "rule", "clause"),
    [
        ("signs-before-the-push", WRONG, "ACC-9"),
        ("checks-the-signature-of-syns-alone", FORGED, "ACC-14"),
        ("looks-at-the-cookie-before-the-signature", FORGED, "ACC-14"),
        ("cuts-cookies-beside-signatures", REFUSED, "SRV-8"),
        ("first-byte-is-lost", LOST, "TCP-ACK-3"),
    ],
)
def test_what_is_wrong_beside_signatures_is_found(name: str, rule: str, clause: str) -> None:
    found = found_at(name)
    assert found is not None
    assert (found.problem.rule, clause_of(rule)) == (rule, clause)
    assert any(Segment.read_back(each.data).is_syn_ack for each in found.packets)


@pytest.mark.parametrize(
    "name",
    [
        *("reference", "drops-signed-syns", "drops-authenticated-syns", "answers-slowly"),
        *("cookies-of-sixteen", "cookies-for-a-minute", "syn-ack-of-no-window"),
        *("drops-acks-while-none-is-accepted", "variants-row-3", "variants-row-28"),
    ],
)
def test_a_stack_that_uses_its_freedoms_is_not_blamed(name: str) -> None:
    assert found_at(name) is None
