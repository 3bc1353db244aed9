"""Delayed acknowledgements, and an application that does not read (RFC 9293 section 3.8.6)."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.reference import EndOfStream, Settings, Stack, State
from scapy_tfo.segment import ACK, FIN, RST, Segment

from .wire import CLIENT, ISN, PORT, SERVER, Script, Wire

NEXT = ISN + 1
DELAYED = Settings(ack_delay=0.2)
SMALL = Settings(receive_window=4000)


class Talk(Script):
    """A plain connection that is established; `text` sends at an offset of the stream."""

    def __init__(self, settings: Settings, **listen: object) -> None:
        super().__init__(settings, **listen)
        options = opt.push_options([opt.mss(1000), opt.sack_permitted()])
        self.ack = self.syn(options=options).end
        self.send(ACK, seq=NEXT, ack=self.ack)

    def text(self, at: int, size: int = 1000, flags: int = ACK) -> list[Segment]:
        return self.send(flags, seq=NEXT + at, ack=self.ack, payload=b"x" * size)


def told(segments: list[Segment]) -> list[tuple[int, int]]:
    """What the segments acknowledge, as offsets, and the windows that they offer."""
    return [(each.ack - NEXT, each.window) for each in segments]


def test_an_ack_waits_for_the_second_full_segment() -> None:
    talk = Talk(DELAYED)
    assert talk.text(0) == []
    assert told(talk.text(1000)) == [(2000, 65535)]
    assert talk.text(2000) == []
    assert told(talk.wait(0.1)) == []
    assert told(talk.wait(0.1)) == [(3000, 65535)]
    assert talk.wait(10) == []


def test_a_stretched_ack_waits_for_more() -> None:
    talk = Talk(Settings(ack_delay=0.2, ack_every=4))
    assert [len(talk.text(1000 * number)) for number in range(8)] == [0, 0, 0, 1] * 2


def test_an_ack_goes_with_the_answer() -> None:
    talk = Talk(DELAYED)
    talk.text(0)
    talk.connection.write(b"answer", talk.now)
    (answer,) = talk.answers()
    assert (answer.payload, answer.ack - NEXT) == (b"answer", 1000)
    talk.send(ACK, seq=NEXT + 1000, ack=answer.end)
    assert talk.wait(10) == []


def test_text_out_of_order_is_acknowledged_at_once() -> None:
    talk = Talk(DELAYED)
    assert told(talk.text(1000)) == [(0, 65535)]
    assert told(talk.text(0, 500)) == [(500, 65535)], "it fills a part of the gap"
    assert told(talk.text(500, 500)) == [(2000, 65535)]
    assert told(talk.text(0)) == [(2000, 65535)], "it came before"


def test_the_end_of_the_stream_is_acknowledged_at_once() -> None:
    talk = Talk(DELAYED)
    assert told(talk.text(0, flags=ACK | FIN)) == [(1001, 65535)]


def test_who_does_not_read_closes_the_window() -> None:
    talk = Talk(SMALL)
    talk.connection.pause()
    assert told(talk.text(0)) == [(1000, 3000)]
    assert told(talk.text(1000)) == [(2000, 2000)]
    assert told(talk.text(2000, 2000)) == [(4000, 0)]
    assert talk.received == b""
    assert told(talk.text(4000, 1)) == [(4000, 0)], "a probe is answered, and not taken"
    talk.connection.resume(talk.now)
    assert told(talk.answers()) == [(4000, 4000)]
    assert talk.received == b"x" * 4000
    assert told(talk.text(4000)) == [(5000, 4000)]


def test_text_at_a_closed_window_still_acknowledges() -> None:
    """RFC 9293 section 3.10.7.4: special allowance is made to accept valid ACKs."""
    talk = Talk(SMALL)
    talk.connection.pause()
    talk.text(0, 4000)
    talk.connection.write(b"answer", talk.now)
    talk.ack = talk.answers()[0].end
    assert told(talk.text(4000)) == [(4000, 0)]
    assert talk.connection.send.outstanding == 0


def test_the_window_opens_by_no_small_steps() -> None:
    talk = Talk(SMALL)
    talk.connection.pause()
    talk.text(0, 4000)
    for _ in range(3):
        talk.connection.read_some(400, talk.now)
        assert talk.answers() == []
    talk.connection.read_some(400, talk.now)
    assert told(talk.answers()) == [(4000, 1600)]
    assert talk.received == b"x" * 1600


def test_the_end_is_told_behind_what_was_not_read() -> None:
    talk = Talk(SMALL)
    talk.connection.pause()
    talk.text(0, flags=ACK | FIN)
    assert talk.connection.state is State.CLOSE_WAIT
    assert talk.ends == 0
    talk.connection.resume(talk.now)
    talk.answers()
    assert (talk.received, talk.ends) == (b"x" * 1000, 1)


def test_text_after_close_is_taken_or_reset() -> None:
    for half_duplex in (False, True):
        talk = Talk(Settings(half_duplex_close=half_duplex))
        talk.connection.close(talk.now)
        (fin,) = talk.answers()
        assert fin.is_fin
        talk.ack = fin.end
        (answer,) = talk.text(0)
        assert bool(answer.flags & RST) == half_duplex
        assert talk.received == (b"" if half_duplex else b"x" * 1000)


def test_shutdown_ends_one_direction() -> None:
    talk = Talk(Settings(half_duplex_close=True))
    talk.connection.shutdown(talk.now)
    talk.ack = talk.answers()[0].end
    assert told(talk.text(0)) == [(1000, 65535)]


def test_close_with_text_unread_resets() -> None:
    talk = Talk(Settings(half_duplex_close=True))
    talk.connection.pause()
    talk.text(0)
    talk.connection.close(talk.now)
    (answer,) = talk.answers()
    assert answer.flags & RST


def test_the_mss_that_is_offered_may_be_chosen() -> None:
    script = Script(Settings(advertised_mss=536))
    assert script.syn().mss == 536


@pytest.mark.parametrize(("time_wait", "gone"), [(None, False), (5.0, True)])
def test_time_wait_may_be_short(time_wait: float | None, gone: bool) -> None:
    talk = Talk(Settings(time_wait=time_wait))
    talk.connection.close(talk.now)
    talk.ack = talk.answers()[0].end
    talk.text(0, 0, ACK | FIN)
    assert talk.connection.state is State.TIME_WAIT
    talk.wait(5)
    assert (talk.connection.state is State.CLOSED) == gone


def test_a_slow_reader_gets_all_of_a_long_stream() -> None:
    """Windows that close and open again, delayed ACKs, and losses between two ends of ours."""
    server = Stack([SERVER], Settings(receive_window=5000, ack_delay=0.2), seed=1)
    client = Stack([CLIENT], seed=2)
    server.listen(PORT)
    text = bytes(range(256)) * 200
    wire = Wire(client, server, fate=lambda _segment, number: [] if number % 17 == 5 else [0.05])
    connection = client.connect(CLIENT, SERVER, PORT, data=text, now=0.0)
    connection.close(0.0)
    wire.run(5)
    (reader,) = server.connections.values()
    for _ in range(200):
        reader.pause()
        wire.run(1)
        reader.resume(wire.now)
        wire.run(1)
    assert wire.received(server) == text
    assert any(isinstance(each, EndOfStream) for each in wire.events[server])


def test_text_that_comes_opens_the_window_by_no_small_step_either() -> None:
    talk = Talk(SMALL)
    talk.connection.pause()
    (first,) = talk.text(0)
    edges = {first.ack + first.window}
    for number in range(8):
        talk.connection.read_some(20, talk.now)
        (answer,) = talk.text(1000 + number, size=1)
        edges.add(answer.ack + answer.window)
    assert edges == {NEXT + 4000}
