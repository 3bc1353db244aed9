"""What the variants of scapy_tfo/variants/packets.py do differently: ECN, path MTU, IP options."""

from __future__ import annotations

import pytest

from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import CWR, ECE, SYN, Segment
from tests.reference.wire import CLIENT, SERVER

from .bench import MSS, REFERENCE, Talk, against

OFFERS = SYN | ECE | CWR


@pytest.mark.parametrize(
    ("name", "echo", "codepoint"),
    [(REFERENCE, 0, 0), ("speaks-ecn", ECE, 2), ("marks-text-ect1", ECE, 1)],
)
def test_ecn_that_is_offered(name: str, echo: int, codepoint: int) -> None:
    talk = Talk(name, flags=OFFERS)
    assert talk.syn_ack.flags & (ECE | CWR) == echo
    (text,) = talk.write(10)
    assert text.traffic_class == codepoint


@pytest.mark.parametrize(("name", "offers"), [(REFERENCE, 0), ("speaks-ecn", ECE | CWR)])
def test_ecn_is_offered_in_the_first_syn(name: str, offers: int) -> None:
    script = against(name)
    script.stack.connect(SERVER, CLIENT, 80, now=script.now)
    (syn,) = script.answers()
    (again,) = script.wait(1.5)
    assert syn.flags & (ECE | CWR) == offers
    assert not again.flags & (ECE | CWR)


def too_big(talk: Talk, segment: Segment, mtu: int) -> None:
    """A router tells the stack that the segment did not fit."""
    quoted = segment.to_bytes()
    error = IcmpError(src=CLIENT, dst=SERVER, type=3, code=4, quoted=quoted, mtu=mtu)
    talk.stack.receive(error.to_bytes(), talk.now)
    talk.answers()


@pytest.mark.parametrize(("name", "size"), [(REFERENCE, 960), ("forgets-the-path-mtu", MSS)])
def test_a_path_mtu_after_ten_minutes(name: str, size: int) -> None:
    talk = Talk(name)
    (text,) = talk.write(MSS)
    too_big(talk, text, 1000)
    talk.ack(MSS)
    talk.until(599)
    assert talk.pieces(talk.write(960)) == [(MSS, 960)]
    talk.ack(MSS + 960)
    talk.until(2)
    assert talk.pieces(talk.write(MSS))[0][1] == size


def test_a_second_word_from_a_router_puts_it_off() -> None:
    talk = Talk("forgets-the-path-mtu")
    for mtu in (1000, 900):
        (text, *_) = talk.write(900)
        too_big(talk, text, mtu)
        talk.ack(talk.connection.send.nxt - talk.begin)
        talk.until(400)
    assert talk.pieces(talk.write(MSS))[0][1] == 860
    talk.ack(talk.connection.send.nxt - talk.begin)
    talk.until(201)
    assert talk.pieces(talk.write(MSS))[0][1] == MSS


@pytest.mark.parametrize(("name", "mtu"), [(REFERENCE, 576), ("tries-the-next-plateau", 1006)])
def test_a_router_that_tells_no_mtu(name: str, mtu: int) -> None:
    talk = Talk(name)
    (text,) = talk.write(MSS)
    too_big(talk, text, 0)
    assert talk.stack.mtu_towards(CLIENT) == mtu


@pytest.mark.parametrize(("name", "words"), [(REFERENCE, 5), ("records-the-route", 7)])
def test_ip_options(name: str, words: int) -> None:
    script = against(name)
    syn = Segment(src=CLIENT, dst=SERVER, sport=40000, dport=80, seq=1, flags=SYN)
    script.stack.receive(syn.to_bytes(), 0.0)
    (packet,) = script.stack.take_packets()
    assert packet[0] == 4 << 4 | words
    # It is sound all the same, and no larger than the link takes.
    assert Segment.from_bytes(packet).is_syn_ack
    assert script.stack.mss_towards(CLIENT) == 1500 - 4 * words - 20
