"""Wrong answers of a listener and of half-open connections: RFC 9293 sections 3.5 and 3.10.7."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo.mutants.registry import rule_mutant
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, CWR, ECE, FIN, RST, SYN, Segment
from scapy_tfo.tcp_mutants.headers import Dressed


@rule_mutant("TCP-HDR-8")
class AnswersFromTheNextPort(Dressed):
    """The SYN-ACK that acknowledges text comes from the port above the listener's."""

    def dress(self, segment: Segment) -> Segment:
        ends = (segment.src, segment.sport, segment.dst, segment.dport)
        connection = self.connections.get(ends)
        if segment.is_syn_ack and connection is not None and connection.fast_opened:
            return replace(segment, sport=segment.sport + 1)
        return segment


@rule_mutant("TCP-HDR-9")
class MindsTheAckOfASyn(Listener):
    """A SYN without ACK is dropped where the acknowledgement field is not zero."""

    def arrive(self, segment: Segment, now: float) -> None:
        if not segment.ack or segment.flags & ACK:
            super().arrive(segment, now)


@rule_mutant("TCP-SYN-9")
class OneHalfOpenAtATime(Listener):
    """While the SYN-ACK to one client is not acknowledged the SYNs of others are dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if not any(each.remote[0] != segment.src for each in self._half_open):
            super().syn_arrives(segment, now)


@rule_mutant("TCP-RST-4")
class IgnoresStrayAcks(Listener):
    """An ACK that belongs to no connection is dropped without a word."""

    def arrive(self, segment: Segment, now: float) -> None:
        if not segment.flags & ACK:
            super().arrive(segment, now)


@rule_mutant("TCP-RST-15")
class ResetsWhatHasNoFlags(Listener):
    """A segment without any of SYN, ACK and RST is answered with RST."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.flags & (SYN | ACK | RST):
            super().arrive(segment, now)
        else:
            self.stack.refuse(segment)


@rule_mutant("TCP-FIN-13")
class OpensForAFin(Listener):
    """A FIN that belongs to no connection opens one, as a SYN does."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.flags & (SYN | RST | ACK | FIN) == FIN:
            segment = replace(segment, flags=SYN)
        super().arrive(segment, now)


@rule_mutant("TCP-ECN-12")
class RefusesHalfAnEcnSetup(Listener):
    """A SYN with one of ECE and CWR, and without the other, is dropped."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.flags & (SYN | ACK) != SYN or segment.flags & (ECE | CWR) in (0, ECE | CWR):
            super().arrive(segment, now)


@rule_mutant("TCP-SEQ-8")
class ResetsForWhatIsOutside(PassiveConnection):
    """A half-open connection answers text outside of its window with RST, and is over."""

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.abort(now)
        else:
            super().unacceptable_arrives(segment, now)


@rule_mutant("TCP-CHAL-3")
class DeafToSynsWhenOpen(PassiveConnection):
    """A SYN on an open connection is dropped without a word."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.state is State.SYN_RCVD:
            super().syn_arrives(segment, now)


@rule_mutant("TCP-CHAL-9")
class DeafToResetsBehindAChallenge(PassiveConnection):
    """A RST that answers a challenge ACK is dropped, though its number is the right one."""

    challenged = False

    def syn_arrives(self, segment: Segment, now: float) -> None:
        super().syn_arrives(segment, now)
        self.challenged = self.state is not State.SYN_RCVD

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if not self.challenged:
            super().rst_arrives(segment, now)


@rule_mutant("TCP-RST-1")
class ClosedPortAcknowledges(Stack):
    """A port that nobody serves answers a SYN with an ACK, and not with RST."""

    def refuse(self, segment: Segment) -> None:
        if not segment.is_syn:
            super().refuse(segment)
            return
        self.send(
            Segment(
                src=segment.dst,
                dst=segment.src,
                sport=segment.dport,
                dport=segment.sport,
                ack=segment.end,
                flags=ACK,
            )
        )
