"""Errors in what a client has sent so far, and the point at which it is complete."""

from __future__ import annotations

import pytest

from scapy_tfo.clients.dialogue import Http, Post, Raw, make_dialogue
from scapy_tfo.errors import SetupError

GET = b"GET / HTTP/1.1\r\nHost: there\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"


@pytest.mark.parametrize("size", range(len(GET) + 1))
def test_no_beginning_of_a_request_is_wrong(size: int) -> None:
    assert Http().wrong(b"", GET[:size]) == ""
    assert Http().is_complete(b"", GET[:size]) is (size == len(GET))


@pytest.mark.parametrize("size", range(len(POST) + 6))
def test_no_beginning_of_a_request_with_a_body_is_wrong(size: int) -> None:
    heard = (POST + b"hello")[:size]
    assert Post().wrong(b"hello", heard) == ""
    assert Post().is_complete(b"hello", heard) is (size == len(POST) + 5)


@pytest.mark.parametrize(
    ("dialogue", "heard", "said"),
    [
        (Raw(), b"hellohello", "5 bytes more"),
        (Raw(), b"hexlo", "other bytes than it had to send, from byte 2"),
        (Http(), GET + GET, "bytes behind the request"),
        (Http(), GET[4:], "not from its beginning"),
        (Http(), GET[:16] + GET, "came twice"),
        (Post(), GET, "no POST request"),
        (Post(), POST + b"hellohello", "5 bytes more"),
        (Post(), POST + b"hxllo", "other bytes"),
    ],
)
def test_bytes_lost_doubled_or_changed_are_told(
    dialogue: Raw | Http, heard: bytes, said: str
) -> None:
    assert said in dialogue.wrong(b"hello", heard)


def test_an_unknown_dialogue_is_refused() -> None:
    with pytest.raises(SetupError, match="no such dialogue: 'smtp'"):
        make_dialogue("smtp")
