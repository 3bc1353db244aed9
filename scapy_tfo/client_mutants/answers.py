"""Clients that mishandle what comes with the SYN-ACK, or instead of it (RFC 9293 3.10.7.3)."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.option import RawOption
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import EndOfStream, Event, State
from scapy_tfo.segment import ACK, FIN, SYN, Segment


@client_mutant("CLI-19")
class DataOfTheSynAckIsDropped(ActiveConnection):
    """Data in a SYN-ACK is neither acknowledged nor delivered."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        super().syn_ack_arrives(replace(segment, payload=b""), now)


@client_mutant("CLI-19")
class DataOfTheSynAckIsLost(ActiveConnection):
    """Data in a SYN-ACK is acknowledged, and never delivered."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        super().syn_ack_arrives(replace(segment, payload=b"", flags=segment.flags & ~FIN), now)
        self.recv.take(self.recv.nxt, segment.payload, segment.is_fin)


@client_mutant("CLI-19")
class DataOfTheSynAckIsDoubled(ActiveConnection):
    """Data in a SYN-ACK is delivered twice."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        self.deliver(segment.payload)
        super().syn_ack_arrives(segment, now)


@client_mutant("CLI-19")
class DataOfTheSynAckEndsTheConnection(ActiveConnection):
    """A SYN-ACK with data is answered with a RST."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        if segment.payload:
            self.refuse_ack(segment.ack)
            self.fail("ECONNREFUSED", now)
        else:
            super().syn_ack_arrives(segment, now)


@client_mutant("CLI-19")
class RefusalLosesTheDataBesideIt(ActiveConnection):
    """Data in a SYN-ACK that refuses ours is acknowledged, and never delivered."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        refused = self.syn_data > 0 and segment.ack == seq.add(self.send.iss, 1)
        kept = b"" if refused else segment.payload
        super().syn_ack_arrives(replace(segment, payload=kept), now)
        if refused:
            self.recv.take(self.recv.nxt, segment.payload)


@client_mutant("CLI-19")
class FinOfTheSynAckIsDropped(ActiveConnection):
    """A FIN in a SYN-ACK is neither acknowledged nor told."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        super().syn_ack_arrives(replace(segment, flags=segment.flags & ~FIN), now)


@client_mutant("CLI-19", bug="LXC-04")
class FinOfTheSynAckIsNotTold(ActiveConnection):
    """A FIN in a SYN-ACK is acknowledged, and the application never told."""

    opening = False

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        self.opening = True
        super().syn_ack_arrives(segment, now)
        self.opening = False

    def tell(self, event: Event) -> None:
        if not (self.opening and isinstance(event, EndOfStream)):
            super().tell(event)


@client_mutant("CLI-19")
class DataRightBehindTheSynAckIsLost(ActiveConnection):
    """After an accepted fast open the first data behind the SYN-ACK is acknowledged, and lost."""

    first = True

    def deliver(self, data: bytes) -> None:
        if self.fast_opened and self.first and data and self.state is not State.SYN_SENT:
            self.first = False
        else:
            super().deliver(data)


@client_mutant("CLI-17")
class CrossingSynIsIgnored(ActiveConnection):
    """A SYN that crosses its own is dropped."""

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        pass


@client_mutant("CLI-17")
class CrossingSynIsRefused(ActiveConnection):
    """A SYN that crosses its own ends the connection with a RST."""

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        self.stack.refuse(segment)
        self.fail("ECONNREFUSED", now)


@client_mutant("CLI-17")
class CrossingSynLosesTheData(ActiveConnection):
    """After a simultaneous open the data of its SYN is not sent again."""

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        super().crossing_syn_arrives(segment, now)
        self.send.point = self.send.nxt

    def establish(self, now: float) -> None:
        crossed = self.state is State.SYN_RCVD
        super().establish(now)
        if crossed and seq.before(self.send.una, self.send.nxt):
            self.send.acknowledged(self.send.nxt, now)


@client_mutant("CLI-17")
class CrossingDataIsLost(ActiveConnection):
    """Data in a SYN that crosses its own is acknowledged, and never delivered."""

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        super().crossing_syn_arrives(segment, now)
        if segment.payload:
            self.recv.take(self.recv.nxt, segment.payload)
            self.send_syn_ack(now)


@client_mutant("CLI-17")
class CrossingSynWithDataIsRefused(ActiveConnection):
    """A SYN with data that crosses its own ends the connection with a RST."""

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        if segment.payload:
            self.stack.refuse(segment)
            self.fail("ECONNREFUSED", now)
        else:
            super().crossing_syn_arrives(segment, now)


@client_mutant("CLI-17")
class CrossedSynAckHasAnotherNumber(ActiveConnection):
    """The SYN-ACK for a SYN that crosses its own has a sequence number beyond its SYN's."""

    def send_syn_ack(self, now: float, *, fast_open: RawOption | None = None) -> None:
        self.transmit(seq.add(self.send.iss, 1), SYN | ACK, now)


@client_mutant("CLI-17")
class CrossingSynAckComesOnce(ActiveConnection):
    """The SYN-ACK for a SYN that crossed its own is never sent again."""

    def retransmit_handshake(self, now: float) -> None:
        if self.state is not State.SYN_RCVD:
            super().retransmit_handshake(now)


@client_mutant("CLI-17")
class CrossingRstIsIgnored(ActiveConnection):
    """A RST behind a SYN that crossed its own is not believed, and the application not told."""

    def reset_by_peer(self, now: float) -> None:
        if self.state is not State.SYN_RCVD:
            super().reset_by_peer(now)


@client_mutant("CLI-17")
class CrossingTimestampIsNotEchoed(ActiveConnection):
    """The SYN-ACK for a SYN that crossed its own echoes no timestamp, but zero."""

    def crossing_syn_arrives(self, segment: Segment, now: float) -> None:
        super().crossing_syn_arrives(replace(segment, options=_without_times(segment)), now)


def _without_times(segment: Segment) -> bytes:
    """The options, with a timestamp of zero."""
    options = opt.pull_options(segment.options)
    return opt.push_options(
        [opt.timestamps(0, 0) if each.kind == opt.TIMESTAMPS else each for each in options]
    )
