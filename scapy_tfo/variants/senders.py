"""Timers, windows and the size of segments at the sender (RFC 5681, RFC 6298, RFC 9293 3.8)."""

from __future__ import annotations

import math

from scapy_tfo import seq
from scapy_tfo.option import RawOption
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Icmp, InitialWindow, Settings
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, PSH, Flags
from scapy_tfo.variants.later import LaterStack, later
from scapy_tfo.variants.registry import add, variant


@variant({"initial-window": "one segment"})
class BeginsWithOneSegment(SendSide):
    """The initial window is one segment."""

    def initial_window(self) -> int:
        return self.mss


@variant({"initial-window": "two segments"})
class BeginsWithTwoSegments(SendSide):
    """The initial window is two segments."""

    def initial_window(self) -> int:
        return 2 * self.mss


@variant({"window-after-lost-syn": "the usual one"})
class LostSynAckCostsNothing(PassiveConnection):
    """After one lost SYN-ACK the initial window is the usual one (RFC 6928 section 2)."""

    def retransmit_handshake(self, now: float) -> None:
        before = self.send.cwnd
        super().retransmit_handshake(now)
        if self.handshake_retries == 1:
            self.send.cwnd = before

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.handshake_retries == 1:
            self.send.cwnd = self.send.initial_window()


@variant({"slow-start-step": "by a segment"})
class GrowsByASegment(SendSide):
    """In slow start each ACK of new text opens the window by a segment."""

    def _grow(self, acked: int) -> None:
        super()._grow(self.mss if self.cwnd < self.ssthresh else acked)


@variant({"avoidance-step": "by counting bytes"})
class CountsBytes(SendSide):
    """In congestion avoidance the window grows by a segment when a window was acknowledged."""

    counted = 0

    def _grow(self, acked: int) -> None:
        if self.cwnd < self.ssthresh:
            super()._grow(acked)
            return
        self.counted += acked
        if self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += self.mss


@variant({"threshold-first": "at 65,535 bytes"})
class SlowStartEnds(SendSide):
    """Slow start ends at 65,535 bytes."""

    def __init__(self, iss: int, settings: Settings) -> None:
        super().__init__(iss, settings)
        self.ssthresh = 65_535


@variant({"fast-retransmit": "no"})
class WaitsForTheTimer(SendSide):
    """Duplicate ACKs send nothing again."""

    def duplicate(self) -> bool:
        return False


@variant({"nagle": "on"})
class Nagle(SendSide):
    """A short segment waits until all that was sent is acknowledged."""

    def _worth_sending(self, size: int, left: int, window: int) -> bool:
        is_new = self.syn_acked and self.point == self.nxt
        short = size < self.mss and is_new and self.outstanding > 0
        return not short and super()._worth_sending(size, left, window)


@variant({"silly-window-fraction": "1/4"})
class TakesAQuarterOfTheWindow(SendSide):
    """A quarter of the largest window is worth a segment."""

    def _worth_sending(self, size: int, left: int, window: int) -> bool:
        worth = size == window and 4 * size >= self.max_wnd
        return worth or super()._worth_sending(size, left, window)


@variant({"push": "each with text"})
class PushesEverySegment(PassiveConnection):
    """Every segment with text carries PSH."""

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[RawOption] | None = None,
    ) -> None:
        super().transmit(number, flags | PSH if payload else flags, now, payload, raw_options)


@variant({"ack-beyond-window": "the end of the window"})
class AcknowledgesWithinTheWindow(PassiveConnection):
    """An ACK has the end of the peer's window as its number where SND.NXT lies beyond."""

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[RawOption] | None = None,
    ) -> None:
        edge = self.send.right_edge()
        if flags == ACK and not payload and number == self.send.nxt and seq.before(edge, number):
            number = edge
        super().transmit(number, flags, now, payload, raw_options)


@variant({"write-gathering": "gathered for 50 ms"}, more=(LaterStack,))
class GathersWrites(PassiveConnection):
    """What the application writes is sent 50 ms later, with what it wrote meanwhile."""

    gathering = False

    def write(self, data: bytes, now: float) -> None:
        if not self.gathering:
            self.gathering = True
            later(self.stack, now + 0.05, self.send_gathered)
        super().write(data, now)

    def close(self, now: float) -> None:
        self.gathering = False
        super().close(now)
        self.flush(now)

    def send_gathered(self, now: float) -> None:
        if self.gathering and self.state is not State.CLOSED:
            self.gathering = False
            self.flush(now)

    def may_send_data(self) -> bool:
        return not self.gathering and super().may_send_data()


@variant({"segment-size": "cut at multiples of 512"})
class CutsAtMultiplesOf512(PassiveConnection):
    """A full segment has a multiple of 512 bytes, where the path carries that much."""

    def resize(self) -> None:
        super().resize()
        self.send.mss = self.send.mss // 512 * 512 or self.send.mss


@variant({"segment-size": "at most 256 bytes"})
class SegmentsOf256(PassiveConnection):
    """No segment has more than 256 bytes."""

    def resize(self) -> None:
        super().resize()
        self.send.mss = min(self.send.mss, 256)


@variant({"black-hole-size": "536 bytes after two timeouts"})
class ShrinksAfterTimeouts(SendSide):
    """After two timeouts segments have at most 536 bytes."""

    def timed_out(self) -> bool:
        goes_on = super().timed_out()
        if self.retries >= 2:
            self.mss = min(self.mss, 536)
        return goes_on


@variant({"window-after-too-big": "in proportion"})
class SmallerMtuShrinksTheWindow(PassiveConnection):
    """A smaller MTU shrinks the congestion window in proportion."""

    def resize(self) -> None:
        before = self.send.mss
        super().resize()
        if self.send.mss < before and self.send.syn_acked:
            self.send.cwnd = max(self.send.mss, self.send.cwnd * self.send.mss // before)


@variant({"rto-gains": "1/4 and 1/2"})
class FollowsTheRttFast(SendSide):
    """The average of round trips follows with gains of 1/4 and 1/2."""

    def measure(self, rtt: float) -> None:
        if self.srtt is not None:
            self.rttvar = 0.5 * self.rttvar + 0.5 * abs(self.srtt - rtt)
            self.srtt = 0.75 * self.srtt + 0.25 * rtt
            self._reset_rto()
        else:
            super().measure(rtt)


class Ticks(SendSide):
    """Timeouts are whole numbers of ticks, in seconds."""

    tick = 0.0

    def _reset_rto(self) -> None:
        super()._reset_rto()
        self.rto = math.ceil(round(self.rto / self.tick, 6)) * self.tick


@variant({"rto-granularity": "500 ms"})
class TimersTickEveryHalfSecond(Ticks):
    """Timers have a granularity of 500 ms."""

    tick = 0.5


@variant({"rto-granularity": "100 ms"})
class TimersTickEveryTenth(Ticks):
    """Timers have a granularity of 100 ms."""

    tick = 0.1


@variant({"rto-forget": "yes"})
class ForgetsTheRtt(SendSide):
    """Two timeouts in a row forget the round trip."""

    def timed_out(self) -> bool:
        goes_on = super().timed_out()
        if self.retries >= 2:
            self.srtt = None
        return goes_on


@variant({"probe-first": "after 5 s"})
class ProbesAfterFiveSeconds(SendSide):
    """A closed window is probed first after five seconds."""

    def keep_probing(self, now: float) -> None:
        idle = self.timer is None
        super().keep_probing(now)
        if idle and self.timer is not None and self.wnd == 0:
            self.timer = now + max(5.0, self.rto)

    def set_window(self, window: int) -> bool:
        if self.wnd == 0 and window:
            # What goes out now is timed by the retransmission timer.
            self.timer = None
        return super().set_window(window)


@variant({"probe-interval": "constant"})
class ProbesAtAConstantRate(SendSide):
    """The intervals between the probes of a closed window stay the same, for two minutes."""

    probed = 0.0

    def heard(self) -> None:
        super().heard()
        self.probed = 0.0

    def timed_out(self) -> bool:
        before = self.rto
        goes_on = super().timed_out()
        if self.wnd:
            return goes_on
        self.rto = before
        self.probed += before
        # No sooner than the others (RFC 9293 section 3.8.3, SHLD-10).
        return self.probed < 120.0


@variant({"probe-size": "a full segment"})
class ProbesWithAFullSegment(SendSide):
    """A probe of a closed window carries a full segment."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if not probe or self.wnd or chunk is None or not chunk.payload or not self.syn_acked:
            return chunk
        at = (chunk.seq - self.base) % (1 << 32)
        return Chunk(chunk.seq, bytes(self.data[at : at + self.mss]), False)


@variant({"too-big-resend": "at the timeout"})
class ResendsTooBigAtTheTimeout(PassiveConnection):
    """A packet that was too big for the path is sent again by the timer."""

    def packet_too_big(self, now: float) -> None:
        self.resize()


add(
    "hard-errors-end-connections",
    "A hard ICMP error ends a connection, an open one, too.",
    {"icmp-hard": "yes"},
    icmp=Icmp.HARD,
)
add(
    "initial-window-of-ten",
    "The initial window is that of RFC 6928.",
    {"initial-window": "RFC 6928"},
    initial_window=InitialWindow.RFC6928,
)
add("rto-of-three-seconds", "The first timeout is 3 s.", {"rto-initial": "3 s"}, initial_rto=3.0)
add(
    "rto-of-a-second-and-a-half",
    "The first timeout is 1.5 s.",
    {"rto-initial": "1.5 s"},
    initial_rto=1.5,
)
add("least-rto-of-200-ms", "The least timeout is 200 ms.", {"rto-least": "200 ms"}, min_rto=0.2)
add("least-rto-of-500-ms", "The least timeout is 500 ms.", {"rto-least": "500 ms"}, min_rto=0.5)
add("no-longest-rto", "Timeouts double without end.", {"rto-most": "none"}, max_rto=1e9)
add("repeats-fifteen-times", "Text is repeated 15 times.", {"data-retries": "15"}, data_retries=15)
