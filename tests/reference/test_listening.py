"""Backlog, accept queue, SYN cookies, shared ports, and how a SYN may be answered."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from scapy_tfo import option as opt
from scapy_tfo.reference import Accepted, AcceptFull, Settings, Stack, State, SynCookies
from scapy_tfo.reference.parts import syn_cookies
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

from .wire import CLIENT, ISN, PORT, SERVER, Script, Wire, valid

NEXT = ISN + 1
OFFER = opt.push_options(
    [opt.mss(1400), opt.sack_permitted(), opt.timestamps(5000), opt.nop(), opt.window_scale(7)]
)


def accepted(script: Script) -> int:
    return sum(isinstance(each, Accepted) for each in script.events)


# The accept queue.


def test_what_waits_to_be_accepted_is_told_when_it_is() -> None:
    script = Script()
    script.listener.pause()
    answer = script.syn()
    script.establish(answer, data=b"hello")
    script.send(ACK | FIN, seq=NEXT + 5, ack=answer.end)
    assert script.events == []
    script.listener.accept_one(script.now)
    script.answers()
    assert (accepted(script), script.received, script.ends) == (1, b"hello", 1)


def test_what_waits_closes_its_window() -> None:
    script = Script(Settings(receive_window=3000))
    script.listener.pause()
    answer = script.syn()
    (ack,) = script.establish(answer, data=bytes(1000))
    assert ack.window == 2000


def test_a_reset_of_what_waits_is_told_behind_it() -> None:
    script = Script()
    script.listener.pause()
    script.establish(script.syn(), data=b"hello")
    script.send(RST, seq=NEXT + 5)
    script.listener.resume(script.now)
    script.answers()
    assert (accepted(script), script.received, script.errors) == (1, b"hello", ["ECONNRESET"])


def test_a_fast_open_waits_to_be_accepted() -> None:
    script = Script()
    script.listener.pause()
    answer = script.syn(b"early", options=valid(script))
    assert answer.ack == NEXT + 5
    assert script.events == []
    script.listener.resume(script.now)
    script.answers()
    assert script.received == b"early"


def full(when: AcceptFull) -> Script:
    """A listener with one connection that waits, and no room for another."""
    script = Script(Settings(accept_full=when), accept_queue=1)
    script.listener.pause()
    script.establish(script.syn())
    return script


def test_over_the_accept_queue_syns_are_dropped() -> None:
    script = full(AcceptFull.DROP_SYN)
    assert script.send(SYN, sport=40001) == []
    assert script.send(SYN, sport=40001, options=valid(script), payload=b"early") == []
    assert script.stack.counters["ListenDrops"] == 2
    script.listener.resume(script.now)
    assert script.syn(sport=40001).is_syn_ack


def test_over_the_accept_queue_the_final_ack_is_dropped() -> None:
    script = full(AcceptFull.DROP_ACK)
    answer = script.syn(sport=40001)
    assert script.establish(answer, sport=40001, data=b"hello") == []
    (again,) = script.wait(1)
    assert again.is_syn_ack
    script.listener.resume(script.now)
    (ack,) = script.establish(answer, sport=40001, data=b"hello")
    assert ack.ack == NEXT + 5
    assert accepted(script) == 2


def test_over_the_accept_queue_a_fast_open_is_a_plain_handshake() -> None:
    script = full(AcceptFull.DROP_ACK)
    answer = script.syn(b"early", sport=40001, options=valid(script))
    assert (answer.ack, answer.fast_open) == (NEXT, ())


def test_over_the_accept_queue_the_final_ack_is_reset() -> None:
    script = full(AcceptFull.RESET)
    (answer,) = script.establish(script.syn(sport=40001), sport=40001)
    assert answer.flags & RST
    assert len(script.stack.connections) == 1
    script.listener.resume(script.now)
    script.answers()
    assert accepted(script) == 1


# The backlog.


@pytest.mark.parametrize("refuse", [False, True])
def test_over_the_backlog_a_syn_is_dropped_or_reset(refuse: bool) -> None:
    script = Script(Settings(refuse_when_full=refuse), backlog=1)
    script.syn()
    answers = script.send(SYN, sport=40001)
    assert [each.flags for each in answers] == ([RST | ACK] if refuse else [])


def test_a_listener_has_settings_of_its_own() -> None:
    script = Script(settings=Settings(timestamps=True))
    script.stack.listen(81, settings=Settings(timestamps=False, receive_window=1000))
    assert script.syn(options=OFFER).timestamps is not None
    other = script.syn(options=OFFER, dport=81)
    assert (other.timestamps, other.window) == (None, 1000)


# SYN cookies.


def test_a_syn_cookie_keeps_no_state_and_no_options() -> None:
    script = Script(Settings(syn_cookies=SynCookies.ALWAYS))
    answer = script.syn(b"early", options=OFFER + valid(script))
    assert (answer.is_syn_ack, answer.ack, answer.fast_open) == (True, NEXT, ())
    assert [each.kind for each in opt.pull_options(answer.options)] == [opt.MSS]
    assert script.stack.connections == {}
    assert script.wait(100) == [], "it is not sent again"


def test_the_ack_of_a_syn_cookie_makes_the_connection() -> None:
    script = Script(Settings(syn_cookies=SynCookies.ALWAYS))
    answer = script.syn(options=OFFER)
    script.wait(63)
    (ack,) = script.establish(answer, data=b"hello")
    assert ack.ack == NEXT + 5
    assert script.received == b"hello"
    assert script.connection.mss_offered == 1300, "the next size below the 1400 that were offered"
    script.connection.write(b"answer", script.now)
    assert script.answers()[0].payload == b"answer"


def test_a_syn_cookie_tells_nothing_of_the_round_trip() -> None:
    """RFC 6298 section 2.1: until one was measured, the timeout is a second."""
    script = Script(Settings(syn_cookies=SynCookies.ALWAYS, min_rto=0.2))
    answer = script.syn()
    script.wait(0.4)
    script.establish(answer)
    script.connection.write(b"answer", script.now)
    assert script.answers()[0].payload == b"answer"
    assert script.wait(0.9) == []
    (again,) = script.wait(0.2)
    assert again.payload == b"answer"


def test_timestamps_carry_options_over_a_syn_cookie() -> None:
    script = Script(Settings(syn_cookies=SynCookies.ALWAYS, syn_cookie_timestamps=True))
    answer = script.syn(options=OFFER)
    assert answer.timestamps is not None
    stamps = opt.push_options([opt.nop(), opt.nop(), opt.timestamps(5001, answer.timestamps[0])])
    (ack,) = script.establish(answer, data=b"hello", options=stamps, window=10)
    connection = script.connection
    assert (connection.sack, connection.scaling, connection.send.shift) == (True, True, 7)
    assert ack.timestamps is not None
    assert ack.timestamps[0] > answer.timestamps[0]
    assert connection.send.wnd == 10 << 7


@pytest.mark.parametrize("wrong", [{"ack": 1}, {"seq": 1}, {"sport": 40001}, {"later": 200}])
def test_a_wrong_syn_cookie_is_refused(wrong: dict[str, int]) -> None:
    script = Script(Settings(syn_cookies=SynCookies.ALWAYS))
    answer = script.syn()
    script.wait(wrong.pop("later", 0))
    fields = {"seq": NEXT, "ack": answer.end}
    for name, value in wrong.items():
        fields[name] = value if name == "sport" else fields[name] + value
    refusal = script.one(ACK, **fields)
    assert refusal.flags == RST
    assert script.stack.connections == {}


def test_syn_cookies_when_the_backlog_is_full() -> None:
    script = Script(Settings(syn_cookies=SynCookies.WHEN_FULL), backlog=1)
    kept = script.syn(options=OFFER)
    lost = script.syn(options=OFFER, sport=40001)
    assert kept.timestamps is not None
    assert lost.timestamps is None
    script.establish(lost, sport=40001, data=b"hello")
    assert script.received == b"hello"


def test_a_syn_cookie_tells_the_mss_below() -> None:
    ends = (SERVER, PORT, CLIENT, 40000)
    for mss, told in ((100, 216), (536, 536), (1459, 1452), (9000, 1460)):
        cookie = syn_cookies.make(b"key", ends, ISN, mss, 10.0)
        assert syn_cookies.check(b"key", ends, ISN, cookie, 70.0) == told
        assert syn_cookies.check(b"key", ends, ISN, cookie, 130.0) is None
        assert syn_cookies.check(b"other", ends, ISN, cookie, 10.0) is None


# Listeners that share a port.


def shared(settings: Settings | None = None) -> tuple[Script, list[object]]:
    script = Script(settings, share=True)
    others = [script.stack.listen(PORT, share=True, fast_open=16) for _ in range(3)]
    return script, [script.listener, *others]


def test_listeners_that_share_a_port_share_the_clients() -> None:
    script, listeners = shared()
    for sport in range(40000, 40100):
        script.establish(script.syn(sport=sport), sport=sport)
    met = [each.listener for each in script.events if isinstance(each, Accepted)]
    assert len(met) == 100
    assert all(met.count(each) > 5 for each in listeners)


def test_a_port_is_shared_only_by_those_who_all_say_so() -> None:
    script = Script()
    with pytest.raises(ValueError, match="listened on already"):
        script.stack.listen(PORT, share=True)
    script, _ = shared()
    with pytest.raises(ValueError, match="listened on already"):
        script.stack.listen(PORT)


@pytest.mark.parametrize("migrate", [False, True])
def test_what_a_closed_listener_had_is_lost_or_taken_over(migrate: bool) -> None:
    script = Script(Settings(migrate=migrate), share=True)
    script.listener.pause()
    waiting, half_open = script.syn(), script.syn(sport=40001)
    script.establish(waiting, data=b"waits")
    script.stack.listen(PORT, share=True)
    script.listener.close(script.now)
    (answer,) = script.answers() or [None]
    assert (answer is None) == migrate, "what waited is reset"
    answers = script.establish(half_open, sport=40001, data=b" comes")
    assert bool(answers[0].flags & RST) != migrate
    assert script.received == (b"waits comes" if migrate else b"")
    assert script.syn(sport=40002).is_syn_ack, "the other listener goes on"


def test_the_last_listener_of_a_port_closes_it() -> None:
    script, listeners = shared()
    for each in listeners:
        each.close(script.now)  # type: ignore[attr-defined]
    assert script.one(SYN).flags == RST | ACK


# How a SYN may be answered.


@pytest.mark.parametrize("reset", [False, True])
def test_a_syn_with_fin_is_dropped_or_reset(reset: bool) -> None:
    script = Script(Settings(reset_syn_fin=reset))
    answers = script.send(SYN | FIN)
    assert [(each.flags, each.ack) for each in answers] == [(RST | ACK, ISN + 2)] * reset


@pytest.mark.parametrize("source", ["255.255.255.255", "224.0.0.1", "0.0.0.0"])
def test_a_syn_from_no_host_is_dropped(source: str) -> None:
    """RFC 9293 section 3.9.2.3, MUST-63, and RFC 1122 section 3.2.1.3."""
    script = Script(Settings())
    assert script.send(SYN, src=IPv4Address(source)) == []


def test_data_of_a_plain_syn_is_kept_until_the_handshake_ends() -> None:
    script = Script(Settings(keep_syn_data=True))
    answer = script.syn(b"early")
    assert answer.ack == NEXT + 5
    assert script.events == []
    script.send(ACK, seq=NEXT + 5, ack=answer.end, payload=b" late")
    assert (accepted(script), script.received) == (1, b"early late")


def test_a_syn_ack_may_be_late() -> None:
    script = Script(Settings(syn_ack_delay=0.5))
    assert script.send(SYN, payload=b"early", options=valid(script)) == []
    script.connection.write(b"answer", script.now)
    assert script.answers() == []
    assert script.send(SYN, payload=b"early", options=valid(script)) == [], "it waits already"
    answer, text = script.wait(0.5)
    assert (answer.is_syn_ack, answer.ack, text.payload) == (True, NEXT + 5, b"answer")


def test_an_abort_before_a_late_syn_ack_answers_the_syn() -> None:
    script = Script(Settings(syn_ack_delay=0.5))
    script.send(SYN, payload=b"early", options=valid(script))
    script.connection.abort(script.now)
    (answer,) = script.answers()
    assert (answer.flags, answer.ack) == (RST | ACK, NEXT + 5)
    assert script.wait(10) == []


def test_a_window_that_opens_after_the_handshake() -> None:
    script = Script(Settings(syn_ack_window=0, window_opens_after=0.3, receive_window=5000))
    answer = script.syn()
    assert answer.window == 0
    assert script.establish(answer) == []
    (probe,) = script.send(ACK, seq=NEXT, ack=answer.end, payload=b"x")
    assert (probe.ack, probe.window) == (NEXT, 0)
    (update,) = script.wait(0.3)
    assert (update.ack, update.window) == (NEXT, 5000)


def test_text_with_the_ack_of_a_window_of_0_ends_the_handshake() -> None:
    script = Script(Settings(syn_ack_window=0, window_opens_after=0.3))
    answer = script.syn()
    (ack,) = script.establish(answer, data=b"hello")
    assert (ack.ack, ack.window) == (NEXT, 0)
    assert accepted(script) == 1


def test_a_window_that_opens_late_before_one_who_does_not_read() -> None:
    script = Script(Settings(syn_ack_window=1000, window_opens_after=0.3, receive_window=5000))
    answer = script.syn()
    script.establish(answer)
    script.connection.pause()
    (ack,) = script.send(ACK, seq=NEXT, ack=answer.end, payload=bytes(600))
    (update,) = script.wait(0.3)
    (last,) = script.send(ACK, seq=NEXT + 600, ack=answer.end, payload=bytes(600))
    assert [each.window for each in (ack, update, last)] == [400, 4400, 3800]
    script.connection.resume(script.now)
    assert [each.window for each in script.answers()] == []
    (after,) = script.send(ACK, seq=NEXT + 1200, ack=answer.end, payload=b"x")
    assert after.window == 5000


@pytest.mark.parametrize("refuse", [False, True])
def test_one_connection_at_a_time(refuse: bool) -> None:
    script = Script(Settings(connections_at_once=1, refuse_when_full=refuse))
    answer = script.syn()
    script.establish(answer)
    refused = script.send(SYN, sport=40001)
    assert [each.flags for each in refused] == [RST | ACK] * refuse
    script.send(RST, seq=NEXT)
    assert script.syn(sport=40001).is_syn_ack


@pytest.mark.parametrize("required", [True, False])
def test_segments_without_the_agreed_timestamps(required: bool) -> None:
    script = Script(Settings(timestamps_required=required))
    answer = script.syn(options=OFFER)
    script.establish(answer, data=b"hello")
    script.answers()
    assert script.received == (b"" if required else b"hello")


def test_a_client_gets_through_a_window_that_opens_late() -> None:
    server = Stack([SERVER], Settings(syn_ack_window=0, window_opens_after=0.5), seed=1)
    client = Stack([CLIENT], seed=2)
    server.listen(PORT, fast_open=8)
    wire = Wire(client, server)
    for _ in range(2):
        connection = client.connect(CLIENT, SERVER, PORT, data=b"x" * 3000, now=wire.now)
        wire.run(20)
        assert connection.state is State.ESTABLISHED
    assert wire.received(server) == b"x" * 6000


def test_isns_may_be_counted() -> None:
    script = Script(Settings(first_isn=2**32 - 10))
    answers: list[Segment] = [script.syn(sport=sport) for sport in (40000, 40001)]
    assert [each.seq for each in answers] == [2**32 - 10, 63_990]
