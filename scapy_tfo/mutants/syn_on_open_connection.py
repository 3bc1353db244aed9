"""Servers that mishandle a SYN once the handshake is over (RFC 9293 3.10.7.4, RFC 5961 4.2)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.duplicate_syns import StartsOver
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import ACK, SYN, Segment


@mutant("DUP-2")
class SynReopens(StartsOver):
    """A SYN on an established connection opens a second one in its place."""

    def replaces(self, connection: PassiveConnection, segment: Segment) -> bool:
        return connection.is_synchronized and connection.state is not State.TIME_WAIT


@mutant("DUP-2")
class SameSynReopens(StartsOver):
    """The first SYN once more, on an established connection, opens a second one in its place."""

    def replaces(self, connection: PassiveConnection, segment: Segment) -> bool:
        return connection.is_synchronized and segment.seq == connection.recv.irs


@mutant("DUP-2")
class SynReopensBeforeTheLastAck(StartsOver):
    """A SYN in LAST-ACK opens a second connection."""

    def replaces(self, connection: PassiveConnection, segment: Segment) -> bool:
        return connection.state is State.LAST_ACK


class _SynWhenOpen(PassiveConnection):
    """A connection that acts on a SYN when the handshake is over."""

    def act(self, segment: Segment, now: float) -> None:
        raise NotImplementedError

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.is_synchronized:
            self.act(segment, now)
        super().syn_arrives(segment, now)


@mutant("DUP-2")
class SynResetsTheConnection(_SynWhenOpen):
    """Any SYN on an established connection resets it, outside its window too."""

    def act(self, segment: Segment, now: float) -> None:
        self.abort(now)


@mutant("DUP-2")
class SynDataIsDeliveredWhenOpen(_SynWhenOpen):
    """The data of a SYN on an established connection is delivered."""

    def act(self, segment: Segment, now: float) -> None:
        self.deliver(segment.payload)


@mutant("DUP-2")
class SynInTheWindowIsDeliveredWhenOpen(_SynWhenOpen):
    """The data of a SYN inside the window of an established connection is text."""

    def act(self, segment: Segment, now: float) -> None:
        self.take_text(segment.seq, segment.payload, False)


@mutant("DUP-2")
class OlderSynMovesTheStreamBack(_SynWhenOpen):
    """The stream goes back to the ISN of an older SYN."""

    def act(self, segment: Segment, now: float) -> None:
        if seq.before(segment.seq, self.recv.irs):
            self.recv.nxt = seq.add(segment.seq, 1)


@mutant("DUP-2")
class SynAckWhenOpen(_SynWhenOpen):
    """A SYN on an established connection is answered with a SYN-ACK of another ISN."""

    def act(self, segment: Segment, now: float) -> None:
        if not seq.before(self.recv.irs, segment.seq):
            self.transmit(seq.add(self.send.iss, 1 << 20), SYN | ACK, now)


@mutant("DUP-2")
class SynOnAPlainConnectionOpensFast(_SynWhenOpen):
    """A fast open on an established plain connection has its data delivered."""

    def act(self, segment: Segment, now: float) -> None:
        if not self.fast_opened and segment.cookie:
            self.deliver(segment.payload)


# A SYN after the close.


@mutant("DUP-3", settings=Settings(hold_last_ack=True))
class HoldsLastAck(Stack):
    """LAST-ACK is held for two maximum segment lifetimes, which keeps replays out."""


@mutant("DUP-3")
class TimeWaitTakesEverySyn(StartsOver):
    """A SYN in TIME-WAIT opens a connection whatever its sequence number."""

    def replaces(self, connection: PassiveConnection, segment: Segment) -> bool:
        return connection.state is State.TIME_WAIT


@mutant("DUP-4", also=("AFT-9",))
class ReplayStaysOpen(PassiveConnection):
    """A RST that ends a fast open in SYN-RCVD is not told to the application."""

    def reset_by_peer(self, now: float) -> None:
        self._application_done = self.state is State.SYN_RCVD
        super().reset_by_peer(now)


@mutant("DUP-4")
class EstablishedReplayIsNotGivenBack(PassiveConnection):
    """A RST after the handshake of a fast open turns fast open off at its listener."""

    def reset_by_peer(self, now: float) -> None:
        if self.fast_opened and self.is_synchronized:
            self.listener.pending.limit = 0
        super().reset_by_peer(now)
