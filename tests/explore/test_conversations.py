"""Conversations that are explored: what right and wrong stacks make of them."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

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
    Wrong,
)
from scapy_tfo.explore.conversation.world import TARGETS, World
from scapy_tfo.explore.conversation.wrong import KINDS, Situation
from scapy_tfo.mutants.registry import Mutant
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import FIN, Segment
from scapy_tfo.variants.registry import named, stack_of


@functools.cache
def profile_of(name: str) -> Profile:
    return SimulatedBench(f"sim:{name}").profile


def played(name: str, schedule: Schedule, **options: bool) -> Run:
    return Play(World(named(name), profile_of(name)), schedule, **options).play()


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
    assert rules(run)[0] == "refused-text-acknowledged"


def test_a_reset_is_no_reason_to_deliver_other_bytes() -> None:
    run = played("reference", Schedule("good", "echo", "write-abort:100"))
    assert rules(run) == []
    run.server.received[0] ^= 1
    assert rules(run) == ["text-changed"]


def test_data_of_a_refused_syn_that_comes_back_with_a_bare_ack_is_found() -> None:
    schedule = Schedule("refused", "mute", "write:100", wrong=Wrong("bare-ack", 2))
    assert rules(played("ack-brings-refused-data-back", schedule)) == ["refused-data-taken"]
    assert rules(played("reference", schedule)) == []


def test_an_acknowledgement_that_waits_for_the_next_segment_is_found() -> None:
    schedule = Schedule("plain", "mute", "write-rest:100")
    assert rules(played("acknowledges-text-of-the-ack-late", schedule)) == ["ack-late"]
    assert rules(played("acks-wait-490-ms", schedule)) == []


def test_a_cookie_beside_other_options_is_found() -> None:
    schedule = Schedule("beside:12", "echo", "write:100")
    assert rules(played("connection-count-hides-fast-open", schedule)) == ["fast-open-refused"]
    assert rules(played("reference", schedule)) == []


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_wrong_segment_changes_nothing(kind: str) -> None:
    base = Schedule("good", "echo", "two-writes:100")
    passed = played("reference", base).passed
    for after in range(0, passed + 1, 2):
        run = played("reference", replace(base, wrong=Wrong(kind, after)))
        assert rules(run) == []
        if not run.excuse:
            assert len(run.server.received) == 200


def test_a_reset_with_the_number_that_is_expected_has_to_be_believed() -> None:
    schedule = Schedule("plain", "echo", "write-rest:100", wrong=Wrong("rst-exact", 4))
    run = played("reference", schedule)
    assert run.killed
    assert run.server.error == "ECONNRESET"
    assert rules(run) == []


def test_an_error_about_a_fast_open_that_was_never_sent_is_no_reason_to_end_it() -> None:
    schedule = Schedule("good", "echo", "write:100", wrong=Wrong("host-unreachable", 5))
    assert played("reference", schedule).excuse == ""
    assert rules(played("reference", schedule)) == []


def made(stack: type[Stack]) -> Mutant:
    return Mutant(
        name=stack.__name__, breaks="AFT-8", description="", stack=stack, settings=Settings()
    )


class Muted(PassiveConnection):
    """A hard error leaves the connection open, and stops it."""

    stopped = False

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=False, now=now)
        self.stopped = self.stopped or hard

    def may_send_data(self) -> bool:
        return not self.stopped and super().may_send_data()


def test_what_may_end_a_connection_is_no_reason_to_keep_it_and_do_less() -> None:
    stack = made(stack_of((Muted,)))
    schedule = Schedule("plain", "send:3000", "write:100", wrong=Wrong("port-unreachable", 4))
    run = Play(World(stack, profile_of("reference")), schedule).play()
    assert rules(run) == ["answer-without-end"]
    assert rules(played("reference", schedule)) == []


class Late(Stack):
    """Looks at each SYN after 1.05 seconds."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.put_off: list[tuple[float, bytes]] = []

    def receive(self, packet: bytes, now: float) -> None:
        if Segment.from_bytes(packet).is_syn:
            self.put_off.append((now + 1.05, packet))
        else:
            super().receive(packet, now)

    def deadline(self) -> float | None:
        due = [when for when, _ in self.put_off[:1]]
        other = super().deadline()
        return min((*due, *(() if other is None else (other,))), default=None)

    def on_timer(self, now: float) -> None:
        while self.put_off and self.put_off[0][0] <= now:
            super().receive(self.put_off.pop(0)[1], now)
        super().on_timer(now)


def test_a_stack_that_always_takes_a_second_for_a_syn_is_not_blamed() -> None:
    stack = made(Late)
    run = Play(World(stack, profile_of("reference")), Schedule("plain"), keep=True).play()
    syns = [each.at for each in run.trace if Segment.from_bytes(each.data).is_syn]
    assert len(syns) == 2
    assert len(run.client.received) == 100
    assert rules(run) == []


def test_an_empty_segment_behind_a_lost_fin_resets_nothing() -> None:
    """A host that resets on text after its application closed has seen none."""
    faults = (Fault(False, 1, LOST), Fault(False, 2, DOUBLED), Fault(True, 2, LOST))
    schedule = Schedule("good", "two-sends:50", "write-close:100", faults=faults)
    assert rules(played("variants-row-2", schedule)) == []


@pytest.mark.parametrize(
    "schedule",
    [
        # The FIN and the text before it have one timestamp: the echo may be of either.
        Schedule("plain", "mute", "two-writes:100", faults=(Fault(True, 2, SWAPPED),)),
        # A FIN below what comes next ends nothing; the one behind it does.
        *(Schedule("good", "echo", "write-end:100", wrong=Wrong("fin-below", at)) for at in (2, 3)),
        # The number behind text without ACK is that of the FIN.
        *(Schedule("plain", "mute", "write:100", wrong=Wrong("no-flags", at)) for at in (3, 4)),
    ],
    ids=str,
)
def test_what_a_right_stack_does_is_not_blamed(schedule: Schedule) -> None:
    assert rules(played("reference", schedule)) == []


def checksum_of(segment: Segment) -> int:
    return int.from_bytes(segment.to_bytes()[36:38], "big")


@pytest.mark.parametrize("kind", ["text-checksum-0", "text-checksum-65535"])
def test_a_wrong_checksum_is_wrong_whatever_the_right_one_is(kind: str) -> None:
    """0 and 0xFFFF are one number in one's complement: a segment with either may be right."""
    target = next(iter(TARGETS.values()))
    now = Situation(target, target, 40000, 10001, isn=7, cookie=b"", iss=9, awaits=1 << 16)
    made = KINDS[kind].make(now)
    assert isinstance(made, Segment)
    assert checksum_of(made) in (0, 0xFFFF)
    # The checksum is as much less as the number is more.
    now.awaits += checksum_of(replace(made, checksum=None))
    made = KINDS[kind].make(now)
    assert isinstance(made, Segment)
    assert checksum_of(replace(made, checksum=None)) in (0, 0xFFFF)
    assert checksum_of(made) not in (0, 0xFFFF)
