"""Segments sent before the handshake ends, and the answers to a second SYN."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.reference import InitialWindow, Settings, State
from scapy_tfo.segment import ACK, FIN, PSH, SYN

from .wire import DATA, ISN, Script, tfo, valid


def test_the_answer_goes_out_before_the_handshake_ends_within_the_windows() -> None:
    script = Script()
    script.syn(DATA, options=valid(script) + b"\x02\x04\x03\xe8", window=65535)
    script.connection.write(bytes(100_000), script.now)
    sent = sum(len(a.payload) for a in script.answers())
    assert sent == InitialWindow.RFC3390.bytes_for(1000) == 4000


@pytest.mark.parametrize("window", [0, 1, 700, 3000])
def test_the_syns_window_is_the_limit_and_all_of_it_is_used(window: int) -> None:
    script = Script(Settings(initial_window=InitialWindow.RFC6928))
    shift = opt.push_options([opt.window_scale(7)])
    script.syn(DATA, options=valid(script) + shift, window=window)
    script.connection.write(bytes(100_000), script.now)
    assert sum(len(a.payload) for a in script.answers()) == window


def test_the_answer_waits_for_the_handshake_where_set() -> None:
    script = Script(Settings(wait_for_handshake=True))
    answer = script.syn(DATA, options=valid(script))
    script.connection.write(b"answer", script.now)
    assert script.answers() == []
    assert [a.payload for a in script.establish(answer)] == [b"answer"]


def test_retransmitted_syn_ack_is_bare_and_acknowledges_the_data() -> None:
    script = Script()
    answer = script.syn(DATA, options=valid(script))
    script.connection.write(b"answer", script.now)
    script.answers()
    times = []
    for _ in range(5):
        (again,) = script.wait(script.stack.deadline() - script.now)
        times.append(script.now)
        assert again.is_syn_ack
        assert (again.seq, again.ack, again.payload) == (answer.seq, answer.ack, b"")
        assert again.fast_open == ()
    assert times == [1, 3, 7, 15, 31]
    assert script.wait(100) == []
    assert script.errors == ["ETIMEDOUT"]
    assert script.listener.pending.count(script.now) == 0


def test_retransmitted_syn_ack_to_a_request_has_no_cookie() -> None:
    script = Script()
    script.syn(options=tfo())
    assert [a.fast_open for a in script.wait(1)] == [()]


def test_after_a_retransmitted_syn_ack_one_segment_is_sent() -> None:
    script = Script()
    answer = script.syn(DATA, options=valid(script))
    script.wait(1)
    script.connection.write(bytes(10_000), script.now)
    assert [len(a.payload) for a in script.answers()] == [536]
    assert [len(a.payload) for a in script.establish(answer)] == [536]


def test_early_data_that_was_lost_comes_again() -> None:
    script = Script()
    answer = script.syn(DATA, options=valid(script))
    script.connection.write(b"answer", script.now)
    script.connection.close(script.now)
    assert [a.flags for a in script.answers()] == [PSH | ACK, FIN | ACK]
    assert script.establish(answer) == []
    assert [a.payload for a in script.wait(1)] == [b"answer"]
    assert [a.payload for a in script.wait(2)] == [b"answer"]
    last = script.send(ACK, seq=answer.ack, ack=answer.end + 7)
    assert last == []
    assert script.connection.state is State.FIN_WAIT_2


def test_duplicate_syn_gets_the_same_syn_ack_and_delivers_once() -> None:
    script = Script()
    options = valid(script)
    answer = script.syn(DATA, options=options)
    for data, again in ((DATA, options), (b"other", options), (b"", b"")):
        repeat = script.syn(data, options=again)
        assert (repeat.flags, repeat.seq, repeat.ack) == (SYN | ACK, answer.seq, answer.ack)
    assert script.received == DATA


def test_a_syn_with_another_isn_is_challenged() -> None:
    script = Script()
    answer = script.syn(DATA, options=valid(script))
    challenge = script.one(SYN, seq=ISN + 500, payload=b"evil", options=valid(script))
    assert (challenge.flags, challenge.ack) == (ACK, answer.ack)
    script.establish(answer)
    challenge = script.one(SYN, payload=DATA, options=valid(script))
    assert (challenge.flags, challenge.ack) == (ACK, answer.ack)
    assert script.received == DATA


def test_a_duplicate_after_close_is_replayed_unless_last_ack_is_held() -> None:
    for settings, replays in ((Settings(), True), (Settings(hold_last_ack=True), False)):
        script = Script(settings)
        answer = script.syn(DATA, options=valid(script))
        script.establish(answer)
        script.one(FIN | ACK, seq=answer.ack, ack=answer.end)
        script.connection.close(script.now)
        script.answers()
        script.send(ACK, seq=answer.ack + 1, ack=answer.end + 1)
        again = script.one(SYN, payload=DATA, options=valid(script))
        assert again.is_syn_ack is replays
        script.wait(300)
        assert script.one(SYN, payload=DATA, options=valid(script), seq=5).is_syn_ack
