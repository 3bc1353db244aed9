"""What is odd explains nothing any more, once text behind it was acknowledged."""

from __future__ import annotations

from typing import Any

import pytest

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, FIN, RST, SYN, URG
from tests.oracle.conduct.conversation import Conversation
from tests.oracle.conduct.test_rules import opened

ODD: dict[str, dict[str, Any]] = {
    "a keep-alive": {"seq": 3},
    "urgent text": {"flags": ACK | URG, "data": b"urgent", "urgent": 60_000},
    "text with a reserved bit": {"data": b"abc", "reserved": 1},
    "text with an option that nobody knows": {
        "data": b"abc",
        "options": (opt.RawOption(99, 4, b"xx"),),
    },
    "an ACK of what was not sent": {"ack": 90},
    "a second SYN": {"flags": SYN, "seq": 0},
    "a wrong checksum": {"checksum": 1},
}


def odd(talk: Conversation, **sent: Any) -> int:
    """An open connection, on which one thing is odd; where the client's text goes on."""
    opened(talk)
    talk.ours(ACK, b"abc", ack=1)
    talk.theirs(ACK, b"xyz", ack=4)
    talk.ours(ACK, seq=4, ack=4)
    talk.ours(**{"flags": ACK, "seq": 4, "ack": 4, **sent})
    talk.theirs(ACK, seq=4, ack=4 + len(sent.get("data", b"")))
    return 4 + len(sent.get("data", b""))


def exchange(talk: Conversation, number: int) -> int:
    """The client says something, and the server; all is acknowledged."""
    said = talk.conduct.history.theirs.end
    talk.ours(ACK, b"more", seq=number, ack=said)
    talk.theirs(ACK, b"echo", seq=said, ack=number + 4)
    talk.ours(ACK, seq=number + 4, ack=said + 4)
    return number + 4


@pytest.mark.parametrize("sent", ODD.values(), ids=ODD)
def test_a_rst_has_no_cause_once_the_connection_went_on(sent: dict[str, Any]) -> None:
    talk = Conversation(ordered=True)
    exchange(talk, odd(talk, **sent))
    talk.theirs(RST | ACK, seq=talk.conduct.history.theirs.end)
    assert talk.broken == ["rst-unprovoked"]


@pytest.mark.parametrize("sent", ODD.values(), ids=ODD)
def test_a_rst_may_answer_what_is_odd(sent: dict[str, Any]) -> None:
    talk = Conversation(ordered=True)
    odd(talk, **sent)
    talk.theirs(RST | ACK, seq=talk.conduct.history.theirs.end)
    assert talk.broken == []


def test_text_that_is_not_acknowledged_yet_may_have_been_left_out() -> None:
    talk = Conversation(ordered=True)
    number = odd(talk, **ODD["a keep-alive"])
    talk.ours(ACK, b"more", seq=number, ack=4)
    talk.theirs(RST | ACK, seq=4)
    assert talk.broken == []


def test_a_gap_is_odd_until_it_is_filled_and_more_has_come() -> None:
    talk = Conversation(ordered=True)
    number = odd(talk, data=b"", seq=4)
    talk.ours(ACK, b"efgh", seq=number + 4, ack=4)
    talk.theirs(ACK, seq=4, ack=number)
    talk.ours(ACK, b"abcd", seq=number, ack=4)
    talk.theirs(ACK, seq=4, ack=number + 8)
    assert not talk.conduct.history.peer.plain
    exchange(talk, number + 8)
    assert talk.conduct.history.peer.plain
    assert talk.broken == []


@pytest.mark.parametrize("flags", [RST, ACK | FIN], ids=["RST", "FIN"])
def test_what_may_have_ended_the_connection_is_odd_for_ever(flags: int) -> None:
    talk = Conversation(ordered=True)
    number = odd(talk, flags=flags, seq=900)
    exchange(talk, number)
    assert not talk.conduct.history.peer.plain


def test_a_timestamp_ahead_of_all_others_may_still_make_them_old() -> None:
    talk = Conversation(ordered=True)
    offered = (opt.mss(1460), opt.timestamps(100, 0))
    talk.handshake(offered, (opt.mss(1460), opt.timestamps(500, 100)))

    def said(number: int, time: int, **fields: Any) -> None:
        end = talk.conduct.history.theirs.end
        options = (opt.timestamps(time, 500),)
        talk.ours(ACK, b"abcd", seq=number, ack=end, options=options, **fields)
        answer = (opt.timestamps(501, time),)
        talk.theirs(ACK, b"echo", seq=end, ack=number + 4, options=answer)

    said(1, 102)
    said(5, 10_000, reserved=1)
    for number in (9, 13):
        said(number, 103)
    assert not talk.conduct.history.peer.plain
    for number in (17, 21):
        said(number, 10_001)
    assert talk.conduct.history.peer.plain


def test_text_of_a_syn_may_be_answered_before_the_handshake_ends() -> None:
    """A server that asks for no cookie takes it for a fast open without the option."""
    talk = Conversation()
    talk.ours(SYN, b"abc", options=(opt.mss(1460),))
    talk.theirs(SYN | ACK, options=(opt.mss(1460),), ack=4)
    talk.ours(seq=(1 << 30) + 9)
    talk.theirs(ACK, b"echo", ack=4)
    assert talk.broken == []
