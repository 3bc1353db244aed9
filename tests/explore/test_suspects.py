"""What went wrong among many, and by which causes it is played again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import Schedule, Wrong
from scapy_tfo.explore.explorer import first_of
from scapy_tfo.explore.live.engine import FEW, Engine
from scapy_tfo.explore.live.opened import open_site
from scapy_tfo.explore.live.play import CALM
from scapy_tfo.explore.live.site import Site
from scapy_tfo.explore.live.suspects import CONFIRMED, TIMES, Suspects
from scapy_tfo.targets.reached import Reach

CUT = Schedule("cut:1", "echo", "write:100")
KINDS = ("text-below", "bare-ack", "urg-push")
NOT_WRONG = Schedule("plain", "echo", "write:100", wrong=Wrong("bare-ack", 3))
COOKIE = Problem("option-unasked", 1, "", "")


@pytest.fixture(scope="module")
def wrong_stack() -> Iterator[Site]:
    """It takes an option of length 3 for a request."""
    try:
        site = open_site(Reach(target="lab:length3-is-a-request"))
    except SetupError as error:
        pytest.skip(str(error))
    yield site
    site.close()


def suspected(site: Site) -> Suspects:
    """What a wrong stack does with an option that is cut, beside each of some wrong segments."""
    suspects = Suspects()
    some = [replace(CUT, wrong=Wrong(kind, 1)) for kind in KINDS]
    for play in Engine(site).run([*some, CUT], CALM, most=FEW):
        suspects.add(first_of(judged(play.run)), play.schedule)
    return suspects


def test_what_needs_no_wrong_segment_is_one_finding(wrong_stack: Site) -> None:
    suspects = suspected(wrong_stack)
    assert suspects.bare() == [CUT] * CONFIRMED
    for play in Engine(wrong_stack).run(suspects.bare(), CALM, most=FEW):
        suspects.needs_none(play.schedule, judged(play.run))
    again = suspects.again(60)
    for play in Engine(wrong_stack).run(again.schedules(), CALM, most=FEW, keep=True):
        again.played(play, judged(play.run))
    (found,) = again.confirmed
    assert (found.schedule, found.problem.rule) == (CUT, "option-unasked")
    assert (found.count, again.begun, again.excused, again.undecided) == (len(KINDS) + 1, 1, 0, 0)


def test_what_shows_once_is_no_reason_to_join_causes(wrong_stack: Site) -> None:
    suspects = suspected(wrong_stack)
    suspects.needs_none(CUT, [COOKIE])
    assert len(dict.fromkeys(suspects.again(60).schedules())) == len(KINDS) + 1


def test_what_is_right_each_time_is_excused_and_played_no_more(wrong_stack: Site) -> None:
    suspects = Suspects()
    suspects.add(Problem("answer-missing", -1, "", ""), NOT_WRONG)
    again = suspects.again(60)
    plays = 0
    for play in Engine(wrong_stack).run(again.schedules(), CALM, most=1, keep=True):
        assert judged(play.run) == []
        again.played(play, [])
        plays += 1
    assert TIMES - CONFIRMED < plays <= TIMES
    assert (again.confirmed, again.excused, again.undecided) == ([], 1, 0)


def test_without_time_nothing_is_believed_and_nothing_excused() -> None:
    suspects = Suspects()
    suspects.add(COOKIE, CUT)
    again = suspects.again(0)
    assert list(again.schedules()) == []
    assert (again.confirmed, again.begun, again.excused, again.undecided) == ([], 0, 0, 1)
