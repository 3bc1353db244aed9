"""ECN between the ends (RFC 3168), what ICMP does, and what stands in the IP headers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scapy_tfo import icmp
from scapy_tfo import option as opt
from scapy_tfo.reference import Icmp, Settings, Stack, State
from scapy_tfo.segment import ACK, CWR, ECE, SYN, Segment

from .wire import CLIENT, ISN, PORT, SERVER, Script, Wire, losing

NEXT = ISN + 1
SPEAKS = Settings(ecn=True)
BITS = ECE | CWR


@pytest.mark.parametrize(
    ("settings", "offer", "answer"),
    [(SPEAKS, BITS, ECE), (SPEAKS, ECE, 0), (SPEAKS, 0, 0), (Settings(), BITS, 0)],
)
def test_a_listener_agrees_to_ecn(settings: Settings, offer: int, answer: int) -> None:
    assert Script(settings).one(SYN | offer).flags & BITS == answer


def agreed() -> tuple[Script, int]:
    script = Script(SPEAKS)
    answer = script.one(SYN | BITS, options=opt.push_options([opt.mss(1000)]))
    script.establish(answer)
    return script, answer.end


def test_congestion_is_echoed_until_the_sender_answers() -> None:
    script, ack = agreed()
    plain = script.one(ACK, seq=NEXT, ack=ack, payload=b"a", traffic_class=2)
    marked = script.one(ACK, seq=NEXT + 1, ack=ack, payload=b"b", traffic_class=3)
    still = script.one(ACK, seq=NEXT + 2, ack=ack, payload=b"c", traffic_class=2)
    over = script.one(ACK | CWR, seq=NEXT + 3, ack=ack, payload=b"d", traffic_class=2)
    assert [each.flags & BITS for each in (plain, marked, still, over)] == [0, ECE, ECE, 0]
    assert {each.traffic_class for each in (plain, marked, still, over)} == {0}


def test_an_echo_halves_the_window_once_and_is_answered_once() -> None:
    script, ack = agreed()
    send = script.connection.send
    script.connection.write(bytes(4000), script.now)
    assert [each.traffic_class for each in script.answers()] == [2] * 4
    script.send(ACK | ECE, seq=NEXT, ack=ack + 1000)
    assert send.ssthresh == 2000
    script.send(ACK | ECE, seq=NEXT, ack=ack + 2000)
    script.connection.write(bytes(4000), script.now)
    sent = script.answers() + script.send(ACK, seq=NEXT, ack=ack + 4000)
    assert sum(bool(each.flags & CWR) for each in sent) == 1
    assert send.ssthresh == 2000


def test_a_segment_that_is_dropped_tells_nothing_of_congestion() -> None:
    """One whose acknowledgement is out of range (RFC 5961 section 5.2)."""
    script, ack = agreed()
    send = script.connection.send
    script.connection.write(bytes(4000), script.now)
    script.answers()
    (refused,) = script.send(ACK | ECE, seq=NEXT, ack=ack + 9000, payload=b"x", traffic_class=3)
    assert (refused.flags & BITS, send.ssthresh) == (0, 1 << 30)
    script.send(ACK | ECE, seq=NEXT, ack=ack + 1000)
    assert send.ssthresh == 2000


def test_an_ack_that_tells_of_congestion_opens_no_window() -> None:
    """RFC 3168 section 6.1.2, neither that which halves it nor one behind that."""
    script, ack = agreed()
    send = script.connection.send
    script.connection.write(bytes(8000), script.now)
    script.send(ACK | ECE, seq=NEXT, ack=ack + 1000)
    assert send.cwnd == send.ssthresh
    script.send(ACK | ECE, seq=NEXT, ack=ack + 2000)
    assert send.cwnd == send.ssthresh
    script.send(ACK, seq=NEXT, ack=ack + 3000)
    assert send.cwnd > send.ssthresh


def test_a_window_of_one_segment_is_not_halved_to_two() -> None:
    script, ack = agreed()
    send = script.connection.send
    script.connection.write(bytes(4000), script.now)
    script.wait(1.5)
    assert send.cwnd == 1000
    script.send(ACK | ECE, seq=NEXT, ack=ack + 1000)
    assert send.cwnd == 1000


@pytest.mark.parametrize("by_timer", [True, False])
def test_a_loss_is_told_of_by_the_next_new_text(by_timer: bool) -> None:
    script, ack = agreed()
    script.connection.write(bytes(8000), script.now)
    end = script.answers()[-1].end
    if by_timer:
        sent = script.wait(1.5)
    else:
        sent = [each for _ in range(3) for each in script.send(ACK, seq=NEXT, ack=ack)]
    for number in (4000, 6000, 8000):
        sent += script.send(ACK, seq=NEXT, ack=ack + number)
    new = [each for each in sent if each.payload and each.seq >= end]
    assert [bool(each.flags & CWR) for each in new[:3]] == [True, False, False]


def test_what_is_sent_again_is_not_ecn_capable() -> None:
    script, _ = agreed()
    script.connection.write(b"text", script.now)
    (first,) = script.answers()
    (again,) = script.wait(1)
    assert (first.traffic_class, again.traffic_class) == (2, 0)


def test_two_ends_agree_and_a_syn_that_is_lost_loses_ecn() -> None:
    for lost, flags in ([], [SYN | BITS, SYN | ACK | ECE]), ([0], [SYN | BITS, SYN, SYN | ACK]):
        client, server = Stack([CLIENT], SPEAKS, seed=1), Stack([SERVER], SPEAKS, seed=2)
        server.listen(PORT)
        wire = Wire(client, server, fate=losing(*lost))
        client.connect(CLIENT, SERVER, PORT, data=b"hello", now=0.0)
        wire.run(10)
        assert [each.flags for each in wire.log[: len(flags)]] == flags
        assert wire.received(server) == b"hello"
        assert any(each.traffic_class for each in wire.log) == (not lost)


def unreachable(script: Script, segment: Segment, code: int) -> None:
    script.stack.receive(icmp.unreachable(segment.to_bytes(), code=code).to_bytes(), script.now)


@pytest.mark.parametrize(
    ("how", "code", "ends"),
    [
        (Icmp.SYN_SENT, 3, False),
        (Icmp.HARD, 3, True),
        (Icmp.HARD, 2, True),
        (Icmp.HARD, 1, False),
        (Icmp.ADVICE, 3, False),
        (Icmp.IGNORED, 3, False),
    ],
)
def test_icmp_at_an_open_connection(how: Icmp, code: int, ends: bool) -> None:
    script = Script(Settings(icmp=how))
    script.establish(script.syn())
    script.connection.write(b"text", script.now)
    unreachable(script, script.answers()[0], code)
    script.answers()
    assert script.errors == ["ECONNREFUSED"] * ends
    assert bool(script.connection.soft_error) == (how is not Icmp.IGNORED)


def test_icmp_that_quotes_nothing_under_way_is_not_believed() -> None:
    script = Script(Settings(icmp=Icmp.HARD))
    script.establish(script.syn())
    script.connection.write(b"text", script.now)
    (segment,) = script.answers()
    unreachable(script, replace(segment, seq=(segment.seq + 5) % 2**32), 3)
    script.answers()
    assert script.errors == []


@pytest.mark.parametrize(
    ("how", "ends"),
    [(Icmp.SYN_SENT, True), (Icmp.HARD, True), (Icmp.ADVICE, False), (Icmp.IGNORED, False)],
)
def test_icmp_in_syn_sent(how: Icmp, ends: bool) -> None:
    client = Stack([CLIENT], Settings(icmp=how), seed=1)
    connection = client.connect(CLIENT, SERVER, PORT, now=0.0)
    (syn,) = client.take_packets()
    client.receive(icmp.unreachable(syn, code=3).to_bytes(), 0.0)
    assert (connection.state is State.CLOSED) == ends


def test_the_mtu_is_not_learnt_where_icmp_is_ignored() -> None:
    script = Script(Settings(icmp=Icmp.IGNORED))
    script.establish(script.syn())
    script.connection.write(b"text", script.now)
    (segment,) = script.answers()
    script.stack.receive(icmp.packet_too_big(segment.to_bytes(), mtu=600).to_bytes(), script.now)
    assert script.stack.mtu_towards(CLIENT) == 1500


def test_fields_of_the_ip_header_are_the_hosts_choice() -> None:
    script = Script(Settings(ttl=200, dscp=10, ip_ids="counted", ecn=True))
    first = script.one(SYN | BITS)
    script.establish(first)
    script.connection.write(b"text", script.now)
    (text,) = script.answers()
    assert [(each.hop_limit, each.ip_id) for each in (first, text)] == [(200, 1), (200, 2)]
    assert [each.traffic_class for each in (first, text)] == [40, 42]


def test_a_flow_has_one_label() -> None:
    from ipaddress import IPv6Address

    ours, theirs = IPv6Address("2001:db8::1"), IPv6Address("2001:db8::2")
    stack = Stack([ours], Settings(flow_labels=True, ip_ids="random"), seed=1)
    stack.listen(PORT)
    labels = []
    for sport in (1000, 1000, 1001):
        syn = Segment(src=theirs, dst=ours, sport=sport, dport=PORT, seq=ISN, flags=SYN)
        stack.receive(syn.to_bytes(), 0.0)
        labels += [Segment.from_bytes(packet).flow_label for packet in stack.take_packets()]
    assert labels[0] == labels[1] != labels[2]
    assert 0 not in labels
