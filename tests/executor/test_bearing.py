"""A target of others is given as many programs as it bears, and not blamed while it is full."""

from __future__ import annotations

from collections import deque

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.live.bearing import LONGEST, Again, Bearing
from scapy_tfo.executor.live.health import Health
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Flow, Program, Send, Wait

PROGRAM = Program((Flow(),), (Send(0, "S"), Wait()))
WRONG = Verdict(violations=(Violation("ACC-2", "rule", "LISTEN", "none", 0, 0, "a", "nothing"),))
ANSWERED, SILENT = Verdict(heard=1), Verdict(violations=WRONG.violations)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run_for(bearing: Bearing, clock: Clock, seconds: float, offered: float) -> int:
    """Programs that begin while so many a second are offered."""
    begun, until = 0, clock.now + seconds
    while clock.now < until:
        if bearing.may_begin():
            bearing.begun()
            begun += 1
        clock.now += 1 / offered
    return begun


def test_a_target_that_answers_is_never_held_back(clock: Clock) -> None:
    bearing = Bearing(clock)
    assert run_for(bearing, clock, 10, offered=200) >= 1999
    assert bearing.told_in_words() == ""


def test_no_control_is_sent_while_nothing_went_wrong(clock: Clock) -> None:
    bearing = Bearing(clock)
    assert not bearing.wants_control()
    bearing.doubtful.append((1, PROGRAM, WRONG))
    assert bearing.wants_control()
    assert not bearing.wants_control()


def test_what_went_wrong_is_handed_back_with_the_answer_to_the_control(clock: Clock) -> None:
    bearing = Bearing(clock)
    bearing.doubtful.append((1, PROGRAM, WRONG))
    bearing.wants_control()
    assert bearing.told(answered=False) == [(1, PROGRAM, WRONG)]
    assert not bearing.may_begin()
    # The next control is not sent at once, and a campaign that begins anew forgets it.
    assert not bearing.wants_control()
    clock.now += 1
    assert bearing.wants_control()
    assert bearing.told(answered=True) == []
    assert bearing.may_begin()
    assert bearing.waited == pytest.approx(1)


def test_half_as_many_begin_afterwards_and_more_by_and_by(clock: Clock) -> None:
    bearing = Bearing(clock)
    run_for(bearing, clock, 10, offered=100)
    bearing.is_full()
    clock.now += 3
    bearing.has_room()
    first = run_for(bearing, clock, 5, offered=1000)
    assert first / 5 == pytest.approx(56, abs=16)
    later = run_for(bearing, clock, 5, offered=1000)
    assert later > first
    assert "1 time(s), for 3 s in all" in bearing.told_in_words()
    assert "with 50 programs a second at the least" in bearing.told_in_words()


def test_one_that_is_full_again_and_again_still_gets_some(clock: Clock) -> None:
    bearing = Bearing(clock)
    for _ in range(20):
        bearing.is_full()
        clock.now += 1
        bearing.has_room()
        assert run_for(bearing, clock, 2, offered=1000) >= 2


def test_one_that_is_full_for_longer_than_syn_acks_are_repeated_is_gone(clock: Clock) -> None:
    bearing = Bearing(clock)
    bearing.is_full()
    clock.now += LONGEST - 1
    bearing.check("it")
    clock.now += 2
    with pytest.raises(TargetError, match="it has answered no control handshake for 140 s"):
        bearing.check("it")


def test_a_run_that_was_broken_off_leaves_no_control_to_wait_for(clock: Clock) -> None:
    bearing = Bearing(clock)
    bearing.doubtful.append((1, PROGRAM, WRONG))
    assert bearing.wants_control()
    bearing.begin()
    assert not bearing.doubtful
    bearing.doubtful.append((2, PROGRAM, WRONG))
    assert bearing.wants_control()


def test_what_went_wrong_is_believed_the_second_time() -> None:
    waiting: deque[tuple[int, Program]] = deque()
    again = Again(waiting)
    assert not again.believes(7, PROGRAM, WRONG)
    assert list(waiting) == [(7, PROGRAM)]
    assert again.believes(7, PROGRAM, WRONG)
    assert again.believes(8, PROGRAM, ANSWERED)
    assert (again.begun, again.excused) == (1, 0)


def test_what_passes_the_second_time_is_excused() -> None:
    again = Again(deque())
    again.believes(7, PROGRAM, WRONG)
    assert again.believes(7, PROGRAM, ANSWERED)
    assert (again.begun, again.excused) == (1, 1)


def test_a_full_target_is_alive_once_it_has_room(clock: Clock) -> None:
    """Half-open connections are held for 127 s; a control is tried three times, 1.2 s each."""
    tries = 0

    def run(_: Program) -> Verdict:
        nonlocal tries
        tries += 1
        clock.now += 1.2
        return ANSWERED if clock.now > 227 else SILENT

    bearing = Bearing(clock)
    assert Health(run, lambda: "", bearing).ill((4,), fast_open=False) == ""
    assert tries > 100
    assert bearing.may_begin()


def test_a_target_that_stays_silent_is_dead(clock: Clock) -> None:
    def run(_: Program) -> Verdict:
        clock.now += 1.2
        return SILENT

    health = Health(run, lambda: "", Bearing(clock))
    assert health.ill((4,), fast_open=False).startswith("a control handshake over IPv4 fails")


@pytest.mark.parametrize("inside", ["its process has ended", ""])
def test_a_target_of_ours_and_one_known_to_be_dead_are_not_waited_for(inside: str) -> None:
    tries = 0

    def run(_: Program) -> Verdict:
        nonlocal tries
        tries += 1
        return SILENT

    bearing = Bearing() if inside else None
    assert Health(run, lambda: inside, bearing).ill((4,), fast_open=False)
    assert tries == 3
