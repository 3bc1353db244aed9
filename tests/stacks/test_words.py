"""The language of hooks: what is said is read, and what does not belong there is refused."""

from __future__ import annotations

import pytest

from scapy_tfo.lab.hooks import HooksBrokenError, NotOfferedError, Session
from scapy_tfo.stacks.words import (
    MAX_VALUES,
    GarbledError,
    asked,
    counters_of,
    port_of,
    sessions_of,
    values_of,
    verbs_of,
)


def test_a_question_is_one_line():
    assert asked("listen", "send:5", 256, 16384) == b"listen send:5 256 16384\n"


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"ok\n", []),
        (b"ok \n", []),
        (b"ok 10001\n", ["10001"]),
        (b"ok a b\r\n", ["a", "b"]),
        (b"ok " + b" " * 10 * MAX_VALUES + b"\n", None),
    ],
)
def test_the_values_of_an_answer(line, values):
    found = values_of(line, "listen")
    assert found == values if values is not None else len(found) == MAX_VALUES + 1


def test_an_agent_may_decline():
    with pytest.raises(NotOfferedError, match="'listen': a limit of its own"):
        values_of(b"no a limit of its own\n", "listen")


def test_an_agent_may_fail():
    with pytest.raises(HooksBrokenError, match="'listen': EADDRINUSE") as caught:
        values_of(b"error EADDRINUSE\n", "listen")
    assert not isinstance(caught.value, GarbledError)


@pytest.mark.parametrize(
    "line", [b"\n", b"OK 1\n", b"okay 7\n", b"\x1b[2J\n", b"\xff\xfe\n", b"{}\n"]
)
def test_what_is_no_answer(line):
    with pytest.raises(GarbledError) as caught:
        values_of(line, "listen")
    assert str(caught.value).isprintable()


def test_what_an_agent_says_is_cut_and_made_printable():
    with pytest.raises(NotOfferedError) as caught:
        values_of(b"no \x1b]0;title\x07" + b"x" * 100_000 + b"\n", "listen")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_verbs_that_we_do_not_know_are_left_out():
    assert verbs_of(["1", "listen", "fly", "sessions"]) == {"listen", "sessions"}


@pytest.mark.parametrize("values", [[], ["2", "listen"], ["listen"], ["\x1b"]])
def test_another_version_is_refused(values):
    with pytest.raises(GarbledError, match="version"):
        verbs_of(values)


def test_a_port():
    assert port_of(["10001"]) == 10001


@pytest.mark.parametrize(
    "values", [[], ["0"], ["65536"], ["-1"], ["7", "8"], ["x"], ["0x7"], ["9" * 5000], ["\u0667"]]
)
def test_what_is_no_port(values):
    with pytest.raises(GarbledError):
        port_of(values)


def test_sessions():
    assert sessions_of(
        ["192.0.2.1,40000,1,closed,ECONNRESET,00ff", "fd00:0::1,40001,0,open,-,-"]
    ) == [
        Session(("192.0.2.1", 40000), b"\x00\xff", 1, "ECONNRESET", True),
        Session(("fd00::1", 40001)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "192.0.2.1,40000,1,closed,ECONNRESET",
        "192.0.2.1,40000,1,closed,ECONNRESET,00,00",
        "example.com,40000,0,open,-,-",
        "192.0.2.1,65536,0,open,-,-",
        "192.0.2.1,1,-1,open,-,-",
        "192.0.2.1,1,0,OPEN,-,-",
        "192.0.2.1,1,0,open,\x1b[2J,-",
        "192.0.2.1,1,0,open,-,0",
        "192.0.2.1,1,0,open,-,zz",
        "192.0.2.1,1,0,open,-,00FF",
    ],
)
def test_what_is_no_session(text):
    with pytest.raises(GarbledError) as caught:
        sessions_of([text])
    assert str(caught.value).isprintable()


def test_counters():
    assert counters_of(["TCPFastOpenPassive=7", "a.b-c_d=0"]) == {
        "TCPFastOpenPassive": 7,
        "a.b-c_d": 0,
    }


@pytest.mark.parametrize(
    "text", ["", "a", "=1", "a=", "a=-1", "a=1.5", "7=1", "a b=1", "a=" + "9" * 99]
)
def test_what_is_no_counter(text):
    with pytest.raises(GarbledError):
        counters_of([text])
