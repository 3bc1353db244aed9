"""The number of fast opens pending at a small listener, as far as it can be known."""

from __future__ import annotations

from scapy_tfo.oracle.parts.pending import Vacancy
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.program.cookies import Jar
from tests.oracle.conversations import GOOD, Conversation, crowd

FULL, FREE, UNSURE = Vacancy.FULL, Vacancy.FREE, Vacancy.UNSURE


def test_as_many_as_the_limit_fill_it() -> None:
    room, links = crowd(5)
    for each in links[:4]:
        assert room.vacancy(0.0) is FREE
        each.syn(size=20, options=GOOD).answered(taken=20)
    assert room.vacancy(0.0) is FULL


def test_cookies_without_data_may_count_or_not() -> None:
    room, links = crowd(4)
    for each in links:
        each.syn(options=GOOD).answered()
    assert room.vacancy(0.0) is UNSURE


def test_the_ack_gives_the_place_back() -> None:
    room, links = crowd(4)
    for each in links:
        each.syn(size=20, options=GOOD).answered(taken=20)
    links[0].send(".", 21, "all")
    assert room.vacancy(0.0) is FREE


def test_a_reset_counts_for_a_minute() -> None:
    room, links = crowd(4)
    for each in links:
        each.syn(size=20, options=GOOD).answered(taken=20)
    links[0].at(10.0).send("R", 21)
    assert room.vacancy(10.0) is FULL
    assert room.vacancy(64.0) is FULL
    assert room.vacancy(70.0) is UNSURE
    assert room.vacancy(76.0) is FREE


def test_a_reset_counts_on_when_its_ports_are_used_again() -> None:
    room, links = crowd(4)
    for each in links:
        each.syn(size=20, options=GOOD).answered(taken=20)
    links[0].at(10.0).send("R", 21).syn(21).answered()
    assert room.vacancy(20.0) is FULL
    assert room.vacancy(76.0) is FREE


def test_what_was_refused_takes_no_place() -> None:
    room, links = crowd(5)
    for each in links:
        each.syn(size=20).answered()
    assert room.vacancy(0.0) is FREE


def test_without_a_syn_ack_nothing_is_sure() -> None:
    room, links = crowd(5)
    for each in links:
        each.syn(size=20, options=GOOD)
    assert room.vacancy(0.0) is UNSURE


def test_a_syn_behind_one_that_was_perhaps_dropped_may_take_a_place() -> None:
    room, links = crowd(5)
    for each in links[:3]:
        each.syn(size=20, options=GOOD).answered(taken=20)
    links[3].send("SF", 0).syn(options=GOOD)
    assert room.vacancy(0.0) is UNSURE
    assert links[4].syn(size=20, options=GOOD).owed == ("no-syn-ack", "LIM-1")
    rule = links[4].link.handshake.rule
    assert rule is not None
    assert (rule.least, rule.most) == (0, 20)


def test_others_may_take_up_the_room() -> None:
    room, links = crowd(1, alone=False)
    assert room.vacancy(0.0) is UNSURE
    links[0].syn(size=20, options=GOOD).answered(taken=20)
    assert room.vacancy(0.0) is UNSURE


def test_nobody_waits_for_ever() -> None:
    room, links = crowd(4)
    for each in links:
        each.syn(size=20, options=GOOD).answered(taken=20)
    assert room.vacancy(100.0) is FULL
    assert room.vacancy(200.0) is FREE


def test_clauses_by_what_happened() -> None:
    room, links = crowd(4)
    for each in links:
        each.syn(size=20, options=GOOD).answered(taken=20)
    assert (room.taken_clause(), room.refused_clause(0.0)) == ("LIM-1", "LIM-1")
    assert room.refused_clause(100.0) == "AFT-10"
    links[0].send(".", 21, "all")
    assert room.refused_clause(0.0) == "LIM-3"
    links[1].send("R", 21)
    assert room.taken_clause() == "LIM-2"
    links[1].send(".", 21, "all")
    links[0].send(".", 21, "all")
    assert room.taken_clause() == "LIM-7"


def test_beyond_the_limit_no_text_is_taken() -> None:
    _, links = crowd(5)
    for each in links[:4]:
        each.syn(size=20, options=GOOD).answered(taken=20)
    last = links[4].syn(size=20, options=GOOD)
    assert last.link.handshake.rule is not None
    assert (last.link.handshake.rule.most, last.link.handshake.rule.taken) == (0, "LIM-1")


def test_a_listener_with_room_has_no_account() -> None:
    link = Conversation(Jar(), Profile()).link
    assert link.room is None


def test_a_crowd_is_one_before_it_is_sure() -> None:
    room, links = crowd(6)
    for each in links[:4]:
        assert not room.is_crowded(0.0)
        each.syn(size=20, options=GOOD)
    assert room.is_crowded(0.0)
    assert links[4].syn(size=20, options=GOOD).owed == ("no-syn-ack", "LIM-1")
    assert links[5].syn().owed == ("no-syn-ack", "LIM-4")


def test_whoever_comes_over_the_limit_is_served() -> None:
    _, links = crowd(5)
    for each in links[:4]:
        each.syn(size=20, options=GOOD).answered(taken=20)
    last = links[4].syn().answered().send("P.", 1, 1, 10)
    assert last.owed == ("no-ack", "AFT-1")
    last.came(".", 1, 11)
    assert last.owed == ("no-text", "AFT-1")
