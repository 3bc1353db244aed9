"""What becomes of connections that wait until the application accepts them."""

from __future__ import annotations

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.accepting import RULES, unaccepted
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.judging.clauses import clause_of
from scapy_tfo.segment import Segment
from scapy_tfo.variants.registry import named

LOST, WRONG, FOR_EVER = RULES


def found_at(name: str) -> list[str]:
    stack, profile = named(name), SimulatedBench(f"sim:{name}").profile
    found = unaccepted(lambda number: World(stack, profile, number))
    return [] if found is None else [found.problem.rule]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("never-hands-over-without-room", FOR_EVER),
        ("never-ends-handshakes-that-found-no-room", FOR_EVER),
        ("closed-port-keeps-its-listener", LOST),
        ("delivers-text-of-the-ack-twice", WRONG),
        ("later-data-comes-first", WRONG),
    ],
)
def test_what_a_stack_does_wrong_while_connections_wait_is_found(name: str, rule: str) -> None:
    assert found_at(name) == [rule]


@pytest.mark.parametrize(
    "name",
    [
        *("reference", "drops-acks-while-none-is-accepted", "resets-while-none-is-accepted"),
        *("another-listener-takes-over", "syn-cookies-always", "answers-after-the-handshake"),
        *("variants-row-2", "variants-row-17", "variants-row-40"),
    ],
)
def test_a_stack_without_room_may_drop_or_reset_or_fall_back(name: str) -> None:
    assert found_at(name) == []


def test_an_exploration_tells_of_it_with_the_packets() -> None:
    explorer = Explorer("never-hands-over-without-room")
    explorer.try_listeners()
    found = explorer.result.found[FOR_EVER]
    assert clause_of(FOR_EVER) == "AFT-11"
    assert "there is room" in found.problem.expected
    segments = [Segment.read_back(each.data) for each in found.packets]
    assert sum(each.is_syn_ack for each in segments) > 1
    _, problems = explorer.replay(found.schedule, found.before)
    assert FOR_EVER in [each.rule for each in problems]
