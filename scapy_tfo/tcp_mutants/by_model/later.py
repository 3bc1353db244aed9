"""Wrong acknowledgements, repetitions and ends of open connections: RFC 9293 section 3.8."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.mutants.registry import rule_mutant
from scapy_tfo.reference.icmp import quoted_segment
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, Segment

_TOO_BIG = (3, 4)
_IDLE = 60.0
"""Seconds until a keep-alive goes out, which should be two hours (RFC 9293 section 3.8.4)."""
_ANSWERED_WITHIN = 2.0


@rule_mutant("TCP-ACK-7", settings=Settings(ack_delay=0.001))
class AckOfAFilledGapWaits(PassiveConnection):
    """What fills a gap is acknowledged two seconds later."""

    filled = False

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        had_gap = self.recv.has_gap
        super().text_arrives(segment, start, now)
        if had_gap and not self.recv.has_gap:
            self.filled = True
            self._ack_wanted = False
            self.alarms["filled gap"] = (now + 2.0, self.tell_of_it)

    def tell_of_it(self, now: float) -> None:
        """Acknowledge what filled the gap."""
        self.filled = False
        self.send_ack(now)

    def flush(self, now: float) -> None:
        if not self.filled:
            super().flush(now)


@rule_mutant("TCP-RTO-11")
class GivesUpAtTheFirstTimeout(PassiveConnection):
    """Text that is not acknowledged in time ends the connection."""

    def retransmit(self, now: float) -> None:
        if self.send.outstanding and self.send.wnd:
            self.abort(now)
        else:
            super().retransmit(now)


@rule_mutant("TCP-KEEP-3")
class GivesUpForOneKeepAlive(PassiveConnection):
    """A connection that says nothing for a minute gets a keep-alive, and two seconds to answer."""

    def arrive(self, segment: Segment, now: float) -> None:
        self.alarms["keep-alive"] = (now + _IDLE, self.keep_alive)
        super().arrive(segment, now)

    def keep_alive(self, now: float) -> None:
        """Ask whether the peer is there."""
        if self.state is State.ESTABLISHED and not self.send.outstanding:
            self.transmit(seq.add(self.send.nxt, -1), ACK, now)
            self.alarms["keep-alive"] = (now + _ANSWERED_WITHIN, self.abort)


class _Stopping(PassiveConnection):
    """A connection that may be told to send no text any more."""

    stopped = False

    def may_send_data(self) -> bool:
        return not self.stopped and super().may_send_data()


@rule_mutant("TCP-PMTU-7")
class StopsWhereNoSizeIsTold(Stack):
    """A packet-too-big of IPv4 without a size ends all sending of the connection."""

    connection_class = _Stopping

    def receive(self, packet: bytes, now: float) -> None:
        error = IcmpError.from_bytes(packet)
        found = None if error is None else quoted_segment(error.quoted)
        if error is not None and found is not None and (error.type, error.code) == _TOO_BIG:
            connection = self.connections.get(found[:4])
            if isinstance(connection, _Stopping) and not error.mtu:
                connection.stopped = True
        super().receive(packet, now)
