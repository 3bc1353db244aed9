"""Wrong headers: RFC 9293 section 3.1, and the IP header below it."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.mutants.registry import tcp_mutant
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.icmp import quoted_segment
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, FIN, RST, SYN, URG, Address, Segment

TALK = "TCP-RST-6.an-ordinary-conversation"


class Dressed(Stack):
    """Changes what it sends."""

    def dress(self, segment: Segment) -> Segment:
        """The segment as it goes out."""
        raise NotImplementedError

    def send(self, segment: Segment) -> None:
        super().send(self.dress(segment))


def added(segment: Segment, *options: opt.RawOption) -> Segment:
    """The segment with options behind its own."""
    return replace(segment, options=opt.padded(segment.options + opt.push_options(options)))


@tcp_mutant("flags-together", "TCP-RST-14.an-application-that-aborts")
class RstWithFin(Dressed):
    """A RST has FIN beside it."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, flags=segment.flags | (FIN if segment.is_rst else 0))


@tcp_mutant("no-ack-flag", TALK)
class FinWithoutAck(Dressed):
    """A FIN lacks the ACK flag."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, flags=FIN) if segment.is_fin else segment


@tcp_mutant("bare-syn", TALK)
class SynBeforeSynAck(Dressed):
    """A SYN is answered with a SYN, before the SYN-ACK."""

    def dress(self, segment: Segment) -> Segment:
        if segment.is_syn_ack:
            Stack.send(self, replace(segment, flags=SYN, ack=0))
        return segment


@tcp_mutant("syn-ack-unasked", "TCP-RST-3.segments-of-no-connection")
class SynAckForAnAck(Dressed):
    """An ACK of no connection is answered with a SYN-ACK."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, flags=SYN | ACK) if segment.flags == RST else segment


@tcp_mutant("reserved-bits", TALK)
class SetsReservedBits(Dressed):
    """A reserved bit is set."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, reserved=4)


@tcp_mutant("data-offset", TALK)
class ShortHeader(Dressed):
    """The data offset of text is four words."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, data_offset=4) if segment.payload else segment


@tcp_mutant("urgent-pointer", TALK)
class UrgentNothing(Dressed):
    """URG is set, and the urgent pointer is zero."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, flags=segment.flags | URG) if segment.payload else segment


@tcp_mutant("options-unsound", TALK)
class ShortTimestamps(Dressed):
    """Timestamps have a length of six."""

    def dress(self, segment: Segment) -> Segment:
        return added(segment, opt.RawOption(opt.TIMESTAMPS, 6, bytes(4)))


@tcp_mutant("padding", TALK)
class DirtyPadding(Dressed):
    """What follows the end of the options is not zero."""

    def dress(self, segment: Segment) -> Segment:
        if not segment.is_syn_ack:
            return segment
        return replace(segment, options=segment.options + bytes((opt.EOL, 1, 2, 3)))


@tcp_mutant("option-twice", TALK)
class TwoSizes(Dressed):
    """A SYN-ACK has two MSS options, of two values."""

    def dress(self, segment: Segment) -> Segment:
        return added(segment, opt.mss(1000)) if segment.is_syn_ack else segment


@tcp_mutant("syn-option-elsewhere", TALK)
class SizeBesideText(Dressed):
    """Text comes with an MSS option."""

    def dress(self, segment: Segment) -> Segment:
        return added(segment, opt.mss(1460)) if segment.payload else segment


@tcp_mutant("fast-open-elsewhere", TALK)
class CookieBesideText(Dressed):
    """Text comes with a cookie."""

    def dress(self, segment: Segment) -> Segment:
        return added(segment, opt.fast_open(b"cookies!")) if segment.payload else segment


@tcp_mutant("hop-limit", TALK)
class LastHop(Dressed):
    """Packets have a hop limit of one."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, hop_limit=1)


@tcp_mutant("id-repeated", TALK)
class OneIdentification(Dressed):
    """All packets have one identification, and routers may cut them."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, may_fragment=segment.src.version == 4)


@tcp_mutant("flow-label", "TCP-FR-1.three-duplicate-acknowledgements")
class LabelsByTheSegment(Dressed):
    """Each segment has a flow label of its own."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, flow_label=self.random.getrandbits(20))


class HearsGroups(Stack):
    """Takes what is sent to a group of hosts, or by one."""

    def is_group(self, address: Address) -> bool:
        """Whether it is the address of many hosts."""
        return address.is_multicast

    def is_sound(self, segment: Segment) -> bool:
        own = self.addresses[segment.src.version == 6]
        dst = own if self.is_group(segment.dst) else segment.dst
        src = own if self.is_group(segment.src) else segment.src
        return super().is_sound(replace(segment, src=src, dst=dst))


@tcp_mutant("answers-a-group", "TCP-ADDR-1.a-syn-from-a-group")
class AnswersGroups(HearsGroups):
    """A SYN from a group of hosts is answered."""


@tcp_mutant("from-many", "TCP-ADDR-2.a-syn-to-a-group")
class SpeaksForGroups(HearsGroups):
    """A SYN to a group of hosts is answered, from the address of the group."""


@tcp_mutant("last-hop-dropped", "TCP-IP-2.a-syn-at-its-last-hop")
class DropsTheLastHop(Stack):
    """A packet is dropped that arrives with a hop limit of one."""

    def is_sound(self, segment: Segment) -> bool:
        return segment.hop_limit > 1 and super().is_sound(segment)


@tcp_mutant("over-the-path", "TCP-PMTU-1.a-path-that-became-narrow")
class IgnoresThePath(Stack):
    """What a router tells of the path is not heeded."""

    def note_mtu(self, destination: Address, mtu: int) -> None:
        """Forget it."""


@tcp_mutant("over-the-path", "TCP-PMTU-1.a-path-that-became-narrow-for-the-end")
class IgnoresThePathBehindItsFin(PassiveConnection):
    """What a router tells of the path is not heeded by a connection that has sent its FIN."""

    def packet_too_big(self, now: float) -> None:
        if not self.send.fin_sent:
            super().packet_too_big(now)


@tcp_mutant("over-the-path", "TCP-PMTU-1.a-path-that-became-narrow-for-two")
class TellsOneConnectionOfThePath(Stack):
    """What a router tells is heeded by no connection but the first that is told so much."""

    def receive(self, packet: bytes, now: float) -> None:
        error = IcmpError.from_bytes(packet)
        found = None if error is None else quoted_segment(error.quoted)
        if error is not None and found is not None and error.mtu >= self.mtu_towards(found[2]):
            return
        super().receive(packet, now)


class Told(Stack):
    """Does something else when a router tells that a packet was too big."""

    def too_big(self, connection: Connection, mtu: int, now: float) -> None:
        """What it does."""
        raise NotImplementedError

    def receive(self, packet: bytes, now: float) -> None:
        super().receive(packet, now)
        error = IcmpError.from_bytes(packet)
        found = None if error is None else quoted_segment(error.quoted)
        if error is None or found is None or not error.mtu:
            return
        source, sport, destination, dport, _ = found
        connection = self.connections.get((source, sport, destination, dport))
        if connection is not None:
            self.too_big(connection, error.mtu, now)
            self.arm(connection)


@tcp_mutant("under-any-path", "TCP-PMTU-2.a-router-that-tells-less-than-any-path")
class BelievesAnyMtu(Told):
    """What a router tells of the path is believed, however small."""

    def too_big(self, connection: Connection, mtu: int, now: float) -> None:
        if mtu < self.mtu_towards(connection.remote[0]):
            self.note_mtu(connection.remote[0], mtu)
            connection.packet_too_big(now)


@tcp_mutant("resent-for-the-same", "TCP-PMTU-6.a-second-router-that-tells-the-same")
class SendsAgainForEachRouter(Told):
    """Each packet-too-big makes all text under way come again."""

    def too_big(self, connection: Connection, mtu: int, now: float) -> None:
        connection.send.rewind()
        connection.flush(now)


@tcp_mutant("over-the-path", "TCP-PMTU-1.a-path-that-became-narrow-for-timestamps")
class ForgetsItsTimestamps(Told):
    """On a path that became narrow timestamps are not taken off what a segment may carry."""

    def too_big(self, connection: Connection, mtu: int, now: float) -> None:
        if connection.timestamps:
            connection.send.mss += 12


@tcp_mutant("path-tried-early", "TCP-PMTU-5.a-path-that-stays-narrow")
class TriesLargerPacketsSoon(Told):
    """Half a minute after a packet-too-big packets are as large as before."""

    def too_big(self, connection: Connection, mtu: int, now: float) -> None:
        def forget(_now: float) -> None:
            self.note_mtu(connection.remote[0], self.settings.mtu)
            connection.resize()

        connection.alarms["path"] = (now + 30.0, forget)


@tcp_mutant("syn-ack-marked", TALK)
class MarksSynAcksUnasked(Dressed):
    """SYN-ACKs are marked as ECN-capable, though no ECN was offered."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, traffic_class=2) if segment.flags & SYN else segment


@tcp_mutant("mark-not-agreed", TALK)
class MarksAllText(Dressed):
    """All text is marked as ECN-capable."""

    def dress(self, segment: Segment) -> Segment:
        return replace(segment, traffic_class=2) if segment.payload else segment
