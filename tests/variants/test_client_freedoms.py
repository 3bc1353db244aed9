"""Each client variant shows that it uses its freedom, in written conversations."""

from __future__ import annotations

from typing import Any

import pytest

from scapy_tfo import option as opt
from scapy_tfo.client_variants.registry import client_named
from scapy_tfo.icmp import unreachable
from scapy_tfo.option import Form
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, ECE, RST, SYN, Address, Segment
from tests.reference.wire import CLIENT, OTHER, SERVER

COOKIE = b"cookie!!"
TEXT = bytes(range(256)) * 12


class Peer:
    """The server's end of a client: takes its packets apart, and sends it written segments."""

    def __init__(self, name: str, server: Address = SERVER) -> None:
        variant = client_named(name)
        self.stack: Stack = variant.stack([CLIENT], variant.settings, seed=1)
        self.server = server
        self.now = 1.0

    def connect(self, text: bytes = TEXT, port: int = 80, server: Address | None = None) -> Segment:
        to = self.server if server is None else server
        self.stack.connect(CLIENT, to, port, data=text, now=self.now)
        (syn,) = self.sent()
        return syn

    def sent(self) -> list[Segment]:
        return [Segment.from_bytes(packet) for packet in self.stack.take_packets()]

    def answer(self, syn: Segment, taken: int = 0, **fields: Any) -> list[Segment]:
        """What a SYN-ACK for so many bytes brings. fields: of Segment."""
        values = {"seq": 7, "flags": SYN | ACK, "window": 60_000, "ack": syn.seq + 1 + taken}
        values |= fields
        sent = Segment(
            src=syn.dst,
            sport=syn.dport,
            dst=syn.src,
            dport=syn.sport,
            **{**values, "ack": values["ack"] % (1 << 32)},
        )
        self.stack.receive(sent.to_bytes(), self.now)
        return self.sent()

    def grant(
        self,
        *,
        mss: int = 1460,
        form: Form = Form.IANA,
        port: int = 80,
        server: Address | None = None,
    ) -> Segment:
        """A connection that gets a cookie; its SYN."""
        syn = self.connect(b"", port, server)
        options = opt.push_options([opt.mss(mss), opt.fast_open(COOKIE, form=form)])
        self.answer(syn, options=options)
        return syn

    def refuse(self, **where: Any) -> None:
        """Grant a cookie, and refuse the fast open that it leads to."""
        self.grant(**where)
        syn = self.connect(**where)
        assert syn.payload
        self.answer(syn)

    def wait(self, seconds: float) -> list[Segment]:
        """What timers send in so many seconds."""
        end = self.now + seconds
        while (when := self.stack.deadline()) is not None and when <= end:
            self.now = when
            self.stack.on_timer(when)
        self.now = end
        return self.sent()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("offers-no-timestamps", opt.TIMESTAMPS),
        ("offers-no-window-scale", opt.WINDOW_SCALE),
        ("offers-no-sack", opt.SACK_PERMITTED),
    ],
)
def test_an_option_is_not_offered(name: str, kind: int) -> None:
    assert Peer("reference").connect().option(kind) is not None
    assert Peer(name).connect().option(kind) is None


def test_something_is_echoed_in_the_syn() -> None:
    times = Peer("echoes-something-in-the-syn").connect().timestamps
    assert times is not None
    assert times[1]


def test_ports_come_in_order() -> None:
    peer = Peer("takes-ports-in-order")
    first, second = peer.connect().sport, peer.connect().sport
    assert second == first + 1


def test_a_port_is_taken_again() -> None:
    peer = Peer("takes-the-first-free-port")
    syn = peer.connect()
    peer.answer(syn, flags=RST | ACK, seq=0)
    again = peer.connect()
    assert (again.sport, again.seq == syn.seq) == (syn.sport, False)


def test_a_request_has_data() -> None:
    peer = Peer("asks-with-data")
    syn = peer.connect()
    assert syn.payload
    assert [each.is_request for each in syn.fast_open] == [True]
    peer.answer(syn, len(syn.payload))
    assert not peer.connect().fast_open, "it was not answered, and is not made again at once"


def test_the_option_is_of_kind_254() -> None:
    peer = Peer("asks-in-the-experimental-form")
    assert peer.grant(form=Form.EXPERIMENT_2).fast_open[0].form is Form.EXPERIMENT_2
    syn = peer.connect()
    assert syn.cookie == COOKIE
    assert syn.fast_open[0].form is Form.EXPERIMENT_2


@pytest.mark.parametrize(
    ("name", "seconds"), [("asks-again-after-a-minute", 60), ("asks-again-after-an-hour", 3600)]
)
def test_a_request_is_made_again_after_a_while(name: str, seconds: float) -> None:
    peer = Peer(name)
    peer.answer(peer.connect())
    peer.now += seconds - 5
    assert not peer.connect().fast_open
    peer.now += 10
    assert peer.connect().fast_open


@pytest.mark.parametrize(
    ("name", "seconds"), [("tries-again-after-a-minute", 60), ("never-tries-again", 1e9)]
)
def test_fast_open_is_tried_again_after_a_while(name: str, seconds: float) -> None:
    peer = Peer(name)
    peer.refuse()
    peer.now += seconds - 5
    assert not peer.connect().payload
    peer.now += 10
    assert bool(peer.connect().payload) is (name == "tries-again-after-a-minute")


def test_a_refusal_holds_for_all_ports() -> None:
    for name, plain in (("reference", False), ("leaves-all-ports-alone", True)):
        peer = Peer(name)
        peer.refuse()
        assert (not peer.connect(port=81).fast_open) is plain


def test_a_cookie_is_of_its_port() -> None:
    peer = Peer("cookie-stays-at-its-port")
    peer.grant()
    other = peer.connect(port=81)
    assert [each.is_request for each in other.fast_open] == [True]
    assert peer.connect().cookie == COOKIE


def test_a_cookie_is_of_an_hour() -> None:
    peer = Peer("cookie-lives-an-hour")
    peer.grant()
    peer.now += 3599
    assert peer.connect().cookie == COOKIE
    peer.now += 2
    assert [each.is_request for each in peer.connect().fast_open] == [True]


def test_four_servers_are_remembered() -> None:
    peer = Peer("remembers-four-servers")
    servers = [OTHER + number for number in range(5)]
    for server in servers:
        peer.grant(server=server)
    found = [peer.connect(server=server).cookie for server in reversed(servers)]
    assert found == [COOKIE] * 4 + [b""]


def test_who_grants_nothing_is_forgotten() -> None:
    for name, size in (("reference", 1), ("forgets-who-grants-nothing", 0)):
        peer = Peer(name)
        peer.answer(peer.connect())
        assert len(peer.stack.cache) == size


@pytest.mark.parametrize(
    ("name", "mss", "size"),
    [
        ("remembers-no-mss", 1460, range(400, 537)),
        ("remembers-no-mss", 256, range(400, 537)),
        ("uses-a-large-mss", 3000, range(2900, 3001)),
        ("half-of-the-data-in-the-syn", 1000, range(450, 501)),
    ],
)
def test_amount_of_data_in_the_syn(name: str, mss: int, size: range) -> None:
    peer = Peer(name)
    peer.grant(mss=mss)
    assert len(peer.connect().payload) in size


def test_the_whole_syn_is_repeated() -> None:
    peer = Peer("repeats-the-whole-syn")
    peer.grant()
    syn = peer.connect()
    (again,) = peer.wait(1)
    assert (again.payload, again.cookie) == (syn.payload, COOKIE)


@pytest.mark.parametrize(("name", "again"), [("offers-ecn", False), ("offers-ecn-again", True)])
def test_ecn_is_offered(name: str, again: bool) -> None:
    peer = Peer(name)
    assert peer.connect().flags & ECE
    (second,) = peer.wait(1)
    assert bool(second.flags & ECE) is again


def test_the_syn_is_repeated_after_three_seconds() -> None:
    peer = Peer("repeats-the-syn-after-three-seconds")
    peer.connect()
    assert not peer.wait(2.9)
    assert len(peer.wait(0.2)) == 1


def test_the_syn_is_timed_by_the_round_trip() -> None:
    peer = Peer("times-the-syn-by-the-round-trip")
    syn = peer.connect()
    peer.now += 0.1
    peer.answer(syn)
    peer.connect(port=81)
    peer.wait(0.14)
    assert any(each.is_syn and each.dport == 81 for each in peer.wait(0.02))


def test_the_syn_is_repeated_ten_times() -> None:
    peer = Peer("repeats-the-syn-ten-times")
    peer.connect()
    assert len(peer.wait(900)) == 10


def test_refused_data_follows_the_ack() -> None:
    peer = Peer("acknowledges-before-refused-data")
    peer.grant()
    syn = peer.connect()
    first, second, *_ = peer.answer(syn)
    assert not first.payload
    assert (second.seq, second.payload[:9]) == ((syn.seq + 1) % (1 << 32), TEXT[:9])


def test_new_data_follows_the_ack() -> None:
    peer = Peer("acknowledges-before-new-data")
    peer.grant()
    syn = peer.connect()
    first, second, *_ = peer.answer(syn, len(syn.payload))
    assert not first.payload
    assert second.payload == TEXT[len(syn.payload) :][: len(second.payload)]


def test_a_soft_error_ends_the_attempt() -> None:
    for name, connections in (("reference", 1), ("soft-errors-end-the-attempt", 0)):
        peer = Peer(name)
        syn = peer.connect()
        error = unreachable(syn.to_bytes(), code=1)
        peer.stack.receive(error.to_bytes(), peer.now)
        assert len(peer.stack.connections) == connections


def test_the_exact_rst_is_believed() -> None:
    for name, connections in (("reference", 0), ("believes-the-exact-rst", 1)):
        peer = Peer(name)
        syn = peer.connect()
        peer.answer(syn, flags=RST | ACK, seq=9)
        assert len(peer.stack.connections) == connections
        peer.answer(syn, flags=RST | ACK, seq=0)
        assert not peer.stack.connections
