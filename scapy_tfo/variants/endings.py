"""Resets, challenges, and the end of connections (RFC 5961, RFC 9293 section 3.6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scapy_tfo import seq
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.core import Core, Ends
from scapy_tfo.reference.parts.throttle import Throttle
from scapy_tfo.reference.sendside import Chunk, SendSide
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Closed, State
from scapy_tfo.segment import ACK, RST, Segment
from scapy_tfo.variants.later import LaterStack
from scapy_tfo.variants.registry import add, variant


@variant({"rst-check": "any in the window"})
class TakesAnyRstInTheWindow(PassiveConnection):
    """Any RST in the window ends a connection (RFC 793)."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if self.recv.holds(segment.seq) or segment.seq == self.recv.nxt:
            self.reset_by_peer(now)


@variant({"rst-with-text": "dropped"})
class DropsRstWithText(PassiveConnection):
    """A RST that carries text is dropped."""

    def rst_arrives(self, segment: Segment, now: float) -> None:
        if not segment.payload:
            super().rst_arrives(segment, now)


@variant({"syn-on-connection": "RST if in the window"})
class SynInTheWindowResets(PassiveConnection):
    """A SYN in the window of an open connection resets it (RFC 793)."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.is_synchronized and self.recv.holds(segment.seq):
            self.transmit(self.send.nxt, RST | ACK, now)
            self.fail("ECONNRESET", now)
        else:
            super().syn_arrives(segment, now)


@variant({"ack-check": "taken"})
class TakesTextWithAnOldAck(PassiveConnection):
    """An old acknowledgement is ignored, and the text beside it taken (RFC 793)."""

    def ack_arrives(self, segment: Segment, start: int, now: float) -> bool:
        if self.is_synchronized and seq.before(segment.ack, self.send.una):
            return True
        return super().ack_arrives(segment, start, now)


@variant({"challenge-scope": "the host"})
class ChallengesAreCountedTogether(Stack):
    """Challenge ACKs of all connections count against one limit."""

    def add(self, connection: Connection) -> None:
        self.challenges = self.challenges or Throttle(self.settings.challenges_per_second)
        connection._challenges = self.challenges
        super().add(connection)

    challenges: Throttle | None = None


@variant({"rst-form": "RST"})
class AbortsWithoutAck(PassiveConnection):
    """The RST of an abort acknowledges nothing (RFC 9293 section 3.10.5)."""

    def abort(self, now: float) -> None:
        if self.state not in (State.CLOSED, State.TIME_WAIT):
            self.transmit(self.send.nxt, RST, now)
            self.release_pending()
            self.finish(Closed(self))
        else:
            super().abort(now)


@variant({"give-up-sign": "RST"})
class ResetsWhatItGivesUp(PassiveConnection):
    """A connection that is given up after retransmissions is reset."""

    def fail(self, error: str, now: float) -> None:
        if error == "ETIMEDOUT":
            self.transmit(self.send.nxt, RST | ACK, now)
        super().fail(error, now)


@variant({"window-on-rst": "any"})
class WindowOnRst(Stack):
    """A RST carries a window."""

    def send(self, segment: Segment) -> None:
        super().send(replace(segment, window=4321) if segment.is_rst else segment)


@variant({"fin-with-text": "apart"})
class FinTravelsAlone(SendSide):
    """The FIN is sent behind the last text, in a segment of its own."""

    def next_chunk(self, *, probe: bool = False) -> Chunk | None:
        chunk = super().next_chunk(probe=probe)
        if chunk is not None and chunk.fin and chunk.payload:
            return Chunk(chunk.seq, chunk.payload, False)
        return chunk


@variant({"fin-wait-2-time": "60 s"})
class FinWaitTwoEnds(PassiveConnection):
    """FIN-WAIT-2 ends after 60 seconds in which nothing came."""

    def arrive(self, segment: Segment, now: float) -> None:
        if self.state is State.FIN_WAIT_2:
            self.time_wait_timer = None
        super().arrive(segment, now)

    def settle(self, now: float) -> None:
        super().settle(now)
        if self.state is State.FIN_WAIT_2 and self.time_wait_timer is None:
            self.time_wait_timer = now + 60


@variant({"time-wait-syn": "no"})
class TimeWaitTakesNoSyn(Stack):
    """A SYN in TIME-WAIT gets a challenge ACK."""

    def reopens(self, connection: Connection, segment: Segment) -> bool:
        return False


@variant({"time-wait-timestamps": "sequence numbers alone"})
class TimeWaitReadsNoTimestamps(Stack):
    """A SYN in TIME-WAIT is judged by its sequence number alone."""

    def reopens(self, connection: Connection, segment: Segment) -> bool:
        if connection.state is not State.TIME_WAIT or not segment.is_syn or segment.is_rst:
            return False
        return seq.before(connection.recv.nxt, segment.seq)


@variant({"ports-rest": "after a minute"}, combines=False)
class PortsRest(LaterStack):
    """For a minute after a connection's end, its 4-tuple takes no SYN."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.resting: dict[Ends, float] = {}

    def forget(self, connection: Core) -> None:
        super().forget(connection)
        self.resting[(*connection.local, *connection.remote)] = self.clock + 60

    def segment_arrives(self, segment: Segment, now: float) -> None:
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        if not segment.is_syn or self.resting.get(ends, 0.0) <= now:
            super().segment_arrives(segment, now)


class KeepsAlive(PassiveConnection):
    """An idle connection is probed after two hours, then every 75 s; given up after nine probes.

    octet: what a probe carries.
    """

    octet = b""
    probes = 0

    def arrive(self, segment: Segment, now: float) -> None:
        super().arrive(segment, now)
        if self.is_synchronized:
            self.probes = 0
            self.alarms["keep-alive"] = (now + 7200, self.probe)
            self.stack.arm(self)

    def probe(self, now: float) -> None:
        """Nothing came for that long. While text waits, its own timer does what is needed."""
        if self.probes == 9:
            self.fail("ETIMEDOUT", now)
            return
        if self.send.timer is None and self.time_wait_timer is None:
            self.probes += 1
            self.transmit(seq.add(self.send.nxt, -1), ACK, now, self.octet)
        self.alarms["keep-alive"] = (now + 75, self.probe)


@variant({"keep-alive": "after two hours", "keep-alive-octet": "nothing"})
class ProbesIdleConnections(KeepsAlive):
    """A connection that is idle for two hours is probed by an old sequence number."""


@variant({"keep-alive": "after two hours", "keep-alive-octet": "one octet"})
class ProbesWithAnOctet(KeepsAlive):
    """A connection that is idle for two hours is probed by an old octet."""

    octet = b"\0"


add(
    "ten-challenges-in-five-seconds",
    "A connection sends two challenge ACKs a second.",
    {"challenge-rate": "10 in 5 s"},
    challenges_per_second=2,
)
add(
    "one-challenge-a-second",
    "A connection sends one challenge ACK a second.",
    {"challenge-rate": "one a second"},
    challenges_per_second=1,
)
add(
    "time-wait-of-a-minute",
    "TIME-WAIT lasts 60 seconds.",
    {"time-wait-length": "60 s"},
    msl=30.0,
)
add(
    "time-wait-of-two-seconds",
    "TIME-WAIT lasts two seconds.",
    {"time-wait-length": "2 s"},
    msl=1.0,
)
add(
    "remembers-in-last-ack",
    "A connection that the client closed is remembered for 2 MSL.",
    {"last-ack-hold": "for 2 MSL"},
    hold_last_ack=True,
)
add(
    "closes-both-ways",
    "Text after the application closed, or unread when it did, is answered with a RST.",
    {"close-half": "reset", "close-unread": "RST"},
    half_duplex_close=True,
)
