"""Conversations with the reference server about cookies and SYN data."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.cookie import KeyRing, OneTimeCookies
from scapy_tfo.option import Form
from scapy_tfo.reference import Settings, State
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN

from .wire import DATA, ISN, OTHER, PORT, SERVER, Script, tfo, valid


def test_a_request_is_granted_and_its_data_dropped() -> None:
    script = Script()
    answer = script.syn(DATA, options=tfo())
    assert answer.is_syn_ack
    assert answer.ack == ISN + 1
    assert answer.cookie == script.cookie()
    assert script.stack.counters["TCPFastOpenCookieReqd"] == 1
    assert script.events == []


def test_valid_cookie_delivers_data_before_the_handshake_ends() -> None:
    script = Script()
    answer = script.syn(DATA, options=valid(script))
    assert answer.ack == ISN + 1 + len(DATA)
    assert answer.cookie is None
    assert script.received == DATA
    assert script.connection.fast_opened
    assert script.connection.state is State.SYN_RCVD
    assert script.listener.pending.count(script.now) == 1
    script.establish(answer)
    assert script.connection.state is State.ESTABLISHED
    assert script.listener.pending.count(script.now) == 0


def test_valid_cookie_without_data_is_a_fast_open_too() -> None:
    script = Script()
    answer = script.syn(options=valid(script))
    assert answer.ack == ISN + 1
    assert script.connection.fast_opened
    script.connection.write(b"banner", script.now)
    assert [a.payload for a in script.answers()] == [b"banner"]


@pytest.mark.parametrize("bit", [0, 31, 63])
def test_a_flipped_bit_is_refused_with_a_fresh_cookie(bit: int) -> None:
    script = Script()
    wrong = (int.from_bytes(script.cookie(), "big") ^ 1 << bit).to_bytes(8, "big")
    answer = script.syn(DATA, options=tfo(wrong))
    assert answer.ack == ISN + 1
    assert answer.cookie == script.cookie()
    assert script.stack.counters["TCPFastOpenPassiveFail"] == 1
    (ack,) = script.establish(answer, data=DATA)
    assert ack.ack == ISN + 1 + len(DATA)
    assert script.received == DATA


def test_a_cookie_is_bound_to_its_client() -> None:
    script = Script()
    assert script.syn(DATA, options=valid(script), src=OTHER).ack == ISN + 1


@pytest.mark.parametrize("size", [4, 6, 10, 16])
def test_a_cookie_cut_or_padded_is_refused(size: int) -> None:
    script = Script()
    cookie = script.cookie().ljust(size, b"\0")[:size]
    answer = script.syn(DATA, options=tfo(cookie))
    assert answer.ack == ISN + 1
    assert answer.cookie == script.cookie()


@pytest.mark.parametrize(
    "options",
    [
        b"\x22\x03\x01",
        b"\x22\x04\x01\x02",
        b"\x22\x05\x01\x02\x03",
        b"\x22\x09" + bytes(7),
        b"\x22\x13" + bytes(17),
        b"\x22\x14" + bytes(18),
        b"\x22\x00" + bytes(8),
        b"\x22\x01" + bytes(8),
        b"\x22\x28" + bytes(8),
        b"\x22",
        b"\x00" + tfo(),
    ],
    ids=lambda options: options.hex(),
)
def test_an_option_of_invalid_length_is_as_none(options: bytes) -> None:
    script = Script()
    answer = script.syn(DATA, options=options)
    assert answer.ack == ISN + 1
    assert answer.fast_open == ()
    assert script.establish(answer, data=DATA)[0].ack == ISN + 1 + len(DATA)


def test_the_last_valid_option_wins() -> None:
    script = Script()
    good, bad = valid(script), tfo(bytes(8))
    assert script.syn(DATA, options=bad + good).ack == ISN + 1 + len(DATA)
    assert script.syn(DATA, options=good + bad, sport=2).ack == ISN + 1
    both = good + tfo(bytes(7))
    assert script.syn(DATA, options=both, sport=3).ack == ISN + 1 + len(DATA)


@pytest.mark.parametrize("form", list(Form))
def test_the_answer_has_the_form_of_the_question(form: Form) -> None:
    script = Script()
    (granted,) = script.syn(options=tfo(form=form)).fast_open
    assert isinstance(granted, opt.FastOpen)
    assert granted.form is form
    answer = script.syn(DATA, options=tfo(granted.cookie, form), sport=2)
    assert answer.ack == ISN + 1 + len(DATA)


def test_a_form_switched_off_is_unknown() -> None:
    script = Script(Settings(forms=frozenset({Form.IANA})))
    assert script.syn(options=tfo(form=Form.EXPERIMENT_2)).fast_open == ()


def test_every_option_of_a_full_syn_is_answered() -> None:
    script = Script()
    offered = [
        opt.mss(1400),
        opt.sack_permitted(),
        opt.timestamps(5000, 0),
        opt.nop(),
        opt.window_scale(7),
        opt.fast_open(),
    ]
    answer = script.syn(options=opt.push_options(offered))
    assert answer.cookie == script.cookie()
    assert answer.mss == 1460
    assert answer.timestamps is not None
    assert answer.timestamps[1] == 5000
    assert answer.option(opt.SACK_PERMITTED)
    assert answer.option(opt.WINDOW_SCALE)


def test_fast_open_is_off_unless_asked_for() -> None:
    script = Script(fast_open=0)
    answer = script.syn(DATA, options=valid(script))
    assert answer.ack == ISN + 1
    assert answer.fast_open == ()


def test_data_without_the_option_waits_for_the_handshake() -> None:
    script = Script()
    answer = script.syn(DATA)
    assert answer.ack == ISN + 1
    script.establish(answer, data=DATA)
    assert script.received == DATA


def test_the_option_outside_a_syn_is_ignored() -> None:
    script = Script()
    script.establish(script.syn(), data=b"a", options=tfo())
    last = script.one(ACK, seq=ISN + 2, ack=script.connection.send.nxt, payload=b"b", options=tfo())
    assert last.fast_open == ()
    assert script.received == b"ab"


def test_sequence_numbers_wrap() -> None:
    script = Script()
    answer = script.syn(DATA, options=valid(script), seq=0xFFFFFFF8)
    assert answer.ack == len(DATA) - 7
    script.establish(answer, data=b"more")
    assert script.received == DATA + b"more"


def test_a_rotated_key_is_accepted_and_renewed_then_refused() -> None:
    keys = KeyRing([bytes(16)])
    script = Script(cookies=keys)
    old = valid(script)
    keys.rotate(b"k" * 16)
    answer = script.syn(DATA, options=old)
    assert answer.ack == ISN + 1 + len(DATA)
    assert answer.cookie == script.cookie()
    assert script.stack.counters["TCPFastOpenPassiveAltKey"] == 1
    keys.drop_backups()
    assert script.syn(DATA, options=old, sport=2).ack == ISN + 1


def test_a_one_time_cookie_is_good_once_and_replaced() -> None:
    script = Script(cookies=OneTimeCookies([bytes(16)]))
    first = tfo(script.syn(options=tfo()).cookie or b"")
    answer = script.syn(DATA, options=first, sport=2)
    assert answer.ack == ISN + 1 + len(DATA)
    assert script.syn(DATA, options=first, sport=3).ack == ISN + 1
    again = tfo(answer.cookie or b"")
    assert script.syn(DATA, options=again, sport=4).ack == ISN + 1 + len(DATA)


def test_listeners_have_their_own_cookies_or_the_hosts() -> None:
    script = Script()
    script.stack.listen(81, fast_open=4)
    script.stack.listen(82, fast_open=4, cookies=KeyRing([b"x" * 16]))
    assert script.syn(DATA, options=valid(script), dport=81).ack == ISN + 1 + len(DATA)
    assert script.syn(DATA, options=valid(script), dport=82).ack == ISN + 1


@pytest.mark.parametrize(
    ("cookieless", "options", "taken"),
    [
        (True, b"", True),
        (True, tfo(bytes(8)), True),
        (False, tfo(), False),
        (False, tfo(bytes(8)), False),
    ],
)
def test_data_without_a_cookie(cookieless: bool, options: bytes, taken: bool) -> None:
    script = Script(Settings(cookieless=cookieless))
    assert script.syn(DATA, options=options).ack == ISN + 1 + taken * len(DATA)


def test_data_beyond_the_limit_is_acknowledged_up_to_it() -> None:
    script = Script(Settings(syn_data_limit=5))
    answer = script.syn(DATA, options=valid(script))
    assert answer.ack == ISN + 6
    script.establish(answer, data=DATA[5:])
    assert script.received == DATA


@pytest.mark.parametrize("flags", [SYN | FIN, SYN | RST, RST, FIN, PSH])
def test_a_listener_ignores_these(flags: int) -> None:
    script = Script()
    assert script.send(flags, payload=DATA, options=valid(script)) == []
    assert script.events == []


@pytest.mark.parametrize("flags", [ACK, SYN | ACK, FIN | ACK])
def test_an_ack_at_a_listener_is_refused(flags: int) -> None:
    script = Script()
    answer = script.one(flags, ack=77, payload=DATA, options=valid(script))
    assert (answer.flags, answer.seq) == (RST, 77)


def test_a_port_without_listener_refuses() -> None:
    script = Script()
    answer = script.one(SYN, dport=81, payload=DATA)
    assert (answer.flags, answer.seq, answer.ack) == (RST | ACK, 0, ISN + 1 + len(DATA))
    assert script.one(ACK, dport=81, ack=5).seq == 5
    assert script.send(RST, dport=81) == []


def test_garbage_is_ignored() -> None:
    script = Script()
    for packet in (b"", b"\x45", bytes(60), b"\x60" + bytes(80)):
        script.stack.receive(packet, 0.0)
    assert script.send(SYN, checksum=1) == []
    assert script.send(SYN, data_offset=2) == []
    assert script.send(SYN, data_offset=15) == []
    assert script.send(SYN, dst=OTHER) == []


def test_syn_with_fin_is_taken_where_set() -> None:
    script = Script(Settings(accept_syn_fin=True))
    answer = script.one(SYN | FIN, payload=DATA, options=valid(script))
    assert answer.ack == ISN + 2 + len(DATA)
    assert (script.received, script.ends) == (DATA, 1)
    script.establish(answer)
    assert script.connection.state is State.CLOSE_WAIT


def test_the_backlog_bounds_half_open_connections() -> None:
    script = Script(backlog=2)
    script.syn(sport=1)
    answer = script.syn(sport=2)
    assert script.send(SYN, sport=3) == []
    assert script.send(SYN, sport=4, payload=DATA, options=valid(script)) == []
    script.establish(answer, sport=2)
    script.syn(sport=3)


def test_a_closed_listener_lets_accepted_connections_live() -> None:
    script = Script()
    kept = script.syn(DATA, options=valid(script))
    half = script.syn(sport=2)
    script.listener.close(script.now)
    script.establish(kept, data=b"more")
    assert script.received == DATA + b"more"
    (refusal,) = script.establish(half, sport=2)
    assert refusal.is_rst
    assert (script.listener.port, SERVER) == (PORT, script.stack.addresses[0])
