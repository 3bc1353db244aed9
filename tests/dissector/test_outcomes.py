"""The outcome of a connection, read from its packets in every way to read a capture."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crafted import ANOTHER, COOKIE, DATA, Talk, talk, write
from readings import OUT_OF_ORDER, PASSES, outcomes
from tshark import connections, needs_tshark

pytestmark = needs_tshark

ALL = len(DATA)


def requested_granted(talk: Talk) -> None:
    talk.syn(b"")
    talk.syn_ack(0, COOKIE)
    talk.data(DATA)
    talk.answer()


def requested_not_granted(talk: Talk) -> None:
    talk.syn(b"")
    talk.syn_ack()
    talk.data(DATA)


def accepted(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    talk.data(at=ALL)
    talk.answer()


def accepted_partially(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(7)
    talk.data(DATA[7:], 7)
    talk.answer()


def over_acknowledged(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL + 5)


def refused_cookie(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(0, ANOTHER)
    talk.data(DATA)
    talk.answer()


def refused_cookie_without_data(talk: Talk) -> None:
    talk.syn(COOKIE)
    talk.syn_ack(0, ANOTHER)


def refused_silently(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack()
    talk.data(DATA)
    talk.answer()


def syn_lost(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)


def syn_lost_and_sent_as_it_was(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)


def syn_ack_lost(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()
    talk.syn_ack(ALL)


def syn_ack_lost_behind_us(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack()
    talk.wait()
    talk.syn()
    talk.syn_ack()
    talk.data(DATA)


def cookieless_accepted(talk: Talk) -> None:
    talk.syn(None, DATA)
    talk.syn_ack(ALL)
    talk.answer()


def cookieless_refused(talk: Talk) -> None:
    talk.syn(b"", DATA)
    talk.syn_ack(0, COOKIE)
    talk.data(DATA)


def replayed(talk: Talk) -> None:
    accepted(talk)
    talk.wait()
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL, isn=90_000)


def answered_twice(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(ALL)
    talk.answer(isn=60_000)


OUTCOMES: dict[str, tuple[Callable[[Talk], None], ...]] = {
    "requested-granted": (requested_granted,),
    "requested-not-granted": (requested_not_granted,),
    "accepted": (accepted,),
    "accepted-partially": (accepted_partially,),
    "over-acknowledged": (over_acknowledged,),
    "refused-cookie": (refused_cookie, refused_cookie_without_data),
    "refused-silently": (refused_silently,),
    "syn-lost-fallback": (syn_lost, syn_lost_and_sent_as_it_was),
    "syn-ack-lost": (syn_ack_lost, syn_ack_lost_behind_us),
    "cookieless-accepted": (cookieless_accepted,),
    "cookieless-refused": (cookieless_refused,),
    "replayed": (replayed, answered_twice),
}


def nobody_answers(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)


def nobody_answers_twice(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.wait()
    talk.syn()


def rst_answers(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.reset()


def begins_late(talk: Talk) -> None:
    talk.syn_ack(0, COOKIE)
    talk.data(DATA)


def one_direction(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.data(b"more", ALL)


def syn_ack_missing(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.answer()


def nothing_to_judge(talk: Talk) -> None:
    talk.syn(COOKIE)
    talk.syn_ack()


def of_another_syn(talk: Talk) -> None:
    talk.syn(COOKIE, DATA)
    talk.syn_ack(-500)


def nobody_asked(talk: Talk) -> None:
    talk.syn()
    talk.syn_ack(0, COOKIE)


UNKNOWN = {
    nobody_answers: "no answer to the SYN",
    nobody_answers_twice: "no answer to the SYN, nor to the next",
    rst_answers: "answered by RST",
    begins_late: "the capture begins after the SYN",
    one_direction: "one direction only: nothing from the server; "
    "the client went on behind the SYN's data",
    syn_ack_missing: "a frame is missing before 2: the SYN-ACK",
    nothing_to_judge: "a cookie but no data to judge",
    of_another_syn: "the SYN-ACK acknowledges another SYN",
    nobody_asked: "a cookie that nobody asked for",
}

WANTED = [(tell, outcome) for outcome, all_of_it in OUTCOMES.items() for tell in all_of_it]
WANTED += [(tell, "unknown") for tell in UNKNOWN]


@pytest.fixture(scope="module", params=[4, 6], ids=["ipv4", "ipv6"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each conversation by its own port, all at the same time."""
    talks = []
    for number, (tell, _) in enumerate(WANTED):
        made = Talk(sport=40000 + number, family=request.param, when=1_700_000_000 + number / 1000)
        tell(made)
        talks.append(made)
    return write(tmp_path_factory.mktemp("outcomes") / "all.pcapng", talks)


@pytest.mark.parametrize("mode", [*PASSES, OUT_OF_ORDER])
def test_each_outcome_is_told(capture: Path, mode: str) -> None:
    if mode == OUT_OF_ORDER and shutil.which("sharkd") is None:
        pytest.skip("sharkd is not installed: apt-get install wireshark-common")
    found = outcomes(capture, mode)
    assert {
        tell.__name__: found.get(40000 + number) for number, (tell, _) in enumerate(WANTED)
    } == {tell.__name__: outcome for tell, outcome in WANTED}


def test_none_stands_on_connections_that_have_nothing_to_do_with_it(tmp_path: Path) -> None:
    plain = Talk()
    plain.syn()
    plain.syn_ack()
    plain.data(DATA)
    plain.answer()
    assert connections(write(tmp_path / "plain.pcapng", [plain])) == []


@pytest.mark.parametrize("tell", UNKNOWN, ids=lambda each: each.__name__)
def test_what_is_missing_is_said(tell: Callable[[Talk], None], tmp_path: Path) -> None:
    made = Talk()
    tell(made)
    (found,) = connections(write(tmp_path / "one.pcapng", [made]))
    assert found["why"] == UNKNOWN[tell]


def one(tell: Callable[[Talk], None], tmp_path: Path, **known: object) -> dict[str, object]:
    made = talk(tell, **known)
    (found,) = connections(write(tmp_path / "one.pcapng", [made]))
    return found


class TestWhatItCost:
    def test_data_that_is_accepted_saves_a_round_trip(self, tmp_path: Path) -> None:
        found = one(accepted, tmp_path, hops=(64, 57))
        assert (found["sent"], found["acked"], found["resent"]) == (ALL, ALL, 0)
        assert found["round_trips"] == 1
        assert found["rtt"] == pytest.approx(0.02, abs=1e-5)
        assert found["first_answer"] == pytest.approx(0.06, abs=1e-5)
        assert found["frames"] == [1, 2]

    def test_what_is_refused_is_sent_again(self, tmp_path: Path) -> None:
        found = one(refused_silently, tmp_path)
        assert (found["acked"], found["resent"], found["round_trips"]) == (0, ALL, 0)
        assert found["frames"] == [1, 2, 3]

    def test_only_the_rest_is_sent_again_after_a_part(self, tmp_path: Path) -> None:
        found = one(accepted_partially, tmp_path)
        assert (found["acked"], found["resent"]) == (7, ALL - 7)

    def test_a_lost_syn_costs_one_and_the_time_counts_from_the_next(self, tmp_path: Path) -> None:
        found = one(syn_lost, tmp_path, hops=(64, 57))
        assert found["round_trips"] == -1
        assert found["rtt"] == pytest.approx(0.02, abs=1e-5)
        assert "after 1.000 s, plain" in str(found["why"])

    def test_a_lost_syn_ack_says_that_the_data_was_accepted(self, tmp_path: Path) -> None:
        found = one(syn_ack_lost, tmp_path)
        assert found["round_trips"] == 0
        assert str(found["why"]).endswith("its data was accepted")


def test_a_new_connection_on_the_same_ports_is_judged_by_itself(tmp_path: Path) -> None:
    first, second = Talk(), Talk(when=1_700_000_100.0)
    accepted(first)
    first.close()
    second.say(True, 2, 5000, 0, b"", b"")
    second.say(False, 18, 6000, 5001, b"", b"")
    found = connections(write(tmp_path / "two.pcapng", [first, second]))
    assert [each["outcome"] for each in found] == ["accepted"]
