"""SEGMENT ARRIVES at a connection that began as a fast open (RFC 9293 section 3.10.7.4)."""

from __future__ import annotations

import pytest

from scapy_tfo import icmp
from scapy_tfo import option as opt
from scapy_tfo.reference import Settings, State
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment

from .wire import ISN, Script

DATA = b"request"
NEXT = ISN + 1 + len(DATA)
FULL = [opt.mss(1460), opt.sack_permitted(), opt.timestamps(5000), opt.nop(), opt.window_scale(7)]


def opened(
    *options: opt.RawOption, settings: Settings | None = None, **fields: object
) -> tuple[Script, Segment]:
    """A fast open in SYN-RCVD, and its SYN-ACK."""
    script = Script(settings)
    block = opt.push_options([*options, opt.fast_open(script.cookie())])
    return script, script.syn(DATA, options=block, **fields)


def established(*options: opt.RawOption, settings: Settings | None = None) -> tuple[Script, int]:
    """A fast open past its handshake, and the server's next sequence number."""
    script, answer = opened(*options, settings=settings)
    script.establish(answer)
    return script, answer.end


def stamped(value: int) -> bytes:
    return opt.push_options([opt.nop(), opt.nop(), opt.timestamps(value, 1)])


def test_data_and_fin_with_the_handshakes_ack() -> None:
    script, answer = opened()
    (ack,) = script.send(FIN | ACK, seq=NEXT, ack=answer.end, payload=b"more")
    assert ack.ack == NEXT + 5
    assert (script.received, script.ends) == (DATA + b"more", 1)
    assert script.connection.state is State.CLOSE_WAIT


def test_fin_that_overtakes_the_data() -> None:
    script, answer = opened()
    script.send(FIN | ACK, seq=NEXT + 4, ack=answer.end)
    assert script.ends == 0
    (ack,) = script.send(ACK, seq=NEXT, ack=answer.end, payload=b"more")
    assert ack.ack == NEXT + 5
    again = script.one(FIN | ACK, seq=NEXT + 4, ack=answer.end)
    assert again.ack == NEXT + 5
    assert (script.received, script.ends) == (DATA + b"more", 1)


def test_segments_out_of_order_overlapping_and_doubled() -> None:
    script, ack = established(*FULL[:2])
    for at in (6, 3, 3, 9, 0, 4):
        last = script.one(ACK, seq=NEXT + at, ack=ack, payload=b"abcdefghijkl"[at : at + 5])
    assert script.received == DATA + b"abcdefghijkl"
    assert last.ack == NEXT + 12


def test_held_data_is_reported_in_sack() -> None:
    script, ack = established(*FULL[:2])
    answer = script.one(ACK, seq=NEXT + 10, ack=ack, payload=b"x" * 5)
    block = answer.option(opt.SACK)
    assert block is not None
    assert block.data == (NEXT + 10).to_bytes(4, "big") + (NEXT + 15).to_bytes(4, "big")


@pytest.mark.parametrize("wrong", [-2, -1, 1, 1000, 2**31])
@pytest.mark.parametrize("flags", [ACK, ACK | FIN])
def test_ack_of_something_never_sent_in_syn_rcvd_is_reset(wrong: int, flags: int) -> None:
    script, answer = opened()
    number = (answer.end + wrong) % 2**32
    refusal = script.one(flags, seq=NEXT, ack=number, payload=b"evil")
    assert (refusal.flags, refusal.seq) == (RST, number)
    assert script.received == DATA
    assert script.connection.state is State.SYN_RCVD


def test_segment_without_ack_in_syn_rcvd_is_dropped() -> None:
    script, _ = opened()
    assert script.send(PSH, seq=NEXT, payload=b"evil") == []
    assert script.received == DATA


def test_ack_of_something_never_sent_is_answered_by_an_ack() -> None:
    script, ack = established()
    answer = script.one(ACK, seq=NEXT, ack=ack + 1, payload=b"evil")
    assert (answer.flags, answer.ack) == (ACK, NEXT)
    assert script.received == DATA


def test_outside_the_window_an_ack_comes_back() -> None:
    script, ack = established()
    for at in (ISN, NEXT + 65535, NEXT + 2**31):
        answer = script.one(ACK, seq=at, ack=ack, payload=b"e")
        assert (answer.flags, answer.ack) == (ACK, NEXT)


@pytest.mark.parametrize("handshake", [False, True])
def test_rst_is_believed_only_where_it_is_exact(handshake: bool) -> None:
    script, answer = opened()
    if handshake:
        script.establish(answer)
    assert script.send(RST, seq=NEXT - 1) == []
    assert script.send(RST, seq=NEXT + 65535) == []
    challenge = script.one(RST, seq=NEXT + 1)
    assert (challenge.flags, challenge.ack) == (ACK, NEXT)
    assert script.errors == []
    assert script.send(RST, seq=NEXT) == []
    assert script.errors == ["ECONNRESET"]
    assert script.stack.connections == {}


def test_rst_of_a_plain_half_open_connection_is_not_told() -> None:
    script = Script()
    script.syn()
    script.send(RST, seq=ISN + 1)
    assert script.events == []
    assert script.stack.connections == {}


def test_after_the_handshake_the_window_is_scaled() -> None:
    script, answer = opened(opt.mss(1280), FULL[4], window=100)
    script.connection.write(bytes(4000), script.now)
    assert sum(len(a.payload) for a in script.answers()) == 100
    sent = script.send(ACK, seq=NEXT, ack=answer.end + 100, window=20)
    assert sum(len(a.payload) for a in sent) == 2560
    assert sent[0].window == script.stack.settings.receive_window >> 3


def test_a_large_first_write_uses_the_window_at_once() -> None:
    script, answer = opened(opt.mss(1000))
    script.connection.write(bytes(15_000), script.now)
    early = script.answers()
    assert [len(a.payload) for a in early] == [1000] * 4
    sent = script.send(ACK, seq=NEXT, ack=answer.end + 4000, window=10_000)
    assert [len(a.payload) for a in sent] == [1000] * 5


def test_the_first_data_echoes_the_newest_timestamp() -> None:
    script, answer = opened(*FULL[:4])
    script.send(ACK, seq=NEXT, ack=answer.end, options=stamped(6000), payload=b"more")
    script.connection.write(b"answer", script.now)
    (data,) = script.answers()
    assert data.timestamps is not None
    assert data.timestamps[1] == 6000


def test_an_old_timestamp_is_dropped_with_an_ack() -> None:
    script, answer = opened(*FULL[:4])
    script.establish(answer, options=stamped(6000))
    old = script.one(ACK, seq=NEXT, ack=answer.end, options=stamped(5999), payload=b"evil")
    assert (old.flags, old.ack) == (ACK, NEXT)
    assert script.send(ACK, seq=NEXT, ack=answer.end, payload=b"evil") == []
    assert script.received == DATA


def test_zero_window_is_probed_until_it_opens() -> None:
    script, ack = established()
    script.send(ACK, seq=NEXT, ack=ack, window=0)
    script.connection.write(b"answer", script.now)
    assert script.answers() == []
    for seconds in (1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60):
        (probe,) = script.wait(seconds)
        assert probe.payload == b"a"
        script.send(ACK, seq=NEXT, ack=ack, window=0)
    (rest,) = script.send(ACK, seq=NEXT, ack=ack, window=500)
    assert rest.payload == b"answer"


def test_text_that_a_window_lets_out_has_its_own_timeout() -> None:
    """Not what is left of the time to the next probe."""
    script, ack = established()
    script.send(ACK, seq=NEXT, ack=ack, window=0)
    script.connection.write(b"answer", script.now)
    assert script.wait(0.9) == []
    (first,) = script.send(ACK, seq=NEXT, ack=ack, window=500)
    assert script.wait(0.9) == []
    assert [each.payload for each in script.wait(0.1)] == [first.payload] == [b"answer"]


def test_text_that_is_under_way_stays_so_when_a_closed_window_opens() -> None:
    """RFC 6298 section 5: not before its timeout."""
    script, ack = established()
    script.connection.write(b"answer", script.now)
    (first,) = script.answers()
    assert script.send(ACK, seq=NEXT, ack=ack, window=0) == []
    assert script.wait(0.1) == []
    assert script.send(ACK, seq=NEXT, ack=ack, window=500) == []
    assert script.wait(0.8) == []
    assert script.wait(0.2) == [first]


def test_unanswered_data_backs_off_and_is_given_up_after_minutes() -> None:
    script, _ = established()
    script.connection.write(b"answer", script.now)
    script.answers()
    assert len(script.wait(100)) == 6
    assert script.errors == []
    script.wait(200)
    assert script.errors == ["ETIMEDOUT"]


def test_three_duplicates_bring_the_segment_at_once() -> None:
    script, ack = established(opt.mss(1000))
    script.connection.write(bytes(4000), script.now)
    script.answers()
    sent = [script.send(ACK, seq=NEXT, ack=ack) for _ in range(3)]
    assert [[(a.seq - ack) for a in each] for each in sent] == [[], [], [0]]
    assert script.send(ACK, seq=NEXT, ack=ack + 4000) == []


def test_idle_then_loss_then_bulk_leaves_nothing_of_the_handshake() -> None:
    script, answer = opened(opt.mss(1000))
    script.wait(1)
    script.establish(answer)
    script.wait(3600)
    script.connection.write(bytes(3000), script.now)
    assert len(script.answers()) == 1
    assert len(script.wait(30)) == 3
    assert script.errors == []
    ack = answer.end
    while ack < answer.end + 3000:
        ack += 1000
        script.send(ACK, seq=NEXT, ack=ack)
    assert script.connection.send.outstanding == 0


def test_an_active_close_ends_in_time_wait_and_may_be_reopened() -> None:
    script, ack = established(settings=Settings(msl=30))
    script.connection.close(script.now)
    script.answers()
    script.send(ACK, seq=NEXT, ack=ack + 1)
    assert script.connection.state is State.FIN_WAIT_2
    last = script.one(FIN | ACK, seq=NEXT, ack=ack + 1)
    assert script.connection.state is State.TIME_WAIT
    script.wait(59)
    assert script.one(FIN | ACK, seq=NEXT, ack=ack + 1).ack == last.ack
    assert script.one(SYN, seq=ISN).flags == ACK
    script.wait(59)
    assert script.connection.state is State.TIME_WAIT
    again = script.one(SYN, seq=NEXT + 2)
    assert again.is_syn_ack
    assert 0 < again.seq - ack - 1 <= 1 << 24


@pytest.mark.parametrize("kept", ["SYN with FIN", "nobody listens", "full"])
def test_a_syn_that_nothing_comes_of_leaves_time_wait(kept: str) -> None:
    """RFC 9293 section 3.6.1: the FIN that comes again is acknowledged, not reset."""
    script = Script(backlog=1)
    answer = script.syn()
    script.establish(answer)
    script.connection.close(script.now)
    script.answers()
    script.one(FIN | ACK, seq=answer.ack, ack=answer.end + 1)
    if kept == "nobody listens":
        script.stack.close_listener(script.listener)
    elif kept == "full":
        script.one(SYN, sport=40001)
    flags = SYN | FIN if kept == "SYN with FIN" else SYN
    assert not any(each.is_syn_ack for each in script.send(flags, seq=answer.ack + 2))
    assert script.one(FIN | ACK, seq=answer.ack, ack=answer.end + 1).flags == ACK


def test_an_answer_to_a_probe_is_no_duplicate() -> None:
    script, ack = established()
    script.connection.write(b"answer", script.now)
    script.answers()
    sent = [script.send(ACK, seq=NEXT, ack=ack, window=0) for _ in range(5)]
    assert sent == [[]] * 5


def test_old_times_are_forgotten_only_for_a_segment_inside_the_window() -> None:
    """RFC 7323 section 5.3: R2 comes before R3."""
    script, opening = opened(opt.mss(1000), opt.timestamps(50_000, 0))
    script.establish(opening, options=stamped(50_000))
    talk, ack = script.connection, opening.end
    script.wait(25 * 86_400)

    def told(number: int, tsval: int) -> int:
        options = stamped(tsval)
        answer = script.one(ACK, seq=number, ack=ack, payload=b"x", options=options)
        assert answer.timestamps is not None
        return answer.timestamps[1]

    assert told(NEXT + 500_000, 40_000) == 50_000
    assert told(NEXT, 30_000) == 30_000
    assert talk.recv.ts_recent == 30_000


def test_closing_at_the_same_time() -> None:
    script, ack = established()
    script.connection.close(script.now)
    script.answers()
    script.one(FIN | ACK, seq=NEXT, ack=ack)
    assert script.connection.state is State.CLOSING
    script.send(ACK, seq=NEXT + 1, ack=ack + 1)
    assert script.connection.state is State.TIME_WAIT
    script.wait(240)
    assert script.stack.connections == {}


def test_unreachable_in_syn_rcvd_is_advice_and_names_the_end() -> None:
    script, answer = opened()
    script.stack.receive(icmp.unreachable(answer.to_bytes(), code=1).to_bytes(), script.now)
    assert script.connection.state is State.SYN_RCVD
    script.wait(100)
    assert script.errors == ["EHOSTUNREACH"]


def test_packet_too_big_is_followed_at_once_and_only_for_what_was_sent() -> None:
    script, _ = opened(opt.mss(1460))
    script.connection.write(bytes(2000), script.now)
    first, second = script.answers()
    old = icmp.packet_too_big(Segment.to_bytes(first)[:24] + bytes(8), mtu=600)
    script.stack.receive(old.to_bytes(), script.now)
    assert script.answers() == []
    script.stack.receive(icmp.packet_too_big(first.to_bytes(), mtu=600).to_bytes(), script.now)
    again = script.answers()
    assert [len(a.payload) for a in again] == [560, 560, 560, 320]
    assert again[0].seq == first.seq
    assert second.seq == first.seq + 1460


def test_a_router_may_tell_each_connection_of_one_path() -> None:
    """RFC 8201 section 5.2: also what the host knows already."""
    script, sent = Script(), list[Segment]()
    for sport in (40000, 40001):
        answer = script.syn(sport=sport, options=opt.push_options([opt.mss(1460)]))
        script.send(ACK, sport=sport, seq=NEXT, ack=answer.end)
        script.connection.write(bytes(1400), script.now)
        sent += script.answers()
    for large in sent:
        assert len(large.payload) == 1400
        script.stack.receive(icmp.packet_too_big(large.to_bytes(), mtu=600).to_bytes(), script.now)
        assert [len(each.payload) for each in script.answers()] == [560, 560, 280]


def test_the_application_may_be_late() -> None:
    script, _ = established()
    script.send(RST, seq=NEXT)
    script.connection.write(b"late", script.now)
    script.connection.close(script.now)
    script.connection.abort(script.now)
    assert script.answers() == []


def test_writing_after_close_is_an_error() -> None:
    script, _ = established()
    script.connection.close(script.now)
    with pytest.raises(ValueError, match="closed for writing"):
        script.connection.write(b"x", script.now)
