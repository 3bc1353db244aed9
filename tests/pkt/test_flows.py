"""Assignment of packets to connections, in a script and on the wire."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.play.flows import Flows, NoFlowError
from scapy_tfo.segment import ACK, RST, SYN, Segment
from tests.pkt.lines import LOCAL, REMOTE, flow_of, inbound, outbound

ICMP = tree.Icmp(direction=tree.Direction.INBOUND, type="unreachable")
longs = st.integers(0, 2**32 - 1)


def flows() -> Flows:
    return Flows(LOCAL, REMOTE, 8080, itertools.count(40000).__next__)


def from_kernel(
    sport: int = 8080, dport: int = 40000, *, flags: int = ACK, seq: int = 0
) -> Segment:
    return Segment(src=LOCAL, dst=REMOTE, sport=sport, dport=dport, flags=flags, seq=seq)


# Numbers of a connection.


@given(longs, longs, longs, longs)
def test_numbers_go_to_the_wire_and_back(
    number: int, remote_isn: int, script_isn: int, live_isn: int
) -> None:
    flow = flow_of(remote_isn, live_isn)
    flow.script_isn = script_isn
    assert (script_isn + flow.local_offset(syn=True)) % 2**32 == live_isn
    assert (0 + flow.local_offset(syn=False)) % 2**32 == live_isn
    assert (0 + flow.remote_offset(syn=False)) % 2**32 == remote_isn
    assert (number + flow.remote_offset(syn=True)) % 2**32 == number


def test_numbers_that_are_not_known_yet_stay_as_they_are() -> None:
    flow = Flow(LOCAL, REMOTE, None, 80)
    for syn in (False, True):
        assert flow.local_offset(syn=syn) == flow.remote_offset(syn=syn) == 0
    assert flow.script_stamp(5) is None
    assert flow.live_stamp(5, scaled=True) is None


@given(first=longs, live=longs, later=longs)
def test_time_stamps_go_to_the_wire_and_back(first: int, live: int, later: int) -> None:
    flow = flow_of(0, 0)
    flow.note_stamp(first, live)
    on_wire = flow.live_stamp(later, scaled=True)
    assert on_wire is not None
    assert flow.script_stamp(on_wire) == later
    assert flow.live_stamp(first, scaled=False) == live


def test_a_time_stamp_that_came_otherwise_is_echoed_as_it_came() -> None:
    flow = flow_of(0, 0)
    flow.note_stamp(100, 1000)
    flow.note_stamp(200, 1101)
    assert flow.live_stamp(200, scaled=True) == 1101
    assert flow.live_stamp(201, scaled=True) == 1101
    assert flow.live_stamp(201, scaled=False) is None


# Servers.


def test_a_packet_after_listen_is_of_a_new_connection() -> None:
    found = flows()
    found.listening()
    first = found.of_inbound(inbound("S 7:7(0)"), 7)
    assert (first.remote_port, first.local_port, first.remote_isn) == (40000, 8080, 7)
    assert found.of_inbound(inbound(". 1:1(0) ack 1"), 1) is first
    assert found.of_outbound(outbound("S. 0:0(0) ack 1")) == (first,)
    assert found.owner(from_kernel()) is first
    found.listening()
    second = found.of_inbound(inbound("S 9:9(0)"), 9)
    assert second is not first
    assert second.remote_port == 40001
    assert found.owner(from_kernel()) is None


def test_a_repeated_syn_keeps_the_isn() -> None:
    found = flows()
    flow = found.of_inbound(inbound("S 7:7(0)"), 7)
    found.of_inbound(inbound("S 9:9(0)"), 9)
    assert flow.remote_isn == 7


def test_a_syn_after_a_reset_begins_anew() -> None:
    found = flows()
    flow = found.of_inbound(inbound("S 7:7(0)"), 7)
    found.spoken_of(flow, outbound("S. 3:3(0) ack 1"), from_kernel(flags=SYN | ACK, seq=500), 3)
    assert (flow.script_isn, flow.live_isn) == (3, 500)
    flow.note_stamp(1, 2)
    found.of_inbound(inbound("R 8:8(0)"), 8)
    assert (flow.remote_isn, flow.live_isn) == (7, 500)
    assert found.of_inbound(inbound("S 100:100(0)"), 100) is flow
    assert (flow.remote_isn, flow.script_isn, flow.live_isn) == (100, None, None)
    assert flow.script_stamp(2) is None


UNREACHABLE = tree.Icmp(direction=tree.Direction.INBOUND, type="unreachable")


def test_an_error_may_name_the_ports_of_its_connection() -> None:
    found = flows()
    other = found.of_inbound(inbound("5000 > 8080 S 7:7(0)"), 7)
    found.of_inbound(inbound("S 9:9(0)"), 9)
    assert found.of_icmp(replace(UNREACHABLE, ports=(5000, 8080))) is other


def test_nothing_can_come_before_there_is_a_connection() -> None:
    with pytest.raises(NoFlowError):
        flows().of_outbound(outbound("S. 0:0(0) ack 1"))
    with pytest.raises(NoFlowError):
        flows().of_icmp(UNREACHABLE)
    assert flows().owner(from_kernel()) is None
    assert flows().last == ""


def test_a_symbol_may_be_the_isn_of_a_script() -> None:
    found = flows()
    flow = found.of_inbound(inbound("S 0:0(0)"), 0)
    packet = outbound("S. ISN:ISN(0) ack 1")
    found.spoken_of(flow, packet, from_kernel(flags=SYN | ACK, seq=500), 77)
    assert flow.local_offset(syn=True) == 500 - 77
    found.spoken_of(flow, packet, from_kernel(flags=SYN | ACK, seq=600), 77)
    assert flow.live_isn == 500


# Clients.


def test_the_kernels_first_syn_shows_its_port_and_isn() -> None:
    found = flows()
    found.socket_made()
    found.connecting(REMOTE, 80)
    assert found.owner(from_kernel(5000, 80)) is None
    assert found.owner(from_kernel(5000, 81, flags=SYN)) is None
    flow = found.owner(from_kernel(5000, 80, flags=SYN, seq=99))
    assert flow is not None
    assert (flow.local_port, flow.live_isn) == (5000, 99)
    assert found.of_outbound(outbound("S 3:3(0)")) == (flow,)
    found.spoken_of(flow, outbound("S 3:3(0)"), from_kernel(5000, 80, flags=SYN, seq=99), 3)
    answered = found.of_inbound(inbound("S. 1000:1000(0) ack 4"), 1000)
    assert answered is flow
    assert flow.remote_isn == 1000
    assert found.last == f"{REMOTE}:80>{LOCAL}:5000"


def test_another_syn_ack_is_counted_from_its_own_isn() -> None:
    found = flows()
    found.connecting(REMOTE, 80)
    flow = found.owner(from_kernel(5000, 80, flags=SYN, seq=99))
    assert flow is not None
    found.spoken_of(flow, outbound("S 0:0(0)"), from_kernel(5000, 80, flags=SYN, seq=99), 0)
    found.of_inbound(inbound("S. 10:10(0) ack 500"), 10)
    found.of_inbound(inbound("S. 20:20(0) ack 1"), 20)
    assert flow.remote_isn == 20


def test_a_new_socket_leaves_the_connection_before() -> None:
    found = flows()
    found.of_inbound(inbound("S 7:7(0)"), 7)
    found.socket_made()
    assert found.owner(from_kernel()) is None
    found.connecting(REMOTE, 80)
    flow = found.owner(from_kernel(5000, 80, flags=SYN))
    assert found.of_icmp(UNREACHABLE) is flow


def test_while_one_connects_the_one_before_goes_on() -> None:
    found = flows()
    server = found.of_inbound(inbound("S 7:7(0)"), 7)
    found.connecting(REMOTE, 80)
    assert found.owner(from_kernel()) is server
    client = found.owner(from_kernel(5000, 80, flags=SYN))
    assert found.of_outbound(outbound("S 0:0(0)")) == (server, client)


# Ports that a script names.


def test_connections_by_their_ports() -> None:
    found = flows()
    syn, answer = inbound("5000 > 8080 S 5:5(0)"), outbound("8080 > 5000 S. 0:0(0) ack 1")
    found.watch([syn, answer, outbound("S. 0:0(0)")])
    one = found.of_inbound(syn, 5)
    other = found.of_inbound(inbound("5001 > 8080 S 6:6(0)"), 6)
    assert one is not other
    assert (one.ports, one.remote_isn, one.remote_port, one.local_port) == (
        (5000, 8080),
        5,
        5000,
        8080,
    )
    assert found.of_outbound(answer) == (one,)
    assert found.owner(from_kernel(8080, 5000, flags=RST)) is one
    assert found.owner(from_kernel(8080, 5001)) is None
    assert found.of_icmp(replace(ICMP, ports=(5001, 8080))) is other
    assert found.last == f"{REMOTE}:5001>{LOCAL}:8080"


def test_what_strays_has_the_numbers_of_the_connection_it_strays_from() -> None:
    found = flows()
    flow = found.of_inbound(inbound("S 0:0(0)"), 0)
    found.spoken_of(flow, outbound("S. 0:0(0) ack 1"), from_kernel(flags=SYN | ACK, seq=500), 0)
    stray = found.of_inbound(inbound("5000 > 8080 . 1:1(0) ack 1"), 1)
    assert stray.local_offset(syn=False) == 500


def test_ports_may_be_others_on_the_wire() -> None:
    def on_wire(ports: tuple[int, int], _client: int) -> tuple[int, int]:
        return ports[0] + 10000, 443

    found = Flows(LOCAL, REMOTE, 8080, itertools.count(40000).__next__, on_wire)
    found.watch([outbound("8080 > 5000 S. 0:0(0) ack 1")])
    flow = found.of_inbound(inbound("5000 > 8080 S 0:0(0)"), 0)
    assert (flow.remote_port, flow.local_port) == (15000, 443)
    assert found.owner(from_kernel(443, 15000)) is flow
    assert found.owner(from_kernel(8080, 5000)) is None
