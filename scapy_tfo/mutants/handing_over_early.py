"""Servers that give a connection to the application before they may (RFC 7413 4.2.2, step 3)."""

from __future__ import annotations

from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Decision, Listener, PassiveConnection
from scapy_tfo.reference.states import Accepted, Event, State
from scapy_tfo.segment import Segment


@mutant("ACC-3", also=("SRV-1", "SRV-2"))
class CookieWithoutDataIsNotChecked(Listener):
    """A SYN without data is handed over, and answered, whatever cookie it has."""

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        if not segment.payload:
            return self.accept(None)
        return super().decide_cookie(segment, option)


class _HandsOver(PassiveConnection):
    """A connection that the application gets, and may write to, at a SYN without fast open."""

    handed_over = False

    def hands_over(self, syn: Segment) -> bool:
        raise NotImplementedError

    def open_slowly(self, syn: Segment, now: float) -> None:
        super().open_slowly(syn, now)
        if self.listener.fast_open_enabled and self.hands_over(syn):
            self.hand_over()

    def hand_over(self) -> None:
        self.send.cwnd = self.send.initial_window()
        super().tell(Accepted(self, self.listener))
        self.handed_over = True

    def may_send_data(self) -> bool:
        return self.handed_over or super().may_send_data()

    def tell(self, event: Event) -> None:
        if not (self.handed_over and isinstance(event, Accepted)):
            super().tell(event)


@mutant("ACC-3")
class RefusedConnectionIsHandedOver(_HandsOver):
    """A wrong cookie costs the data only: the application gets the connection, and writes."""

    def hands_over(self, syn: Segment) -> bool:
        return bool(syn.cookie)


@mutant("ACC-4")
class RequestIsHandedOver(_HandsOver):
    """A cookie request costs the data only: the application gets the connection, and writes."""

    def hands_over(self, syn: Segment) -> bool:
        return syn.cookie == b""


@mutant("ACC-4")
class PlainSynIsHandedOver(_HandsOver):
    """Where fast open is on, the application gets plain connections at the SYN as well."""

    def hands_over(self, syn: Segment) -> bool:
        return syn.cookie is None


@mutant("ACC-4", also=("ACC-3",))
class RetransmittedSynIsHandedOver(_HandsOver):
    """The second SYN of a client is proof enough, and the application gets the connection."""

    def hands_over(self, syn: Segment) -> bool:
        return False

    def answer_duplicate(self, segment: Segment, now: float) -> None:
        super().answer_duplicate(segment, now)
        if self.state is State.SYN_RCVD and not self.fast_opened and not self.handed_over:
            self.hand_over()
