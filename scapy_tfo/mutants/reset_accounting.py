"""Servers that miscount pending fast opens when one ends: they leak, or are counted off twice.

RFC 7413 section 5.1: a fast open that is reset stays accounted for; nothing may raise the limit.
"""

from __future__ import annotations

from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.parts.pending import Pending, Ticket
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Segment


def counted_off_again(listener: Listener) -> None:
    """A place that is given back once too often leaves room for one more."""
    if listener.pending.limit:
        listener.pending.limit += 1


@mutant("LIM-2")
class RstFreesThePlaceAtOnce(PassiveConnection):
    """A fast open that is reset while pending counts no longer."""

    def account_reset(self, ticket: Ticket, now: float) -> None:
        ticket.release()


@mutant(
    "LIM-2",
    equivalent="RFC 7413 section 5.1 wants resets monitored; how strictly is left open",
)
class RemembersOneReset(Pending):
    """No more than one fast open that was reset goes on counting."""

    def reset(self, ticket: Ticket, now: float) -> None:
        super().reset(ticket, now)
        while len(self._reset) > 1:
            self._reset.popleft()


@mutant("LIM-2")
class CountsResetsOfSilentOnesOnly(PassiveConnection):
    """Resets count only where nothing waits to be acknowledged."""

    def account_reset(self, ticket: Ticket, now: float) -> None:
        if self.send.data:
            ticket.release()
        else:
            super().account_reset(ticket, now)


@mutant("LIM-2", also=("LIM-4",))
class ResetsTurnTheListenerAway(Listener):
    """While resets use the limit up, connections by the 3-way handshake are turned away."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        limit = self.pending.limit
        if not limit or len(self.pending._reset) < limit:
            super().syn_arrives(segment, now)


@mutant("LIM-7")
class RstAfterTheAckCountsOffAgain(PassiveConnection):
    """A RST after the handshake gives back the place that the ACK gave back before."""

    def reset_by_peer(self, now: float) -> None:
        if self.fast_opened and self.state is not State.SYN_RCVD:
            counted_off_again(self.listener)
        super().reset_by_peer(now)


@mutant("LIM-7")
class RepeatedAckCountsOffAgain(PassiveConnection):
    """Each further ACK of a fast open gives its place back once more."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.fast_opened and self.state is State.ESTABLISHED and not segment.payload:
            counted_off_again(self.listener)
        return super().ack_arrives(segment, start, now)


@mutant("LIM-7", also=("LIM-2",))
class RepeatedRstCountsOffAgain(Listener):
    """A RST for a connection that is gone gives a place back all the same."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_rst:
            counted_off_again(self)
        super().arrive(segment, now)


@mutant("LIM-7")
class AckAfterTheRstCountsOffAgain(Listener):
    """An ACK for a connection that is gone gives a place back all the same."""

    def arrive(self, segment: Segment, now: float) -> None:
        if not segment.is_rst and not segment.is_syn:
            counted_off_again(self)
        super().arrive(segment, now)


@mutant("LIM-7")
class CloseCountsOffAgain(PassiveConnection):
    """The end of a fast open gives back the place that the ACK gave back before."""

    def settle(self, now: float) -> None:
        super().settle(now)
        if self.fast_opened and self.state is State.CLOSED:
            counted_off_again(self.listener)


@mutant("LIM-7", also=("LIM-1",))
class PlainHandshakesCountOff(PassiveConnection):
    """The ACK of a plain handshake gives back a place that it never took."""

    def establish(self, now: float) -> None:
        super().establish(now)
        if not self.fast_opened:
            counted_off_again(self.listener)


@mutant("LIM-7", also=("LIM-1",))
class RefusedCookiesCountOff(PassiveConnection):
    """A refused fast open gives back a place that it never took."""

    def establish(self, now: float) -> None:
        super().establish(now)
        if not self.fast_opened and self.answer is not None:
            counted_off_again(self.listener)


@mutant("LIM-7")
class CookiesWithoutDataCountOffOnly(PassiveConnection):
    """A cookie without data is not counted when it opens, but is when it ends."""

    with_data = False

    def take_syn_data(self, syn: Segment) -> None:
        self.with_data = bool(syn.payload)
        super().take_syn_data(syn)

    def establish(self, now: float) -> None:
        super().establish(now)
        if self.fast_opened and not self.with_data:
            counted_off_again(self.listener)


@mutant("LIM-7", also=("LIM-3",))
class CookiesWithoutDataKeepTheirPlace(CookiesWithoutDataCountOffOnly):
    """A cookie without data is counted, and its ACK does not take it off."""

    def establish(self, now: float) -> None:
        if not self.with_data:
            self.ticket = None
        PassiveConnection.establish(self, now)


@mutant("AFT-10", also=("DUP-4",))
class ResetsCountForEver(Pending):
    """What was reset while pending counts for good."""

    def count(self, now: float) -> int:
        return len(self._open) + len(self._reset)


@mutant("AFT-10", bug="MB-01")
class TimeoutKeepsThePlace(PassiveConnection):
    """A fast open whose handshake times out goes on counting for good."""

    def fail(self, error: str, now: float) -> None:
        if self.state is State.SYN_RCVD and error == "ETIMEDOUT":
            self.ticket = None
        super().fail(error, now)


@mutant("AFT-10")
class AbortKeepsThePlace(PassiveConnection):
    """A fast open that the application resets while pending goes on counting for good."""

    def abort(self, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.ticket = None
        super().abort(now)


@mutant("AFT-10")
class CloseKeepsThePlace(PassiveConnection):
    """A fast open that the application closed before it timed out counts for good."""

    def fail(self, error: str, now: float) -> None:
        if self.state is State.SYN_RCVD and self.send.fin_queued:
            self.ticket = None
        super().fail(error, now)


@mutant("AFT-10", also=("AFT-8",))
class IcmpKeepsThePlace(PassiveConnection):
    """A hard ICMP error ends a pending fast open, which goes on counting for good."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        if hard and self.state is State.SYN_RCVD:
            self.ticket = None
            self.fail(error, now)


@mutant("AFT-10")
class WaitsForEverWithoutAnAnswer(PassiveConnection):
    """A pending fast open with nothing to send is never given up."""

    def handshake_timed_out(self, now: float) -> None:
        if not self.send.data:
            self.handshake_retries = 0
        super().handshake_timed_out(now)


@mutant("AFT-10")
class EachResetProlongsAll(Pending):
    """One timer serves all that were reset while pending, and each new one starts it anew."""

    def reset(self, ticket: Ticket, now: float) -> None:
        self.count(now)
        super().reset(ticket, now)
        if self._reset:
            newest = self._reset[-1]
            for at in range(len(self._reset)):
                self._reset[at] = newest
