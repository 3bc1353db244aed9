"""Conversations that are explored: what right and wrong stacks make of them."""

from __future__ import annotations

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import (
    CORRUPTED,
    DELAYED,
    DOUBLED,
    LOST,
    SWAPPED,
    Fault,
    Schedule,
)
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.segment import FIN, Segment
from scapy_tfo.variants.registry import named


def played(name: str, schedule: Schedule, **options: bool) -> Run:
    profile = SimulatedBench(f"sim:{name}").profile
    return Play(World(named(name), profile), schedule, **options).play()


def rules(run: Run) -> list[str]:
    return [each.rule for each in judged(run)]


@pytest.mark.parametrize("opening", ["plain", "request", "good", "refused", "old-key"])
def test_an_echo_gives_back_all_whatever_opens_the_connection(opening: str) -> None:
    run = played("reference", Schedule(opening, "echo", "two-writes:100"))
    assert bytes(run.server.received) == bytes(run.client.wrote)
    assert bytes(run.client.received) == bytes(run.client.wrote)
    assert len(run.client.wrote) == 200
    assert rules(run) == []


@pytest.mark.parametrize("kind", [LOST, DOUBLED, SWAPPED, DELAYED, CORRUPTED])
@pytest.mark.parametrize("to_target", [True, False])
@pytest.mark.parametrize("index", range(4))
def test_one_fault_costs_time_and_no_text(kind: str, to_target: bool, index: int) -> None:
    schedule = Schedule("good", "think:20", "write:100", faults=(Fault(to_target, index, kind),))
    run = played("reference", schedule)
    assert bytes(run.client.received) == bytes(run.client.wrote)
    assert rules(run) == []


def test_lost_text_is_sent_again() -> None:
    whole = played("reference", Schedule("plain", "echo", "write:100"), keep=True)
    ours = [Segment.from_bytes(each.data) for each in whole.trace if each.to_target]
    index = next(number for number, each in enumerate(ours) if each.payload)
    schedule = Schedule("plain", "echo", "write:100", faults=(Fault(True, index, LOST),))
    run = played("reference", schedule, keep=True)
    sent = [Segment.from_bytes(each.data) for each in run.trace if each.to_target]
    assert [each.payload for each in sent].count(ours[index].payload) == 2
    assert run.seconds > whole.seconds


def test_a_fin_that_is_never_sent_again_is_found() -> None:
    schedule = Schedule("good", "half-close:100", "two-writes:100", faults=(Fault(False, 2, LOST),))
    run = played("crossing-fins-stop-the-timer", schedule, keep=True)
    lost = [Segment.from_bytes(each.data) for each in run.trace if each.fate]
    assert [bool(each.flags & FIN) for each in lost] == [True]
    assert rules(run) == ["answer-without-end"]
    assert rules(played("reference", schedule)) == []


def test_data_that_waits_for_the_application_is_no_loss() -> None:
    run = played("answers-slowly", Schedule("request", "half-close:100", "write:100"))
    assert rules(run) == []
    assert len(run.server.received) == 100


def test_data_taken_with_a_wrong_cookie_is_found() -> None:
    run = played("accepts-any-cookie", Schedule("refused", "echo", "write:100"))
    assert rules(run)[0] == "syn-ack-number"


def test_a_reset_is_no_reason_to_deliver_other_bytes() -> None:
    run = played("reference", Schedule("good", "echo", "write-abort:100"))
    assert rules(run) == []
    run.server.received[0] ^= 1
    assert rules(run) == ["text-changed"]
