"""Clients that mishandle a RST, or send a wrong one (RFC 9293 3.10.7.3)."""

from __future__ import annotations

from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import Closed, Event, Reset
from scapy_tfo.segment import ACK, Segment


class _Hushing(ActiveConnection):
    """It does not tell its application of an error of a connection whose SYN had the option: of
    plain ones it does. error: as in Reset."""

    error = ""

    def finish(self, event: Event) -> None:
        hushed = isinstance(event, Reset) and event.error == self.error and self.tried
        super().finish(Closed(self) if hushed else event)


@client_mutant("CLI-22")
class RefusedConnectionIsTakenForAnEmptyOne(_Hushing):
    """A RST in answer to a SYN is told as the end of an answer without a byte."""

    error = "ECONNREFUSED"


@client_mutant("CLI-22")
class SilenceIsTakenForTheEnd(_Hushing):
    """That nobody answered is told as the end of an answer without a byte."""

    error = "ETIMEDOUT"


@client_mutant("CLI-22")
class RefusedConnectionIsToldToNobody(ActiveConnection):
    """After a RST in answer to a SYN with the option the application waits forever."""

    def refused(self, now: float) -> None:
        self._application_done = self.asked
        super().refused(now)


@client_mutant("CLI-22")
class ResetIsTakenForTheEnd(_Hushing):
    """A RST behind the handshake is told as the end of the answer."""

    error = "ECONNRESET"


@client_mutant("CLI-22")
class RstOfAnyNumberIsBelieved(ActiveConnection):
    """In SYN-SENT a RST is believed, whatever it acknowledges."""

    def answer_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_rst:
            self.refused(now)
        else:
            super().answer_arrives(segment, now)


@client_mutant("CLI-15")
class RefusedAckHasAnotherRst(ActiveConnection):
    """The RST for a SYN-ACK of something never sent has its own next number, not that one."""

    def refuse_ack(self, ack: int) -> None:
        super().refuse_ack(self.send.nxt)


@client_mutant("CLI-22")
class AnswersRstOfAnyNumber(ActiveConnection):
    """In SYN-SENT a RST that acknowledges what was never sent is answered with RST."""

    def answer_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_rst and segment.flags & ACK and not self.completes_handshake(segment.ack):
            self.refuse_ack(segment.ack)
        super().answer_arrives(segment, now)


@client_mutant("CLI-6a")
class SynAckWaitsForItsAck(ActiveConnection):
    """A SYN-ACK is acknowledged with the next segment that has text, and with none before."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        super().syn_ack_arrives(segment, now)
        self._ack_wanted = False


@client_mutant("CLI-6a")
class SoftErrorEndsTheConnection(ActiveConnection):
    """An ICMP error about a host that is unreachable for a while ends an open connection."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard, now=now)
        if self.is_synchronized and not hard:
            self.fail(error, now)
