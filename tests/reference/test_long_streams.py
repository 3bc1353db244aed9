"""What shows with age: much text, and losses one after the other (RFC 5681, RFC 6298)."""

from __future__ import annotations

import pytest

from scapy_tfo import seq
from scapy_tfo.reference import Settings
from scapy_tfo.reference.parts.ecn import Ecn
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.segment import ACK, ECE, FIN, RST, SYN, Segment

from .test_timers import MSS, NEXT, Sender
from .wire import CLIENT, PORT, SERVER, Script

ISS = 7


def much_later(size: int) -> SendSide:
    """The sending half after so many bytes in pieces, each of them acknowledged."""
    send = SendSide(ISS, Settings())
    send.mss, send.cwnd, send.wnd = MSS, 1 << 16, 1 << 16
    send.sent_syn()
    send.acknowledged(seq.add(ISS, 1), 0.0)
    left = size
    while left:
        piece = min(left, 1 << 29)
        send.nxt = send.point = send.base = seq.add(send.nxt, piece)
        send.acknowledged(send.nxt, 0.0)
        left -= piece
    return send


@pytest.mark.parametrize("size", [0, 3 << 30])
def test_three_duplicates_are_a_loss_however_much_was_sent_before(size: int) -> None:
    send = much_later(size)
    send.data += bytes(4 * MSS)
    while chunk := send.next_chunk():
        send.sent(chunk, 0.0)
    assert [send.duplicate() for _ in range(3)] == [False, False, True]


def test_the_syn_stays_acknowledged_when_numbers_come_round() -> None:
    send = much_later((1 << 32) - 1)
    assert send.una == send.iss
    assert send.syn_acked
    assert send.floor == send.una


@pytest.mark.parametrize("step", [1 << 20, 1 << 30])
def test_an_echo_of_congestion_counts_however_much_was_sent_before(step: int) -> None:
    ecn, ack = Ecn(ISS), ISS + 1
    for _ in range(3):
        ack = seq.add(ack, step)
        ecn.dress(answer(ACK, ack=0, seq=ack, payload=b"x"))
        assert not ecn.heard(answer(ACK, ack=ack))
    assert ecn.heard(answer(ACK | ECE, ack=seq.add(ack, 1)))


def answer(flags: int, **fields: int | bytes) -> Segment:
    return Segment(
        src=CLIENT, dst=SERVER, sport=40000, dport=PORT, flags=flags, **{"seq": NEXT, **fields}
    )


def test_a_timeout_that_was_doubled_stays_so_until_a_round_trip_is_measured() -> None:
    sender = Sender(Settings())
    sender.write(MSS)
    assert len(sender.wait(3.5)) == 2
    sender.ack(MSS)
    sender.write(MSS)
    assert sender.wait(3.9) == []
    assert len(sender.wait(0.2)) == 1
    sender.ack(2 * MSS)
    sender.write(MSS)
    sender.ack(3 * MSS)
    sender.write(MSS)
    assert len(sender.wait(1.1)) == 1


def test_a_syn_ack_that_was_repeated_for_a_syn_tells_no_round_trip() -> None:
    script = Script()
    answer = script.syn()
    script.now = 0.9
    assert script.syn() == answer
    script.establish(answer)
    assert script.connection.send.srtt is None


def test_an_older_acknowledgement_says_nothing_of_the_window() -> None:
    sender = Sender(Settings())
    sender.write(2 * MSS)
    sender.ack(2 * MSS)
    sender.send(ACK, seq=NEXT + 1, ack=sender.begin + MSS, window=0, payload=b"x")
    assert sender.connection.send.wnd > 0


@pytest.mark.parametrize(("ends", "told"), [(False, [RST | ACK]), (True, [])])
def test_an_abort_behind_both_fins_is_silent(ends: bool, told: list[int]) -> None:
    script = Script()
    script.establish(script.syn())
    connection = script.connection
    if ends:
        script.send(ACK | FIN, seq=NEXT, ack=connection.send.nxt)
        connection.close(script.now)
        assert [each.flags & (FIN | SYN) for each in script.answers()] == [FIN]
    connection.abort(script.now)
    assert [each.flags for each in script.answers()] == told
