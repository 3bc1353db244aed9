"""The application is met before the stack is judged: what it does wrong is not the stack's."""

from __future__ import annotations

import pytest

from tests.applications.conftest import Judge, echo, server

FEW = ("--only", "ACC-2", "--only", "AFT-1")


def test_a_silent_application_cannot_be_judged_as_an_echo(judge: Judge) -> None:
    done = judge([server("discard", 7)], "127.0.0.1:7", "--app", "echo", *FEW)
    assert done.status == 3
    assert "127.0.0.1:7 does not answer a plain connection as --app echo would" in done.said
    assert "the request was acknowledged, and no answer came" in done.said
    assert "--app none" in done.said


def test_an_application_that_speaks_first_is_no_echo(judge: Judge) -> None:
    done = judge([server("banner", 7)], "127.0.0.1:7", "--app", "echo", *FEW)
    assert done.status == 3
    assert "check which application runs there" in done.said


def test_another_application_on_the_plain_port_is_named(judge: Judge) -> None:
    servers = [echo(7), server("discard", 8)]
    options = ("--app", "echo", "--plain-port", "8", "--only", "ACC-1")
    done = judge(servers, "127.0.0.1:7", *options)
    assert done.status == 3
    assert "127.0.0.1:8 (--plain-port) does not answer" in done.said


def test_an_echo_that_loses_bulk_is_not_blamed_on_the_stack(judge: Judge) -> None:
    only = ("--only", "AFT-11.bulk-after-a-fast-open-is-echoed", "--only", "AFT-1")
    done = judge([server("losing", 7)], "127.0.0.1:7", "--app", "echo", *only)
    assert not done.failed
    bulk = done.results["AFT-11.bulk-after-a-fast-open-is-echoed"]
    assert bulk["verdict"] == "skipped"
    assert "your application loses what its send buffer refuses" in bulk["reason"]
    assert "AFT-1.data-with-the-ack-is-answered" in done.results
    assert done.status == 0


def test_an_echo_that_resets_on_bulk_is_not_blamed_on_the_stack(judge: Judge) -> None:
    only = ("--only", "AFT-11.bulk-after-a-fast-open-is-echoed")
    done = judge([server("gives-up", 7)], "127.0.0.1:7", "--app", "echo", *only)
    bulk = done.results["AFT-11.bulk-after-a-fast-open-is-echoed"]
    assert (bulk["verdict"], done.status) == ("skipped", 0)
    assert "a plain connection was reset when" in bulk["reason"]


def test_an_echo_that_closes_what_is_idle_is_not_blamed_on_the_stack(judge: Judge) -> None:
    only = (
        "AFT-6.tsval-of-a-repeated-syn-ack-does-not-go-back",
        "AFT-1.data-with-the-ack-is-answered",
    )
    done = judge(
        [server("idle", 7)], "127.0.0.1:7", "--app", "echo", *(f"--only={each}" for each in only)
    )
    waits, prompt = (done.results[each] for each in only)
    assert (waits["verdict"], prompt["verdict"], done.status) == ("skipped", "pass", 0)
    assert "yours also ended a plain one" in waits["reason"]


def test_an_echo_of_one_answer_cannot_be_judged(judge: Judge) -> None:
    done = judge([server("one-answer", 7)], "127.0.0.1:7", "--app", "echo", *FEW)
    assert done.status == 3
    assert "your application closes after one answer" in done.said
    assert "docs/echo" in done.said


def test_an_http_server_that_closes_gets_one_request_a_connection(judge: Judge) -> None:
    done = judge([server("closing-http", 80)], "127.0.0.1:80", "--app", "http")
    assert not done.failed
    assert done.status == 0
    assert done.results["ACC-2.syn-data-is-acknowledged"]["verdict"] == "pass"
    two = done.results["AFT-1.data-with-the-ack-is-answered"]
    assert (two["verdict"], "before it closes" in two["reason"]) == ("skipped", True)


@pytest.mark.parametrize(
    ("app", "kind", "why"),
    [
        ("send-close:5000", "discard", "0 bytes came, and no FIN"),
        ("send-close:5000", "banner", "24 bytes came which it does not write"),
        ("send-close:5000", "mute", "0 bytes came, and no FIN"),
        ("send-close:5000", "send-close-10", "it closed after 10 bytes"),
        ("send-close:10", "send-10", "bytes came which it does not write"),
        ("send:10", "send-close-10", "it closed after 10 bytes"),
        ("mute", "one-answer", "bytes came which it does not write"),
        ("close", "send-close-10", "10 bytes came which it does not write"),
        ("abort", "send-close-10", "10 bytes came which it does not write"),
        ("abort", "close", "it closed after 0 bytes"),
        ("close", "abort", "it reset the connection"),
        ("echo", "discard", "no answer came"),
    ],
)
def test_another_application_at_an_app_port_is_named(
    judge: Judge, app: str, kind: str, why: str
) -> None:
    servers = [echo(7), server(kind, 31)]
    options = ("--app", "echo", "--app-port", f"{app}=31", "--only", "ACC-2")
    done = judge(servers, "127.0.0.1:7", *options)
    assert done.status == 3
    assert f"127.0.0.1:31 (--app-port {app}=31) does not" in done.said
    assert why in done.said


@pytest.mark.parametrize(
    ("app", "kind"),
    [
        ("send-close:10", "send-close-10"),
        ("send:10", "send-10"),
        ("mute", "discard"),
        ("mute", "mute"),
        ("close", "close"),
        ("abort", "abort"),
    ],
)
def test_the_right_application_at_an_app_port_is_met(judge: Judge, app: str, kind: str) -> None:
    servers = [echo(7), server(kind, 31)]
    options = ("--app", "echo", "--app-port", f"{app}=31", "--only", "ACC-2")
    assert judge(servers, "127.0.0.1:7", *options).status == 0


@pytest.mark.parametrize("answers", [2, 3])
def test_an_http_server_that_says_when_it_closes_is_not_blamed(judge: Judge, answers: int) -> None:
    done = judge([server(f"closing-http-{answers}", 80)], "127.0.0.1:80", "--app", "http")
    assert not done.failed
    assert done.status == 0
    reasons = [each["reason"] for each in done.results.values() if each["verdict"] == "skipped"]
    assert any("before it closes" in each for each in reasons)
    assert done.results["AFT-1.data-with-the-ack-is-answered"]["verdict"] == "pass"


LIMIT = "LIM-1.refused-data-is-delivered-once-when-resent"


def test_a_failure_asks_about_the_limit_of_the_small_port(judge: Judge) -> None:
    servers = [echo(7), echo(9)]
    options = ("--app", "echo", "--small-port", "9", "--intrusive", "--only", "LIM-1")
    done = judge(servers, "127.0.0.1:7", *options)
    assert (done.results[LIMIT]["verdict"], done.status) == ("fail", 1)
    asked = "64 or more fast opens were pending at a time at --small-port 9: is its limit really 4?"
    assert asked in done.results[LIMIT]["reason"]


def test_a_skip_names_the_option_that_would_do(judge: Judge) -> None:
    only = ("--intrusive", "--only", "LIM-1,AFT-3,SRV-4")
    done = judge([echo(7)], "127.0.0.1:7", "--app", "echo", *only)
    assert done.status == 0
    reasons = {
        name: each["reason"] for name, each in done.results.items() if each["verdict"] == "skipped"
    }
    assert "give --small-port, or the hook 'listen'" in reasons[LIMIT]
    closes = reasons["AFT-3.answer-and-close-before-the-ack"]
    assert "give --app-port send-close:5000=N, or the hook 'listen'" in closes
    assert "the hook 'keys'" in reasons["SRV-4.a-new-key-ends-old-cookies"]
