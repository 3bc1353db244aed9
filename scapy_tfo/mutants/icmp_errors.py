"""Servers that overreact to ICMP errors, or ignore them (RFC 9293 3.9.2.2, RFC 8201)."""

from __future__ import annotations

from collections.abc import Iterator

from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference import icmp
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import PROTOCOL_TCP

_HEADER, _PROTOCOL_AT = {4: 20, 6: 40}, {4: 9, 6: 6}
"""Bytes of an IP header without options, and where it names what follows."""
_UDP, _ICMP, _ECHO_REPLY = 17, (1, 58), (0, 129)


@mutant("AFT-8")
class IcmpEndsTheListener(PassiveConnection):
    """An unreachable about a pending fast open closes its listener."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.listener.close(now)
        super().unreachable(error, hard=hard, now=now)


@mutant("AFT-8")
class IcmpTurnsFastOpenOff(PassiveConnection):
    """An unreachable about a pending fast open turns fast open off at its listener."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        if self.state is State.SYN_RCVD:
            self.listener.pending.limit = 0
        super().unreachable(error, hard=hard, now=now)


@mutant("AFT-8")
class IcmpEndsAllOfTheClient(PassiveConnection):
    """An unreachable about one connection ends all with that client."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        del hard
        for each in tuple(self.stack.connections.values()):
            if each.remote[0] == self.remote[0]:
                each.fail(error, now)


@mutant("AFT-8", also=("ACC-8a", "ACC-9", "ACC-10"))
class IcmpLosesTheSynData(PassiveConnection):
    """After an unreachable the fast open goes on, but what it acknowledges starts over."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard, now=now)
        if self.state is State.SYN_RCVD:
            self.recv.nxt = seq.add(self.recv.irs, 1)


@mutant("AFT-8")
class IcmpSilencesTheConnection(PassiveConnection):
    """After an unreachable the connection neither goes on nor ends: nothing is sent."""

    def may_send_data(self) -> bool:
        return not self.soft_error and super().may_send_data()


@mutant("AFT-8")
class IgnoresPacketTooBig(PassiveConnection):
    """A packet-too-big about data in SYN-RCVD makes no segment smaller."""

    def packet_too_big(self, now: float) -> None:
        """Nothing."""

    def path_mss(self) -> int:
        return self.mss_offered


@mutant("AFT-8")
class PacketTooBigEndsTheConnection(PassiveConnection):
    """A packet-too-big about data in SYN-RCVD loses what was to be sent again."""

    def packet_too_big(self, now: float) -> None:
        super().packet_too_big(now)
        done = seq.distance(self.send.base, self.send.point)
        self.send.data[max(done, 0) :] = b""


@mutant("AFT-8", equivalent="RFC 5461 describes stacks that end a connection being opened so")
class HardErrorEndsTheConnection(PassiveConnection):
    """A hard ICMP error ends a fast open in SYN-RCVD."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        if hard and self.state is State.SYN_RCVD:
            self.fail(error, now)


class AnyNumber(Stack):
    """Believes ICMP errors, but packet-too-big, whatever sequence number they quote."""

    def believed(self, connection: Connection, now: float) -> None:
        raise NotImplementedError

    def receive(self, packet: bytes, now: float) -> None:
        super().receive(packet, now)
        error = IcmpError.from_bytes(packet)
        quoted = icmp.quoted_segment(error.quoted) if error and not error.mtu else None
        connection = self.connections.get(quoted[:4]) if quoted else None
        if connection is not None and connection.state is State.SYN_RCVD:
            self.believed(connection, now)


@mutant("AFT-8", equivalent="the check of the quoted number is advice (RFC 5927 section 4.1)")
class AnyNumberEndsTheConnection(AnyNumber):
    """An ICMP error ends a fast open in SYN-RCVD, even one that quotes what was never sent."""

    def believed(self, connection: Connection, now: float) -> None:
        connection.fail("ECONNREFUSED", now)


@mutant("AFT-8")
class AnyNumberLosesAByte(AnyNumber):
    """An ICMP error, even one that quotes what was never sent, loses a byte of the answer."""

    def believed(self, connection: Connection, now: float) -> None:
        del connection.send.data[:1]


class Unfounded(Stack):
    """Takes messages for errors about connections that they do not name."""

    def blamed(self, packet: bytes) -> Iterator[Connection]:
        """The connections that a packet is taken to be about."""
        raise NotImplementedError

    def receive(self, packet: bytes, now: float) -> None:
        super().receive(packet, now)
        for each in tuple(self.blamed(packet)):
            each.fail("ECONNREFUSED", now)


@mutant("AFT-8")
class ErrorWithoutPortsEndsAllOfTheClient(Unfounded):
    """An ICMP error that quotes addresses alone ends all connections between them."""

    def blamed(self, packet: bytes) -> Iterator[Connection]:
        error = IcmpError.from_bytes(packet)
        if error is not None and len(error.quoted) == _HEADER[error.src.version]:
            yield from (each for each in self.connections.values() if each.remote[0] == error.src)


@mutant("AFT-8")
class ErrorAboutUdpEndsTheConnection(Unfounded):
    """An ICMP error ends the connection whose addresses and ports it quotes, be it about UDP."""

    def blamed(self, packet: bytes) -> Iterator[Connection]:
        error = IcmpError.from_bytes(packet)
        if error is None or len(error.quoted) < _HEADER[error.src.version] + 8:
            return
        quoted, at = bytearray(error.quoted), _PROTOCOL_AT[error.src.version]
        if quoted[at] == _UDP:
            quoted[at] = PROTOCOL_TCP
            found = icmp.quoted_segment(bytes(quoted))
            connection = None if found is None else self.connections.get(found[:4])
            yield from () if connection is None else (connection,)


@mutant("AFT-8")
class EchoReplyEndsTheConnection(Unfounded):
    """An ICMP echo reply that quotes a segment ends its connection."""

    def blamed(self, packet: bytes) -> Iterator[Connection]:
        header = _HEADER[packet[0] >> 4]
        is_reply = packet[_PROTOCOL_AT[packet[0] >> 4]] in _ICMP and packet[header] in _ECHO_REPLY
        found = icmp.quoted_segment(packet[header + 8 :]) if is_reply else None
        connection = None if found is None else self.connections.get(found[:4])
        yield from () if connection is None else (connection,)


@mutant("AFT-8")
class ErrorOfPortsAloneClosesTheListener(Stack):
    """An ICMP error that quotes no sequence number closes the listener of its port."""

    def receive(self, packet: bytes, now: float) -> None:
        super().receive(packet, now)
        error = IcmpError.from_bytes(packet)
        if error is None or icmp.quoted_segment(error.quoted) is not None:
            return
        head = (error.quoted[0] & 15) * 4 if error.src.version == 4 else 40
        if len(error.quoted) == head + 4:
            listener = self.listeners.get(int.from_bytes(error.quoted[head : head + 2], "big"))
            if listener is not None:
                listener.close(now)


@mutant("AFT-8")
class BelievesATinyMtu(Stack):
    """A packet-too-big is believed below the least MTU that IPv6 allows."""

    def receive(self, packet: bytes, now: float) -> None:
        error = IcmpError.from_bytes(packet)
        quoted = icmp.quoted_segment(error.quoted) if error else None
        if error and quoted and 0 < error.mtu < self.mtu_towards(quoted[2]):
            src, sport, dst, dport, _ = quoted
            connection = self.connections.get((src, sport, dst, dport))
            if connection is not None:
                self.note_mtu(dst, error.mtu)
                connection.packet_too_big(now)
                return
        super().receive(packet, now)
