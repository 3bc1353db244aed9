"""What a target sends for an earlier connection on a port is no answer to the next SYN there."""

from __future__ import annotations

import struct
import time
from ipaddress import ip_address

from scapy_tfo.executor.conduct import Counts
from scapy_tfo.executor.live.addresses import Range, Throttle, clients_of
from scapy_tfo.executor.live.bearing import Again
from scapy_tfo.executor.live.earlier import DISTURBED, TRIES
from scapy_tfo.executor.live.engine import Engine
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.packet import Ends, build, read
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import Flow, Option, Program, Send, Wait
from scapy_tfo.segment import ACK, RST, SYN

SOURCE, TARGET = ip_address("192.0.2.16"), ip_address("192.0.2.1")
ISS = 9_000
PLAIN = Program((Flow(),), (Send(0, "S", options=(Option("mss", 1460),)), Wait()), "reset")


class DeafToResets:
    """A stack on a batch that takes no RST without timestamps, and so still has the connection of
    a port when the next SYN comes there: it answers that with an ACK of what it expects. wrong:
    added to what it acknowledges of a SYN."""

    mtu = 1500

    def __init__(self, *, wrong=0):
        self.wrong = wrong
        self.expects: dict[int, int] = {}
        self.resets: list[bytes] = []
        self._came: list[bytes] = []

    def exchange(self, packets):
        for packet in packets:
            self._take(packet)
        return self._hand_over()

    def wait(self, _seconds):
        return self._hand_over()

    def _hand_over(self):
        came, self._came = self._came, []
        return came

    def _take(self, packet):
        segment = read(packet)
        sport, dport = struct.unpack_from("!HH", packet, 20)
        if segment.flags & RST:
            self.resets.append(packet)
            if segment.options:
                self.expects.pop(sport, None)
        elif segment.flags & SYN and sport in self.expects:
            # RFC 7323: it agreed on timestamps before, and has them on each segment.
            self._answer(sport, dport, ISS + 1, self.expects[sport], ACK, _times(77, 88))
        elif segment.flags & SYN:
            self.expects[sport] = segment.seq + 1 & 0xFFFFFFFF
            number = self.expects[sport] + self.wrong
            self._answer(sport, dport, ISS, number & 0xFFFFFFFF, SYN | ACK, b"\2\4\5\xb4")

    def _answer(self, sport, dport, seq, ack, flags, options):
        ends = Ends(TARGET.packed, SOURCE.packed, dport, sport)
        self._came.append(build(ends, seq, ack, flags, options=options))


def _times(value, echo):
    return struct.pack("!III", 0x0101080A, value, echo)


def _engine(batch):
    at = Range(batch, clients_of([SOURCE], (4,)), {}, {4: TARGET}, {"main": 7})
    return Engine(at, Throttle(None), ours=False)


def _run(engine, seed):
    now = time.monotonic()
    # The one port is used again at once: no rest is long enough for what lives for minutes.
    ends = [Ends(SOURCE.packed, TARGET.packed, 40_000, 7)]
    patience, log = (
        Patience(answer=5.0, linger=0.01),
        Counts().log(0, "", ordered=False, whole=True),
    )
    play = Play(PLAIN, ends, Jar(), Profile(), patience, seed=seed, log=log)
    engine.start(seed, PLAIN, play, [], now)
    while not play.done:
        list(engine.turn(0.05))
    engine.flush()
    list(engine.turn(0.0))
    return play.verdict()


def test_an_ack_of_the_connection_before_is_not_judged():
    batch = DeafToResets()
    engine = _engine(batch)
    assert _run(engine, 1).violations == ()
    second = _run(engine, 2)
    assert second.violations == ()
    assert second.unjudged == DISTURBED
    # It is answered as any host does, so that the old connection ends.
    assert read(batch.resets[-1]).options == _times(88, 77)
    third = _run(engine, 3)
    assert (third.violations, third.unjudged) == ((), "")


def test_a_wrong_answer_on_a_port_that_was_used_is_still_told():
    engine = _engine(DeafToResets(wrong=5))
    first = _run(engine, 1)
    again = _engine(batch := DeafToResets())
    _run(again, 1)
    batch.expects.clear()
    batch.wrong = 5
    second = _run(again, 2)
    assert first.violations[0].rule == "number-of-syn-ack"
    assert second.violations[0].rule == "number-of-syn-ack"


def test_such_a_program_is_run_again_elsewhere_a_few_times():
    waiting = []
    again = Again(waiting)
    assert [again.moves(1, PLAIN) for _ in range(TRIES)] == [True] * (TRIES - 1) + [False]
    assert waiting == [(1, PLAIN)] * (TRIES - 1)
    # A control is made anew for each question.
    assert again.moves(-1, PLAIN)
    assert len(waiting) == TRIES - 1
