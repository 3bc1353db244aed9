"""Conversations with the reference client, starting with its first request for a cookie."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address
from typing import Any

import pytest

from scapy_tfo import icmp
from scapy_tfo import option as opt
from scapy_tfo.option import Form
from scapy_tfo.reference import ActiveConnection, Received, Reset, Settings, Stack, State
from scapy_tfo.segment import ACK, FIN, RST, SYN, Address, Flags, Segment

from .wire import CLIENT, PORT, SERVER

COOKIE = b"\x01\x02\x03\x04\x05\x06\x07\x08"
DATA = b"request"
CLIENT6, SERVER6 = IPv6Address("2001:db8::1"), IPv6Address("2001:db8::2")


class Script:
    """A client against answers written by hand, from a server that is not there."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.now = 0.0
        self.stack = Stack([CLIENT, CLIENT6], settings or Settings(), seed=3)
        self.events: list[Any] = []
        self.connection: ActiveConnection

    def packets(self) -> list[Segment]:
        self.events += self.stack.take_events()
        return [Segment.from_bytes(packet) for packet in self.stack.take_packets()]

    def connect(self, data: bytes = DATA, server: Address = SERVER, **fields: Any) -> Segment:
        """Open a connection and return its SYN."""
        source = CLIENT if server.version == 4 else CLIENT6
        self.connection = self.stack.connect(
            source, server, fields.pop("port", PORT), data=data, now=self.now, **fields
        )
        (syn,) = self.packets()
        return syn

    def answer(self, syn: Segment, flags: Flags, **fields: Any) -> list[Segment]:
        """Send a segment back and return what follows."""
        base = Segment(
            src=syn.dst, dst=syn.src, sport=syn.dport, dport=syn.sport, seq=5000, flags=flags
        )
        self.stack.receive(replace(base, **fields).to_bytes(), self.now)
        return self.packets()

    def accept(
        self, syn: Segment, *options: opt.RawOption, took: int = 0, **fields: Any
    ) -> list[Segment]:
        """A SYN-ACK that acknowledges the SYN and `took` bytes of data."""
        block = opt.push_options(options or [opt.mss(1400)])
        ack = (syn.seq + 1 + took) % 2**32
        return self.answer(syn, SYN | ACK, ack=ack, options=block, **fields)

    def learn(self, *options: opt.RawOption, server: Address = SERVER) -> None:
        """Go through a first connection that brings a cookie, and reset it."""
        syn = self.connect(b"", server)
        self.accept(syn, *(options or (opt.mss(1400), opt.fast_open(COOKIE))))
        self.answer(syn, RST, seq=5001)

    def wait(self, seconds: float) -> list[Segment]:
        end = self.now + seconds
        while (when := self.stack.deadline()) is not None and when <= end:
            self.now = when
            self.stack.on_timer(when)
        self.now = end
        return self.packets()

    @property
    def errors(self) -> list[str]:
        return [e.error for e in self.events if isinstance(e, Reset)]


def test_first_a_request_then_cookie_and_data() -> None:
    script = Script()
    syn = script.connect()
    assert (syn.cookie, syn.payload) == (b"", b"")
    (ack,) = script.accept(syn, opt.mss(1400), opt.fast_open(COOKIE))
    assert (ack.flags & ACK, ack.payload) == (ACK, DATA)
    again = script.connect()
    assert (again.cookie, again.payload) == (COOKIE, DATA)
    (ack,) = script.accept(again, took=len(DATA))
    assert (ack.flags, ack.payload, ack.seq) == (ACK, b"", again.end)
    assert script.connection.fast_opened
    assert script.stack.counters["TCPFastOpenActive"] == 1


def test_who_did_not_ask_sends_neither_option_nor_data() -> None:
    script = Script()
    script.learn()
    syn = script.connect(fast_open=False)
    assert (syn.fast_open, syn.payload) == ((), b"")
    script.accept(syn, opt.fast_open(b"unsolicited!"[:8]))
    assert script.connect().cookie == COOKIE


def test_cookies_are_by_address_not_by_port() -> None:
    script = Script()
    script.learn()
    assert script.connect(port=81).cookie == COOKIE
    assert script.connect(server=SERVER + 1).cookie == b""
    script.learn(opt.fast_open(COOKIE[:4]), server=SERVER6)
    assert script.connect(server=SERVER6).cookie == COOKIE[:4]


@pytest.mark.parametrize(
    ("server", "told", "limit"),
    [
        (SERVER, None, 536),
        (SERVER6, None, 1220),
        (SERVER, 1000, 1000),
        (SERVER, 9000, 1460),
        (SERVER6, 9000, 1440),
    ],
)
def test_syn_data_stays_below_the_cached_mss(server: Address, told: int | None, limit: int) -> None:
    script = Script(Settings(mtu=9000))
    known = [opt.mss(told)] if told else []
    script.learn(*known, opt.fast_open(COOKIE), server=server)
    syn = script.connect(bytes(10_000), server)
    assert len(syn.payload) + len(syn.options) == limit
    more = script.accept(syn, took=len(syn.payload))
    assert all(each.seq - syn.seq > limit - 40 for each in more)


def test_the_timer_brings_a_plain_syn() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    (again,) = script.wait(1)
    assert (again.seq, again.payload, again.fast_open) == (syn.seq, b"", ())
    assert again.mss == 1460
    (ack,) = script.accept(again)
    assert ack.payload == DATA
    assert (script.connect().fast_open, script.errors) == ((), ["ECONNRESET"])
    script.wait(1000)
    assert script.connect().cookie == COOKIE


def test_a_late_answer_to_the_first_syn_counts_as_success() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    script.wait(1)
    (ack,) = script.accept(syn, took=len(DATA))
    assert (ack.seq, ack.payload) == (syn.end, b"")
    assert script.connect().cookie == COOKIE


def test_a_cookie_in_a_late_answer_is_kept() -> None:
    script = Script()
    syn = script.connect()
    script.wait(1)
    script.accept(syn, opt.fast_open(COOKIE))
    assert script.connect().cookie == COOKIE


def test_the_syn_timer_follows_the_cached_rtt() -> None:
    script = Script(Settings(syn_timer_from_rtt=True))
    syn = script.connect()
    script.now = 0.2
    script.accept(syn, opt.fast_open(COOKIE))
    script.connect()
    assert script.connection.deadline() == pytest.approx(0.5)


@pytest.mark.parametrize("took", [0, 1, 299, 300])
def test_what_is_refused_comes_again_with_the_first_ack(took: int) -> None:
    script = Script()
    script.learn()
    data = bytes(n % 251 for n in range(300))
    syn = script.connect(data)
    sent = script.accept(syn, opt.mss(100), took=took)
    assert b"".join(each.payload for each in sent) == data[took:]
    assert sent[0].seq == (syn.seq + 1 + took) % 2**32
    assert all(len(each.payload) <= 100 for each in sent)


def test_a_refusal_without_a_cure_switches_fast_open_off_for_that_port() -> None:
    script = Script()
    script.learn()
    script.accept(script.connect())
    assert script.stack.counters["TCPFastOpenActiveFail"] == 1
    assert script.connect().fast_open == ()
    assert script.connect(port=81).cookie == COOKIE
    script.wait(1000)
    assert script.connect().cookie == COOKIE


def test_a_refusal_with_a_new_cookie_is_cured_by_it() -> None:
    script = Script()
    script.learn()
    script.accept(script.connect(), opt.fast_open(b"newcookie!"))
    assert script.connect().cookie == b"newcookie!"


def test_a_server_without_cookies_is_asked_again_only_later() -> None:
    script = Script()
    script.accept(script.connect())
    assert script.connect().fast_open == ()
    script.wait(1000)
    assert script.connect().cookie == b""


def test_no_answer_at_all_is_remembered() -> None:
    script = Script()
    script.learn()
    script.connect()
    again = script.wait(300)
    assert len(again) == 7
    assert all(not each.fast_open and not each.payload for each in again)
    assert script.errors[-1] == "ETIMEDOUT"
    assert script.connect().fast_open == ()


def test_silence_behind_syn_data_is_remembered() -> None:
    script = Script()
    script.learn()
    script.accept(script.connect(), took=len(DATA))
    script.connection.write(b"more", script.now)
    script.wait(400)
    assert script.errors[-1] == "ETIMEDOUT"
    assert script.connect().fast_open == ()


def test_a_reset_in_answer_is_remembered() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    script.answer(syn, RST | ACK, seq=0, ack=syn.end)
    assert script.errors[-1] == "ECONNREFUSED"
    assert script.connect().fast_open == ()


@pytest.mark.parametrize(("code", "ends"), [(1, False), (3, True)])
def test_icmp_is_a_negative_answer(code: int, ends: bool) -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    script.stack.receive(icmp.unreachable(syn.to_bytes(), code=code).to_bytes(), script.now)
    assert (script.connection.state is State.CLOSED) is ends
    assert script.connect().fast_open == ()


@pytest.mark.parametrize("server", [SERVER, SERVER6])
def test_packet_too_big_brings_a_plain_syn_at_once(server: Address) -> None:
    script = Script()
    script.learn(server=server)
    syn = script.connect(bytes(2000), server)
    error = icmp.packet_too_big(syn.to_bytes(), mtu=1300)
    script.stack.receive(error.to_bytes(), script.now)
    (plain,) = script.packets()
    assert (plain.is_syn, plain.payload, plain.fast_open) == (True, b"", ())
    sent = script.accept(plain)
    assert sum(len(each.payload) for each in sent) == 2000
    assert max(len(each.to_bytes()) for each in sent) <= 1300
    assert len(script.connect(bytes(2000), server).to_bytes()) <= 1300


@pytest.mark.parametrize("beyond", [1, 1000])
def test_an_answer_that_acknowledges_too_much_is_refused(beyond: int) -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    (refusal,) = script.accept(syn, opt.fast_open(b"evilcookie"), took=len(DATA) + beyond)
    assert refusal.flags == RST
    assert script.connection.state is State.SYN_SENT
    assert script.connect().cookie == COOKIE


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 9, 17, 18, 20])
def test_a_malformed_cookie_changes_nothing(size: int) -> None:
    script = Script()
    script.learn()
    script.accept(script.connect(), opt.fast_open(bytes(size)), took=len(DATA))
    assert script.connect().cookie == COOKIE


def test_the_option_on_other_segments_changes_nothing() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    script.accept(syn, took=len(DATA))
    block = opt.push_options([opt.fast_open(b"evilcookie")])
    script.answer(syn, ACK, seq=5001, ack=syn.end, payload=b"x", options=block)
    assert script.connect().cookie == COOKIE


def test_a_cookie_goes_back_in_the_form_it_came_in() -> None:
    script = Script(Settings(client_form=Form.EXPERIMENT_2))
    assert script.connect().fast_open[0].form is Form.EXPERIMENT_2
    script.learn(opt.fast_open(COOKIE, form=Form.EXPERIMENT_2))
    assert script.connect().fast_open == (opt.FastOpen(Form.EXPERIMENT_2, COOKIE),)


@pytest.mark.parametrize(("size", "fits"), [(4, True), (8, False), (16, False)])
def test_lack_of_option_space_makes_it_a_plain_handshake(size: int, fits: bool) -> None:
    script = Script(Settings(other_syn_options=18, sack=False, window_scaling=False))
    script.stack.cache.learn(CLIENT, SERVER, cookie=bytes(size))
    syn = script.connect()
    assert bool(syn.fast_open) is fits
    assert syn.payload == (DATA if fits else b"")
    assert len(syn.options) <= 40


def test_data_and_fin_in_the_syn_ack() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    script.answer(syn, SYN | ACK | FIN, ack=syn.end, payload=b"hi")
    assert [e.data for e in script.events if isinstance(e, Received)] == [b"hi"]
    assert script.connection.state is State.CLOSE_WAIT


def test_nothing_but_the_syn_goes_out_before_the_answer() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    script.connection.write(bytes(3000), script.now)
    script.connection.close(script.now)
    assert script.packets() == []
    sent = script.accept(syn, took=len(DATA))
    assert sum(len(each.payload) for each in sent) == 3000
    assert script.connection.state is State.FIN_WAIT_1


def test_simultaneous_open_with_data_in_the_syn() -> None:
    script = Script()
    script.learn()
    syn = script.connect()
    (crossed,) = script.answer(syn, SYN, payload=b"theirs")
    assert (crossed.flags, crossed.seq, crossed.ack) == (SYN | ACK, syn.seq, 5001)
    sent = script.answer(syn, SYN | ACK, ack=syn.seq + 1)
    assert script.connection.state is State.ESTABLISHED
    assert b"".join(each.payload for each in sent) == DATA
    (ack,) = script.answer(syn, ACK, seq=5001, ack=syn.end, payload=b"theirs")
    assert ack.ack == 5007


def test_the_cache_forgets_the_least_recently_used() -> None:
    script = Script(Settings(cache_size=2))
    for server in (SERVER, SERVER + 1):
        script.learn(server=server)
    script.connect()
    script.learn(server=SERVER + 2)
    assert script.connect(server=SERVER).cookie == COOKIE
    assert script.connect(server=SERVER + 1).cookie == b""
    assert len(script.stack.cache) == 2


def test_a_stray_answer_is_refused_and_a_reset_without_ack_is_not_believed() -> None:
    script = Script()
    syn = script.connect()
    assert script.answer(syn, ACK, ack=syn.seq)[0].flags == RST
    assert script.answer(syn, RST, seq=0) == []
    assert script.answer(syn, ACK, ack=syn.end) == []
    assert script.connection.state is State.SYN_SENT


def test_a_close_before_the_answer() -> None:
    script = Script()
    script.connect(b"")
    script.connection.close(script.now)
    assert script.connection.state is State.CLOSED
    script.connect()
    script.connection.close(script.now)
    assert script.connection.state is State.SYN_SENT


def test_connecting_from_an_address_of_somebody_else() -> None:
    script = Script()
    with pytest.raises(ValueError, match="not an address of this host"):
        script.stack.connect(SERVER, CLIENT, PORT, now=0.0)
