"""Timeouts, windows and congestion: RFC 6298, RFC 5681, RFC 4015, RFC 5682, RFC 9293 3.7.4."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.reference import InitialWindow, Settings, Undo
from scapy_tfo.segment import ACK, Segment

from .wire import ISN, Script

NEXT = ISN + 1
MSS = 1000


class Sender(Script):
    """A connection whose window is wide, and which sends to us."""

    def __init__(self, settings: Settings, *, stamped: bool = False) -> None:
        super().__init__(settings)
        self.stamped = stamped
        offer = [opt.mss(MSS + 12 * stamped)]
        offer += [opt.timestamps(1), opt.nop(), opt.nop()] if stamped else []
        self.syn_ack = self.syn(options=opt.push_options(offer))
        self.begin = self.syn_ack.end
        self.last = self.syn_ack
        self.ack(0)

    def ack(self, offset: int, echo: int | None = None) -> list[Segment]:
        """Acknowledge so many bytes; what comes of it, by its offsets."""
        options = b""
        if self.stamped:
            times = self.last.timestamps
            assert times is not None
            options = opt.push_options(
                [opt.nop(), opt.nop(), opt.timestamps(2, times[0] if echo is None else echo)]
            )
        return self.send(ACK, seq=NEXT, ack=self.begin + offset, options=options)

    def write(self, size: int) -> list[Segment]:
        self.connection.write(bytes(size), self.now)
        return self.answers()

    def offsets(self, segments: list[Segment]) -> list[int]:
        return [each.seq - self.begin for each in segments]


@pytest.mark.parametrize(
    ("window", "segments"),
    [(1, 1), (4, 4), (10, 10), (InitialWindow.RFC3390, 4), (InitialWindow.RFC6928, 10)],
)
def test_the_initial_window(window: int | InitialWindow, segments: int) -> None:
    sender = Sender(Settings(initial_window=window))
    assert len(sender.write(20 * MSS)) == segments


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        (Settings(), [1, 3, 7, 15, 31]),
        (Settings(initial_rto=0.2), [0.2, 0.6, 1.4, 3.0, 6.2]),
        (Settings(initial_rto=3.0, max_rto=10), [3, 9, 19, 29, 39]),
        (Settings(linear_retries=2), [1, 2, 3, 5, 9]),
        (Settings(syn_ack_retries=2), [1, 3]),
    ],
)
def test_when_a_syn_ack_is_sent_again(settings: Settings, times: list[float]) -> None:
    script = Script(settings)
    script.syn()
    seen = []
    while (when := script.stack.deadline()) is not None and when < 40:
        seen += [when] * len(script.wait(when - script.now))
    assert seen == pytest.approx(times)


def test_nagle_holds_a_small_segment_back() -> None:
    for nagle in (False, True):
        sender = Sender(Settings(nagle=nagle))
        assert len(sender.write(10)) == 1
        held = sender.write(10)
        assert len(held) == (not nagle)
        assert len(sender.write(2 * MSS)) >= 1, "a full one goes"
        if nagle:
            assert sender.ack(10 + 2 * MSS)[0].length == 10


def lost_in_time(undo: Undo, *, stamped: bool) -> tuple[Sender, int, list[int]]:
    """Ten segments whose ACKs are late: the timer fires, and the first goes out again."""
    sender = Sender(Settings(undo=undo, initial_window=10), stamped=stamped)
    sender.last = sender.write(20 * MSS)[0]
    window = sender.connection.send.cwnd
    again = sender.wait(1.0)
    return sender, window, sender.offsets(again)


def test_without_undo_all_goes_out_again() -> None:
    sender, _, again = lost_in_time(Undo.OFF, stamped=False)
    assert again == [0]
    assert sender.offsets(sender.ack(MSS)) == [MSS, 2 * MSS]


def test_timestamps_undo_a_timeout_that_came_too_early() -> None:
    sender, window, again = lost_in_time(Undo.TIMESTAMPS, stamped=True)
    assert again == [0]
    assert sender.offsets(sender.ack(MSS)) == [10 * MSS], "what is new, and nothing again"
    assert sender.connection.send.cwnd == window
    assert sender.connection.send.ssthresh >= window


def test_timestamps_tell_a_timeout_that_was_right() -> None:
    sender, _, _ = lost_in_time(Undo.TIMESTAMPS, stamped=True)
    times = sender.last.timestamps
    assert times is not None
    late = sender.connection.timestamp(sender.now)
    assert sender.offsets(sender.ack(MSS, late)) == [MSS, 2 * MSS]


def test_f_rto_sends_what_is_new_and_undoes_the_timeout() -> None:
    sender, window, again = lost_in_time(Undo.FRTO, stamped=False)
    assert again == [0]
    assert sender.offsets(sender.ack(MSS)) == [10 * MSS, 11 * MSS]
    sender.ack(2 * MSS)
    assert sender.connection.send.cwnd >= window
    assert sender.offsets(sender.ack(3 * MSS))[0] >= 12 * MSS


def test_f_rto_goes_back_where_the_timeout_was_right() -> None:
    sender, _, _ = lost_in_time(Undo.FRTO, stamped=False)
    sender.ack(MSS)
    assert sender.offsets(sender.ack(MSS)) == [MSS, 2 * MSS, 3 * MSS]
    assert sender.connection.send.ssthresh == 5 * MSS
