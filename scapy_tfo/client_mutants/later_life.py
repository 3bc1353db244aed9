"""Clients whose connections fail later because of how they began (RFC 9293 3.8)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.segment import Segment


class _Refused(ActiveConnection):
    """It knows that its SYN's data was refused."""

    was_refused = False

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        taken = seq.distance(self.send.iss, segment.ack) - 1
        self.was_refused = taken < self.syn_data
        super().syn_ack_arrives(segment, now)


@client_mutant("CLI-23", bug="LXC-10")
class RefusalClockAbortsLater(_Refused):
    """The clock of a refusal runs on, and the first timeout a while later ends the connection."""

    def retransmit(self, now: float) -> None:
        if self.was_refused and now - self.handshake_sent_at > 3:
            self.fail("ETIMEDOUT", now)
        else:
            super().retransmit(now)


@client_mutant("CLI-23")
class RefusalEndsRetransmission(_Refused):
    """After a refusal what is lost later is not sent again."""

    def retransmit(self, now: float) -> None:
        if self.was_refused:
            self.send.timer = None
        else:
            super().retransmit(now)


@client_mutant("CLI-23")
class RefusedDataIsTheLast(_Refused):
    """After a refusal no more than the SYN's data and ten segments are ever sent."""

    def flush(self, now: float) -> None:
        if self.was_refused and self.is_synchronized:
            limit = self.syn_data + 10 * self.send.mss
            past = seq.distance(seq.add(self.send.iss, 1), self.send.base)
            del self.send.data[max(limit - past, 0) :]
        super().flush(now)


@client_mutant("CLI-23")
class RefusalDoesNotSurviveIdling(_Refused):
    """After a refusal a connection that was idle for three seconds is ended with RST."""

    heard_at: float | None = None

    def other_arrives(self, segment: Segment, now: float) -> None:
        idle = 0 if self.heard_at is None else now - self.heard_at
        self.heard_at = now
        if self.was_refused and idle > 3:
            self.abort(now)
        else:
            super().other_arrives(segment, now)
