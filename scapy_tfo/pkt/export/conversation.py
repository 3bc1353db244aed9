"""One connection of a capture in a script's numbers, seen from the kernel under test."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from scapy_tfo import option as opt
from scapy_tfo.capture.connections import Captured, Connection, End, joined
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.packets.describe import describe
from scapy_tfo.segment import ACK, FIN, SYN, Segment, tcp_checksum
from scapy_tfo.seq import MODULUS, add, distance

_FIRST_STAMP = 1000
"""What the target's first TS val becomes."""


_MANY, _LEAST = 4, 256
"""Segments of one size that are no chance, and bytes of data that fit into each, surely."""


@dataclass(slots=True, eq=False)
class Conversation:
    """A connection with one ISN at each end, and what has been told of it so far.

    target: the end that the script's kernel takes the place of. peer: the end that the script
    plays. ports: the peer's and the target's, where the script has to name them; client: whose the
    peer's is, counted from 1. base: what the ISN of a connection between the same ports before
    was, whose numbers this one's SYN goes on with. full: bytes of
    data in the target's largest segment. has_fulls: there are so many of these that no segment of
    its had room for more.

    Numbers are the script's (see live_numbers.py): those of each side count from its ISN, and
    become 0 based, unless the peer's run past 2**32, which must happen again. What the peer sends
    before the target's first SYN acknowledges nothing that could be mapped, and stays as it is.
    """

    connection: Connection
    target: End
    peer: End
    ports: tuple[int, int] | None = None
    client: int = 1
    base: int | None = None
    remote_isn: int = 0
    local_isn: int | None = None
    is_literal: bool = False
    full: int = 0
    has_fulls: bool = False
    scaled: bool = False
    dropped: set[str] = field(default_factory=set)
    _stamps: set[int] = field(default_factory=set)
    _first_stamp: int | None = None
    _local_offset: int = 0

    @classmethod
    def of(
        cls, connection: Connection, side: str, *, portable: bool = False, exact: bool = False
    ) -> Conversation:
        """side: `server` or `client`, which of the two is the target. portable: packetdrill takes
        no range that runs past 2**32 itself. exact: with the target's data divided as it was."""
        packets = [_summed_up(each) for each in connection.packets]
        is_left = packets != connection.packets
        connection = replace(connection, packets=packets)
        target, peer = connection.server, connection.client
        if side == "client":
            target, peer = peer, target
        made = cls(connection, target, peer)
        if is_left:
            made.dropped.add("checksums that were left to a network device")
        sizes = [len(each.what.payload) for each in made.segments(target)]
        made.full = max(sizes, default=0)
        made.has_fulls = made.full >= _LEAST and sizes.count(made.full) >= _MANY
        if not exact:
            made.connection = joined(connection, target)
        sent = [each.what for each in made.segments(peer)]
        begun = [
            each for each in sent if each.flags & SYN and (side == "server" or each.is_syn_ack)
        ]
        first = (begun or sent)[:1]
        made.remote_isn = first[0].seq if first else 0
        own = [each.what for each in made.segments(target) if each.what.flags & SYN]
        made.local_isn = own[0].seq if own else None
        if first and first[0].flags & SYN:
            made.is_literal = any(
                made.remote_isn + max(distance(made.remote_isn, each.end), 0) >= MODULUS
                for each in sent
            ) and not (portable and any(each.seq > each.end for each in sent if each.flags & SYN))
        return made

    def segments(self, end: End) -> Iterator[SegmentSeen]:
        """What this end sent."""
        for packet in self.connection.packets:
            if packet.src == end and isinstance(packet.what, Segment):
                yield SegmentSeen(packet, packet.what)

    def remote_number(self, seq: int) -> int:
        """Of the peer's stream: 0 is its first byte of data."""
        return distance(add(self.remote_isn, 1), seq)

    def local_number(self, seq: int) -> int:
        """Of the target's stream: 0 is its first byte of data."""
        return distance(add(self.local_isn or 0, 1), seq)

    def packet(self, captured: Captured, segment: Segment, *, exact: bool) -> tree.Packet:
        """The next segment of the connection as it stands in a script, cookies as bytes.

        exact: with all that depends on the target's set-up: its windows, their scale, its DSCP.
        """
        syn = bool(segment.flags & SYN)
        remote = -self.remote_isn
        if syn:
            remote = (
                0 if self.is_literal else -(self.remote_isn if self.base is None else self.base)
            )
        if captured.src == self.target:
            if syn:
                self._local_offset = -(self.local_isn or 0)
            packet = self._outbound(segment, remote, exact=exact)
        else:
            packet = self._inbound(segment, remote)
        return replace(packet, client=self.client)

    def quoted(self, packet: bytes) -> tree.Range:
        """The part of the target's stream that an ICMP error quotes; packet: the start of one."""
        is_ipv4 = packet[0] >> 4 == 4
        head = (packet[0] & 15) * 4 if is_ipv4 else 40
        size = int.from_bytes(packet[2:4] if is_ipv4 else packet[4:6], "big")
        size -= head if is_ipv4 else 0
        # Of the TCP header an old router quotes eight bytes only.
        offset = packet[head + 12] >> 4 if len(packet) > head + 12 else 5
        size = max(size - 4 * offset, 0)
        start = add(int.from_bytes(packet[head + 4 : head + 8], "big"), self._local_offset)
        return tree.Range(start, add(start, size), size)

    def _outbound(self, segment: Segment, remote: int, *, exact: bool) -> tree.Packet:
        if segment.timestamps is not None:
            self._stamps.add(segment.timestamps[0])
            if self._first_stamp is None:
                self._first_stamp = segment.timestamps[0]
        if segment.checksum is not None or segment.data_offset is not None:
            self.dropped.add("wrong checksums and data offsets of the target")
            segment = replace(segment, checksum=None, data_offset=None)
        if not exact:
            segment = replace(segment, traffic_class=segment.traffic_class & 3)
        packet = describe(
            segment,
            tree.Direction.OUTBOUND,
            seq_offset=self._local_offset,
            ack_offset=remote,
            timestamps=lambda value, echo: (self._stamp(value), echo),
            ports=self.ports and (self.ports[1], self.ports[0]),
        )
        if segment.is_rst and not segment.seq and self._local_offset:
            packet = replace(packet, range=tree.Range(0, 0, 0), faults=(tree.Fault("seq", 0),))
        return packet if exact or not segment.window else replace(packet, win=None)

    def _inbound(self, segment: Segment, remote: int) -> tree.Packet:
        has_ack = bool(segment.flags & ACK)
        packet = describe(
            segment,
            tree.Direction.INBOUND,
            seq_offset=remote,
            ack_offset=self._local_offset,
            timestamps=lambda value, echo: (value, self._stamp(echo) if has_ack else echo),
            ports=self.ports,
        )
        stamps = segment.timestamps
        if not has_ack or stamps is None:
            return packet
        if self._first_stamp is None:
            # No engine can map what it has not seen: the bytes as they are.
            raw = fields.RawOption(opt.TIMESTAMPS, None, struct.pack("!II", *stamps))
            options = tuple(
                raw if isinstance(each, fields.Timestamps) else each
                for each in packet.options or ()
            )
            return replace(packet, options=options)
        self.scaled = self.scaled or stamps[1] not in self._stamps
        return packet

    def _stamp(self, value: int) -> int:
        if self._first_stamp is None:
            return value
        return add(value, _FIRST_STAMP - self._first_stamp)


@dataclass(frozen=True, slots=True)
class SegmentSeen:
    """A packet that is a segment."""

    packet: Captured
    what: Segment


def _summed_up(packet: Captured) -> Captured:
    """With a right checksum where it was left to the device."""
    segment = packet.what
    if not isinstance(segment, Segment) or segment.checksum is None:
        return packet
    if segment.checksum != _left_to_the_device(segment):
        return packet
    return replace(packet, what=replace(segment, checksum=None))


def _left_to_the_device(segment: Segment) -> int:
    """What a host leaves in the field where the device is to do the sum (RFC 1071): that of the
    pseudo-header."""
    size = len(segment.to_bytes()) - (20 if segment.src.version == 4 else 40)
    empty = tcp_checksum(segment.src, segment.dst, b"")
    # The sum over a segment of no bytes lacks only the length.
    total = (~empty & 0xFFFF) + size
    return (total & 0xFFFF) + (total >> 16)


def has_ended(talk: Conversation) -> bool:
    """By a RST of the peer, or by the FINs of both."""
    fins = [
        any(each.what.flags & FIN for each in talk.segments(end))
        for end in (talk.peer, talk.target)
    ]
    return all(fins) or any(each.what.is_rst for each in talk.segments(talk.peer))
