"""Servers that keep the limit of pending fast opens wrongly (RFC 7413 section 4.2)."""

from __future__ import annotations

from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.parts.pending import Pending, Ticket
from scapy_tfo.reference.server import PLAIN, Decision, Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import Accepted, Event, State
from scapy_tfo.segment import Segment


@mutant("LIM-1", also=("LIM-6",))
class IgnoresTheLimit(Pending):
    """Any number of fast opens may be pending."""

    def admits(self, now: float) -> bool:
        return True


@mutant("LIM-1")
class LimitTwoTooHigh(Pending):
    """Two more fast opens than the limit may be pending."""

    def admits(self, now: float) -> bool:
        return self.limit is None or self.count(now) < self.limit + 2


@mutant("LIM-1")
class LimitTwoTooLow(Pending):
    """Two fast opens fewer than the limit may be pending."""

    def admits(self, now: float) -> bool:
        return self.limit is None or self.count(now) < max(1, self.limit - 2)


@mutant(
    "LIM-1",
    equivalent="RFC 7413 leaves open whether the request that reaches the limit is accepted",
)
class LimitOneTooHigh(Pending):
    """One more fast open than the limit may be pending."""

    def admits(self, now: float) -> bool:
        return self.limit is None or self.count(now) <= self.limit


@mutant("LIM-1", also=("AFT-10",))
class StaysOffOnceFull(Pending):
    """A limit that was reached once keeps fast open off for good."""

    reached = False

    def admits(self, now: float) -> bool:
        self.reached = self.reached or not super().admits(now)
        return not self.reached


@mutant("LIM-1", also=("ACC-1",))
class DropsFastOpensOverTheLimit(Listener):
    """Over the limit a SYN with a cookie is dropped; it does not fall back."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        option = self.read_fast_open(segment)
        if not option or option.is_request or self.below_limit(segment, now):
            super().syn_arrives(segment, now)


@mutant("LIM-1", also=("ACC-1",))
class ResetsFastOpensOverTheLimit(Listener):
    """Over the limit a SYN with a cookie is refused with RST."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        option = self.read_fast_open(segment)
        if not option or option.is_request or self.below_limit(segment, now):
            super().syn_arrives(segment, now)
        else:
            self.stack.refuse(segment)


@mutant("LIM-1", also=("ACC-1", "ACC-4", "LIM-6"))
class TakesDataOfRequestsOverTheLimit(Listener):
    """Over the limit the data that comes with a cookie request is taken."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if option and option.is_request and not self.below_limit(segment, now):
            return self.accept(None)
        return super().decide(segment, option, now)


@mutant("LIM-1")
class CountsRefusedCookies(Listener):
    """A refused cookie takes a place among the pending fast opens, and keeps it."""

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        decision = super().decide_cookie(segment, option)
        if not decision.accept:
            self.open_ticket(segment, 0.0)
        return decision


@mutant("LIM-1", also=("AFT-10",))
class CountsRefusalsOverTheLimit(Listener):
    """What the limit refuses is counted as well, and never taken off."""

    def below_limit(self, segment: Segment, now: float) -> bool:
        below = super().below_limit(segment, now)
        if not below:
            self.open_ticket(segment, now)
        return below


@mutant("LIM-1", also=("AFT-10",))
class CountsEachSyn(PassiveConnection):
    """Each retransmission of a SYN that is pending counts as one more fast open."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if self.fast_opened:
            self.listener.open_ticket(segment, now)
        super().answer_duplicate(segment, now)


@mutant("LIM-1", also=("AFT-10",), bug="BSD-08")
class CountsFastOpenBehindPlainSyn(PassiveConnection):
    """A fast open on the 4-tuple of an earlier plain SYN is counted, and never taken off."""

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        if not self.fast_opened and segment.fast_open:
            self.listener.open_ticket(segment, now)
        super().answer_duplicate(segment, now)


@mutant("LIM-3", also=("AFT-10",))
class CountsEstablishedOnes(PassiveConnection):
    """A fast open counts for as long as its connection lives."""

    def release_pending(self) -> None:
        if self.state is State.CLOSED:
            super().release_pending()

    def settle(self, now: float) -> None:
        super().settle(now)
        self.release_pending()


@mutant("LIM-3", also=("AFT-10",))
class NeverGivesPlacesBack(Pending):
    """The count only ever rises."""

    def release(self, ticket: Ticket) -> None:
        """Forgotten."""


@mutant("LIM-3")
class AckGivesThePlaceBackLate(PassiveConnection):
    """After its ACK a fast open goes on counting for a minute, as if it had been reset."""

    def establish(self, now: float) -> None:
        if self.ticket is not None:
            self.ticket.reset(now)
        super().establish(now)


@mutant("LIM-3")
class OnlyBareAckGivesThePlaceBack(PassiveConnection):
    """An ACK that carries data ends the handshake, but leaves the fast open counted."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is State.SYN_RCVD and segment.payload:
            self.ticket = None
        return super().ack_arrives(segment, start, now)


@mutant("LIM-3")
class FinWithTheAckKeepsThePlace(PassiveConnection):
    """An ACK that carries FIN ends the handshake, but leaves the fast open counted."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.state is State.SYN_RCVD and segment.is_fin:
            self.ticket = None
        return super().ack_arrives(segment, start, now)


@mutant("LIM-3", also=("LIM-7",))
class AckGivesTwoPlacesBack(PassiveConnection):
    """The ACK that ends the handshake is counted off twice."""

    def release_pending(self) -> None:
        if self.state is State.ESTABLISHED and self.listener.pending.limit and self.ticket:
            self.listener.pending.limit += 1
        super().release_pending()


@mutant("LIM-4")
class DropsPlainSynsOverTheLimit(Listener):
    """Over the limit connections by the 3-way handshake are turned away as well."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if segment.fast_open or not self.fast_open_enabled or self.below_limit(segment, now):
            super().syn_arrives(segment, now)


@mutant("LIM-4", also=("ACC-1",))
class DropsRequestsOverTheLimit(Listener):
    """Over the limit a SYN that asks for a cookie is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        option = self.read_fast_open(segment)
        if option and option.is_request and not self.below_limit(segment, now):
            return
        super().syn_arrives(segment, now)


@mutant("LIM-4")
class FallbackIsNeverAccepted(PassiveConnection):
    """What fell back over the limit is established, but the application never gets it."""

    over_limit = False

    def open_slowly(self, syn: Segment, now: float) -> None:
        enabled = self.listener.fast_open_enabled
        self.over_limit = enabled and not self.listener.below_limit(syn, now)
        super().open_slowly(syn, now)

    def tell(self, event: Event) -> None:
        if not (self.over_limit and isinstance(event, Accepted)):
            super().tell(event)


@mutant("LIM-5", settings=Settings(client_pending_limit=3))
class LimitsEachClient(Listener):
    """Each client may have three fast opens pending, so that one leaves room for others."""


@mutant("LIM-6", also=("LIM-1",))
class AnswersBeforeTheAckOverTheLimit(PassiveConnection):
    """Over the limit the application may still send before the ACK, though no data was taken."""

    def open_slowly(self, syn: Segment, now: float) -> None:
        listener = self.listener
        if listener.fast_open_enabled and not listener.below_limit(syn, now):
            self.fast_opened = True
            self.send.cwnd = self.send.initial_window()
            self.tell(Accepted(self, listener))
        super().open_slowly(syn, now)


@mutant("LIM-8")
class FullBacklogTurnsFastOpenOff(Listener):
    """With a full backlog no SYN is dropped, and each one gets a 3-way handshake."""

    full = False

    def syn_arrives(self, segment: Segment, now: float) -> None:
        self.full = len(self._half_open) >= self.backlog
        backlog, self.backlog = self.backlog, len(self._half_open) + 1
        super().syn_arrives(segment, now)
        self.backlog = backlog

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        return PLAIN if self.full else super().decide(segment, option, now)
