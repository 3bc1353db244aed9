"""Whole, partial and wrong answers of the target's application."""

from __future__ import annotations

import pytest

from scapy_tfo.suite.application import Echo, Http, NoApp
from scapy_tfo.suite.outcome import Skipped

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("stream", "verdict"),
    [
        (b"", ""),
        (b"abc", ""),
        (b"abcdef", None),
        (b"abcdefabcdef", "12 bytes came back for 6 sent"),
        (b"abXdef", "the echo differs from byte 2"),
        (b"def", "the echo differs from byte 0"),
    ],
)
def test_an_echo_is_whole_when_every_byte_came_once(stream: bytes, verdict: str | None) -> None:
    judged = Echo().judge([b"abc", b"def"], stream)
    assert judged == verdict or (verdict and judged and judged.startswith(verdict))


@pytest.mark.parametrize(
    ("stream", "verdict"),
    [
        (b"", ""),
        (RESPONSE[:-1], ""),
        (RESPONSE, ""),
        (RESPONSE * 2, None),
        (CHUNKED + RESPONSE, None),
        (RESPONSE * 3, "3 responses to 2 requests"),
        (b"GARBAGE" + RESPONSE, "what came is not HTTP"),
    ],
)
def test_http_gives_one_response_to_each_request(stream: bytes, verdict: str | None) -> None:
    app = Http("lab")
    judged = app.judge([app.request(), app.request()], stream)
    assert judged == verdict or (verdict and judged and judged.startswith(verdict))


def test_requests_have_the_size_asked_for_and_are_unlike_each_other() -> None:
    for app in (Echo(), Http("lab"), NoApp()):
        first, second = app.request(700), app.request(700)
        assert len(first) == len(second) == 700
        assert first != second
    assert b"Connection: close" in Http("lab").request(last=True)


@pytest.mark.parametrize(
    ("head", "closes"),
    [
        (b"HTTP/1.1 200 OK", False),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive", False),
        (b"HTTP/1.1 200 OK\r\nX-Connection: close", False),
        (b"HTTP/1.1 200 OK\r\nconnection: Upgrade, Close", True),
        (b"HTTP/1.0 200 OK", True),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive", False),
    ],
)
def test_what_is_asked_behind_an_announced_close_needs_no_answer(head: bytes, closes: bool) -> None:
    last = head + b"\r\nContent-Length: 5\r\n\r\nhello"
    app = Http("example.org")
    app.must_go_on([b"GET", b"GET"], RESPONSE + last)
    requests = [b"GET"] * 3
    if closes:
        with pytest.raises(Skipped, match="before it closes"):
            app.must_go_on(requests, RESPONSE + last)
    else:
        app.must_go_on(requests, RESPONSE + last)


def test_a_server_of_one_answer_is_asked_once() -> None:
    app = Http("example.org")
    app.once = True
    app.must_go_on([b"GET"], b"")
    with pytest.raises(Skipped):
        app.must_go_on([b"GET"] * 2, RESPONSE)
