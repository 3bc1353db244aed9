"""Clients with habits of their own are judged fairly: none is blamed for what servers did."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from scapy_tfo import spec
from scapy_tfo.clients.command import CommandClient, commands
from scapy_tfo.clients.connection import NO_DATA
from scapy_tfo.clients.environment import Namespace
from scapy_tfo.clients.judge import Options, judge
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.server import NOT_ENDING, NOT_TOLD, UNSERVED
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.errors import SetupError
from scapy_tfo.suite.outcome import Failed, judging
from scapy_tfo.suite.registry import select
from scapy_tfo.suite.result import Level, Result, Run, Verdict

PROGRAM = str(Path(__file__).with_name("strange_client.py"))

TAKES_A_PART = (
    "CLI-15.only-the-rest-of-partly-taken-data-is-sent-again",
    "CLI-19.data-in-a-syn-ack-that-takes-a-part",
    "CLI-23.the-rest-of-a-part-is-lost-and-comes-again",
)
"""Cases in which a part of the SYN's data is acknowledged."""


def judged(way: str, *only: str, **options: bool) -> Run:
    words = [sys.executable, PROGRAM, way, "{host}", "{port}"]
    words += [] if way == "short" else ["{file}"]
    try:
        client = CommandClient(commands(words), Namespace())
    except SetupError as error:
        pytest.skip(str(error))
    chosen = Options(families=(4,), **options)
    try:
        return asyncio.run(judge(client, select(all_cases(), only), spec.load(), chosen))
    finally:
        client.close()


def failed(run: Run) -> list[Result]:
    return [each for each in run.results if each.verdict is Verdict.FAIL]


def test_a_short_request_is_acknowledged_no_further_than_it_went() -> None:
    run = judged("short", *TAKES_A_PART)
    assert [each.verdict for each in run.results] == [Verdict.PASS] * 3


@pytest.mark.parametrize("name", ["eighteen-bytes-in-the-syn", "five-hundred-bytes-in-the-syn"])
def test_a_client_with_little_in_its_syn_is_not_blamed(name: str) -> None:
    run = simulate(f"sim:{name}", all_cases(), spec.load(), Options(slow=True, families=(4,)))
    assert not failed(run)


@pytest.mark.parametrize(("way", "habit"), [("quiet", NOT_TOLD), ("stubborn", NOT_ENDING)])
def test_who_tells_of_no_refusal_is_not_judged_by_that(way: str, habit: str) -> None:
    only = ("CLI-22.a-rst-in-answer-to-a-fast-open-is-told", "CLI-22.unreachable-in-every-way")
    run = judged(way, *only)
    assert not failed(run)
    assert run.results[0].verdict is Verdict.INCONCLUSIVE
    assert run.notes.count(habit) == 1


def test_a_client_that_a_cookie_breaks_is_told_first_and_at_once() -> None:
    run = judged("impatient", stops_early=True)
    first, *others = run.results
    assert first.verdict is Verdict.FAIL
    assert "plain connections work, and those with a cookie break" in first.reason
    assert "Transport endpoint is not connected" in first.reason
    assert {each.verdict for each in others} == {Verdict.SKIPPED}


def test_the_words_of_a_client_that_ended_are_part_of_the_failure() -> None:
    run = judged("impatient", "CLI-2.a-granted-cookie-is-used")
    (found,) = failed(run)
    assert "the client ended with status 1: " in found.actual
    assert "Transport endpoint is not connected" in found.actual


TAKES_TWO_SECONDS = "CLI-17.a-syn-that-crosses-the-second-one"


def test_who_gives_up_by_itself_is_not_judged_by_what_takes_as_long() -> None:
    run = judged("hurried", TAKES_TWO_SECONDS, "CLI-17.a-syn-that-crosses-a-request")
    assert not failed(run)
    late = next(each for each in run.results if each.case == TAKES_TWO_SECONDS)
    assert late.verdict is Verdict.INCONCLUSIVE
    assert late.reason.startswith("the client's application gives up by itself")
    assert len([each for each in run.notes if each.startswith(late.reason[:40])]) == 1


def test_who_gives_up_a_fast_open_sooner_than_other_connections_is_blamed() -> None:
    run = judged("sulking", "CLI-5.the-syn-comes-again-without-option-and-data")
    assert [each.reason for each in failed(run)] == [UNSERVED]
    assert not [each for each in run.notes if "gives up" in each]


def test_who_writes_when_it_is_connected_is_not_blamed_for_an_empty_syn() -> None:
    run = judged("later", "CLI-2.a-granted-cookie-is-used", "CLI-2.any-bytes-are-a-cookie")
    assert not failed(run)
    assert {each.verdict for each in run.results} == {Verdict.INCONCLUSIVE}


def test_who_has_its_text_at_once_is_blamed_for_an_empty_syn() -> None:
    found = failed(simulated("cookie-without-data", "CLI-2.a-granted-cookie-is-used"))
    assert NO_DATA in {each.reason for each in found}


OF_SEVERAL_SERVERS = "CLI-2.each-server-gets-its-own-cookie-back"


def simulated(name: str, *only: str) -> Run:
    cases = select(all_cases(), only)
    return simulate(f"sim:{name}", cases, spec.load(), Options(families=(4,)))


def test_a_cache_of_one_server_is_told_of_and_not_blamed() -> None:
    run = simulated("remembers-one-server", OF_SEVERAL_SERVERS)
    assert [each.verdict for each in run.results] == [Verdict.INCONCLUSIVE]
    assert [each for each in run.notes if "forgets the cookie of one server" in each]


@pytest.mark.parametrize(
    "name", ["cookie-is-not-kept", "cookie-serves-once", "cookie-is-missed-at-times"]
)
def test_who_forgets_cookies_for_another_reason_is_blamed(name: str) -> None:
    assert failed(simulated(name, OF_SEVERAL_SERVERS, "CLI-2.a-cookie-is-used-more-than-once"))


def test_fast_open_can_be_required() -> None:
    only = "CLI-1.the-first-syn-asks"
    assert not failed(judged("plain", only))
    (found,) = failed(judged("plain", only, require_fast_open=True))
    assert found.reason == "the client never opens fast, which --require-fast-open demands"
    assert not failed(judged("short", "CLI-2.a-granted-cookie-is-used", require_fast_open=True))


def test_a_failure_has_the_level_of_the_assertion_that_failed() -> None:
    name = "CLI-24.a-refusal-of-one-host-is-no-other-one-s"
    (found,) = select(all_cases(), (name,))
    catalogue = spec.load()
    assert found.level(catalogue) is Level.MUST
    with pytest.raises(Failed) as ended, judging("CLI-24"):
        raise Failed("its cookie is not used")
    assert found.level_of(ended.value, catalogue) is Level.SHOULD
    assert found.level_of(Failed("something else"), catalogue) is Level.MUST
    assert found.level_of(None, catalogue) is Level.MUST


def test_who_backs_off_from_nobody_breaks_a_should() -> None:
    name = "CLI-8a.a-server-that-never-answered-is-not-opened-fast"
    cases = select(all_cases(), (name,))
    run = simulate("sim:silence-is-not-remembered", cases, spec.load(), Options(slow=True))
    assert {each.level for each in failed(run)} == {Level.SHOULD}


def test_text_that_is_damaged_is_never_a_matter_of_taste() -> None:
    with pytest.raises(Failed) as outer, judging("CLI-8a"), judging("CLI-6a"):
        raise Failed("the client's text is damaged")
    assert outer.value.requirements == ("CLI-6a",)
