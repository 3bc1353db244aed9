"""Servers whose timers or windows go wrong when a SYN-ACK or the ACK is lost, at once or later."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.parts.pending import Ticket
from scapy_tfo.reference.sendside import SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import Closed, State
from scapy_tfo.segment import Segment


@mutant("AFT-5", bug="LXS-12")
class LostSynAckKeepsTheInitialWindow(SendSide):
    """After SYN-ACKs were lost the first flight is a whole initial window."""

    def window_after_lost_handshake(self) -> int:
        return self.initial_window()


@mutant("AFT-5")
class LostSynAckLeavesTwoSegments(SendSide):
    """After SYN-ACKs were lost the first flight is two segments."""

    def window_after_lost_handshake(self) -> int:
        return 2 * self.mss


@mutant("AFT-3")
class NeverSendsTheSynAckAgain(PassiveConnection):
    """A SYN-ACK that is not answered is not sent again."""

    def retransmit_handshake(self, now: float) -> None:
        """Nothing."""


@mutant("AFT-3")
class SendsTheSynAckAgainLate(PassiveConnection):
    """A SYN-ACK that is not answered is sent again only after ten seconds."""

    def first_handshake_timeout(self) -> float:
        return 10.0


@mutant("AFT-3", settings=Settings(syn_ack_retries=0))
class GivesUpTheSynAckAtOnce(PassiveConnection):
    """The first timeout of the SYN-ACK ends a fast open that was accepted."""


@mutant("AFT-3", settings=Settings(syn_ack_retries=1))
class GivesUpTheSynAckEarly(PassiveConnection):
    """The second timeout of the SYN-ACK ends a fast open that was accepted."""


@mutant("ACC-8a", also=("ACC-10",))
class SynAckAgainForgetsTheData(PassiveConnection):
    """A SYN-ACK that is sent again acknowledges the SYN only, as if its data had not come."""

    def retransmit_handshake(self, now: float) -> None:
        taken, self.recv.nxt = self.recv.nxt, self.recv.irs + 1 & 0xFFFFFFFF
        super().retransmit_handshake(now)
        self.recv.nxt = taken


@mutant("AFT-11", bug="LXS-18")
class HandshakeClockAbortsLater(PassiveConnection):
    """After a lost SYN-ACK each later loss counts from the handshake: it aborts at once."""

    def retransmit(self, now: float) -> None:
        if self.handshake_retries and now > self.handshake_sent_at + 100:
            self.fail("ETIMEDOUT", now)
        else:
            super().retransmit(now)


@mutant("AFT-11")
class RefusalClockAbortsLater(PassiveConnection):
    """After a refused fast open each later loss counts from the handshake: it aborts at once."""

    def retransmit(self, now: float) -> None:
        if not self.fast_opened and now > self.handshake_sent_at + 100:
            self.fail("ETIMEDOUT", now)
        else:
            super().retransmit(now)


@mutant("AFT-11")
class RetriesAreNeverForgotten(SendSide):
    """Retransmissions are counted over the whole life of a connection."""

    def acknowledged(self, ack: int, now: float) -> bool:
        retries = self.retries
        again = super().acknowledged(ack, now)
        self.retries = retries
        return again


@mutant("AFT-11")
class RetriesOfAllSegmentsAddUp(SendSide):
    """The count of retransmissions begins anew only with a round trip that could be measured."""

    def acknowledged(self, ack: int, now: float) -> bool:
        measured = self._timed is not None and seq.at_most(self._timed[0], ack)
        retries = self.retries
        again = super().acknowledged(ack, now)
        if not measured:
            self.retries = retries
        return again


@mutant("AFT-11", settings=Settings(data_retries=2))
class GivesUpAtTheThirdTimeout(PassiveConnection):
    """Data is given up after seven seconds, far under the 100 of RFC 9293 section 3.8.3."""


@mutant("AFT-11")
class BackoffIsNeverForgotten(SendSide):
    """The timeout that was doubled stays doubled after an acknowledgement."""

    def _reset_rto(self) -> None:
        """Kept."""


@mutant(
    "AFT-11",
    bug="LXS-16",
    equivalent="a window that does not grow is slow, and RFC 5681 says how fast it may grow",
)
class StaysInLossAfterALostSynAck(SendSide):
    """Once the SYN-ACK was sent again the congestion window never grows."""

    lost = False

    def window_after_lost_handshake(self) -> int:
        self.lost = True
        return super().window_after_lost_handshake()

    def _grow(self, acked: int) -> None:
        if not self.lost:
            super()._grow(acked)


@mutant("AFT-11")
class IdlingEndsTheConnection(PassiveConnection):
    """A fast open that says nothing for a minute after its handshake is forgotten."""

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.fast_opened:
            self.time_wait_timer = now + 60


@mutant("AFT-11")
class HandshakeTimerStaysOn(PassiveConnection):
    """The SYN-ACK is sent again after the handshake, until the connection is given up."""

    def establish(self, now: float) -> None:
        timer = self.handshake_timer
        super().establish(now)
        self.handshake_timer = timer


@mutant("AFT-11")
class ListenerTakesItsPendingAlong(PassiveConnection):
    """A listener that closes ends the fast opens in SYN-RCVD, though they were accepted."""

    def open_fast(self, syn: Segment, ticket: Ticket, now: float) -> None:
        super().open_fast(syn, ticket, now)
        self.listener._half_open.add(self)

    def drop(self) -> None:
        if self.state is State.SYN_RCVD:
            self.finish(Closed(self))
