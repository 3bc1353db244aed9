"""Wrong timers: retransmissions, probes of closed windows, keep-alives (RFC 6298, RFC 9293 3.8.3,
3.8.4 and 3.8.6.1)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, Segment
from scapy_tfo.tcp_mutants.sending import FLIGHT, LOST


@tcp_mutant("no-backoff", "TCP-RTO-10.text-that-nobody-acknowledges")
class NeverBacksOff(SendSide):
    """Text is sent again every second."""

    def timed_out(self) -> bool:
        super().timed_out()
        self.rto = 1.0
        return True


@tcp_mutant("no-backoff", "TCP-RTO-10.text-that-nobody-acknowledges")
class BacksOffByThree(NeverBacksOff):
    """Each timeout is three times the one before."""

    def timed_out(self) -> bool:
        before = self.rto
        super().timed_out()
        self.rto = 3 * before
        return True


@tcp_mutant("timer-skips-text", FLIGHT)
class SkipsTheFirst(SendSide):
    """A timer sends the second segment that is not acknowledged."""

    def timed_out(self) -> bool:
        going = super().timed_out()
        if self.outstanding > self.mss:
            self.point = seq.add(self.point, self.mss)
            self.cwnd = 2 * self.mss
        return going


@tcp_mutant("not-repeated", FLIGHT)
class NeverSendsAgain(PassiveConnection):
    """Nothing is sent again."""

    def retransmit(self, now: float) -> None:
        self.send.timer = None


@tcp_mutant("timer-bursts", FLIGHT)
class SendsAllAgain(SendSide):
    """When the timer runs out, all that is not acknowledged is sent again."""

    def timed_out(self) -> bool:
        window = self.cwnd
        going = super().timed_out()
        self.cwnd = window
        return going


@tcp_mutant("timeout-after-lost-handshake", LOST, settings=Settings(rto_after_lost_handshake=1.0))
class ForgetsTheLostHandshake(Stack):
    """After a lost handshake the timeout of the first text is a second."""


@tcp_mutant(
    "timeout-limited",
    "TCP-RTO-10.text-that-nobody-acknowledges",
    settings=Settings(max_rto=30.0, data_retries=20),
)
class ShortLongestTimeout(Stack):
    """No timeout is longer than half a minute."""


@tcp_mutant("rst-unprovoked", "TCP-RST-6.losses-with-answers-between")
class CountsTriesOn(SendSide):
    """Retransmissions of one segment after the other count together, until it gives up."""

    def acknowledged(self, ack: int, now: float) -> bool:
        before = self.retries
        again = super().acknowledged(ack, now)
        self.retries = before
        return again


@tcp_mutant("probes-end", "TCP-PROBE-4.a-window-that-stays-closed-for-minutes")
class ProbesInVain(SendSide):
    """Probes of a closed window are given up after some, though each is answered."""

    def heard(self) -> None:
        """Count what was sent since something was acknowledged."""


@tcp_mutant("keepalive-early", "TCP-TS-6.some-seconds-of-silence")
class ImpatientKeepalive(PassiveConnection):
    """A connection that is idle for two seconds is probed."""

    def arrive(self, segment: Segment, now: float) -> None:
        self.alarms["keep-alive"] = (now + 2.5, self.probe)
        super().arrive(segment, now)

    def probe(self, now: float) -> None:
        """Ask whether the peer is there."""
        self.transmit(seq.add(self.send.nxt, -1), ACK, now)


@tcp_mutant("probe-missing", "TCP-PROBE-1.a-window-that-stays-closed")
class NeverProbes(SendSide):
    """A closed window is not probed."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        return None if probe and not self.wnd else super().next_chunk(probe=probe)


@tcp_mutant("probes-too-soon", "TCP-PROBE-1.a-window-that-stays-closed")
class ProbesAtOnce(SendSide):
    """A window that closes is probed after a twentieth of a second."""

    def keep_probing(self, now: float) -> None:
        idle = self.timer is None
        super().keep_probing(now)
        if idle and self.timer is not None and not self.wnd:
            self.timer = now + 0.05


@tcp_mutant("probes-too-often", "TCP-PROBE-1.a-window-that-stays-closed")
class ProbesEachSecond(SendSide):
    """A closed window is probed each second."""

    def timed_out(self) -> bool:
        going = super().timed_out()
        self.rto = 1.0 if not self.wnd else self.rto
        return going


@tcp_mutant("not-repeated", "TCP-RTO-3.text-comes-while-text-is-lost")
class TextPutsTheTimerOff(PassiveConnection):
    """Whatever comes, the timer starts anew (RFC 6298 section 5.3: only for new data)."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        taken = super().ack_arrives(segment, start, now)
        if self.send.timer is not None and segment.payload:
            self.send.timer = now + self.send.rto
        return taken
