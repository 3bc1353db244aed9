"""A path that delays and duplicates, and connections that a run leaves at the target."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.pkt.remote.wire import RemoteWire
from scapy_tfo.runner.clock import VirtualLoop
from tests.pkt.remotely import LISTENER, simulated

TALK = f"""\
{LISTENER}
+0 < S 0:0(0) win 65535 <mss 1460>
+0 > S. 0:0(0) ack 1 <mss *>
+0 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
+0 < P. 1:11(10) ack 1 win 65535
+0 > . 1:1(0) ack 11
+0 read(4, ..., 512) = 10
+0 write(4, ..., 10) = 10
+0 > P. 1:11(10) ack 11
+0 < P. 11:16(5) ack 11 win 65535
+0 read(4, ..., 512) = 5
+0 write(4, ..., 5) = 5
+0 > P. 11:16(5) ack 16
"""


def test_what_comes_twice_is_passed_by() -> None:
    with simulated(Impairment(duplicate=1.0, delay=0.01)) as here:
        assert here.play(TALK).failures == []


def test_a_repetition_that_the_script_wants_is_not() -> None:
    again = f"{LISTENER}+0 < S 0:0(0) win 65535 <mss 1460>\n+0 > S. 0:0(0) ack 1 <mss *>\n"
    with simulated() as here:
        assert here.play(again + "+.5~+3.5 > S. 0:0(0) ack 1 <mss *>\n").failures == []


def test_only_a_repetition_came_where_something_else_should() -> None:
    text = f"{LISTENER}+0 < S 0:0(0) win 65535 <mss 1460>\n+0 > S. 0:0(0) ack 1 <mss *>\n"
    with simulated() as here:
        [failure] = here.play(text + "+0 > P. 1:11(10) ack 1\n").failures
    assert failure.line == 7
    assert failure.actual.startswith("> S. 0:0(0)")


def test_what_is_still_on_its_way_breaks_a_silence() -> None:
    spoken = TALK[: TALK.index("+0 > . 1:1")] + "+0 expect none for 50ms\n"
    with simulated(Impairment(delay=0.1)) as here:
        assert here.play(spoken).failures == []
        [failure, *_] = here.play(spoken, rtt=200_000_000).failures
    assert failure.problem == "a packet came"


def test_the_target_keeps_no_connection() -> None:
    with simulated() as here:
        here.play(TALK)
        assert here.lab.host.stack.connections == {}


def test_a_half_open_connection_is_reset_too() -> None:
    text = f"{LISTENER}+0 < S 0:0(0) win 65535 <mss 1460>\n+0 > S. 0:0(0) ack 1 <mss *>\n"
    with simulated() as here:
        here.play(text)
        assert here.lab.host.stack.connections == {}


@given(st.integers(min_value=0, max_value=10**11))
def test_who_sleeps_until_a_time_wakes_then_and_not_much_later(ahead: int) -> None:
    with simulated() as here:
        when = here.wire.now() + ahead
        here.wire.sleep_until(when)
        assert when <= here.wire.now() <= when + 10_000


def test_nothing_comes_until_the_time_is_over() -> None:
    with simulated() as here:
        until = here.wire.now() + 1_000_000_000
        assert here.wire.receive(until) is None
        assert here.wire.now() >= until - 10_000


@given(st.lists(st.integers(min_value=1, max_value=65535), max_size=20))
def test_named_ports_keep_their_live_ones_and_share_none(ports: list[int]) -> None:
    with simulated() as here:
        live = [here.wire.on_wire((port, 8080), 1)[0] for port in ports]
        assert dict(zip(ports, live, strict=True)) == {
            port: here.wire.on_wire((port, 9), 1)[0] for port in ports
        }
        assert len(set(live)) == len(set(ports))


def test_a_packet_waits_for_its_turn_on_a_paced_link() -> None:
    with simulated() as here:
        link, sent = here.lab.link, []

        class Paced:
            """Has room for a packet in 50 ms."""

            def __getattr__(self, name: str) -> object:
                return getattr(link, name)

            @property
            def lag(self) -> float:
                return max(0.05 - asyncio.get_running_loop().time(), 0.0)

            def send(self, packet: bytes) -> None:
                sent.append((asyncio.get_running_loop().time(), packet))

        loop = VirtualLoop()
        source = here.lab.link.sources[0]
        RemoteWire(Paced(), loop, [source], {}).send(b"now")
        [(when, packet)] = sent
        assert packet == b"now"
        assert when >= 0.05
