"""Builds the packets of steps: turns symbolic numbers, cookies and options into bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from scapy_tfo.executor.conduct import Log
from scapy_tfo.icmp import (
    IcmpError,
    about_header,
    about_ports,
    about_udp,
    echo_reply,
    packet_too_big,
    unreachable,
)
from scapy_tfo.option import SACK
from scapy_tfo.oracle.oracle import Oracle
from scapy_tfo.oracle.parts import events
from scapy_tfo.oracle.parts.state import LISTEN, OPEN, RCVD, Connection
from scapy_tfo.packet import Ends, build, flags_of, fragmented
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.options import Times, may_open, offer_of, render
from scapy_tfo.program.payload import text, wrong_text
from scapy_tfo.program.program import (
    ECHO_REPLY,
    HEADER,
    OF_PORTS,
    OF_UDP,
    TOO_BIG,
    UNFOUNDED,
    Icmp,
    Option,
    Send,
)
from scapy_tfo.segment import ACK, RST, SYN
from scapy_tfo.seq import distance

_MASK = 0xFFFFFFFF
_HALF = 1 << 31
_PLAIN_SYN = (Option("mss", 1460),)
_TIMES = (Option("nop"), Option("nop"), Option("ts"))
_NOP = Option("nop")
_BLOCK = struct.Struct("!II")
_TIMES_ALONE = struct.Struct("!III")
_NO_TIMES = Times(0, 0)
_WINDOW = 65535
"""Of segments that no step asks for."""
_LARGEST = 1200
"""Bytes of text in a segment that no step asks for."""


class Outgoing:
    """oracle: of the flows of a program, ends: theirs. clock: the first TSval, in milliseconds.

    packets: IP packets to send, in order. began, now: seconds, kept by whoever plays. ungranted:
    a step wanted a cookie that the target never granted. opening: SYNs that may have the option.
    """

    def __init__(
        self, oracle: Oracle, ends: Sequence[Ends], jar: Jar, clock: int, log: Log | None = None
    ) -> None:
        self.packets: list[bytes] = []
        self.ungranted = False
        self.opening = 0
        self.began = self.now = 0.0
        self._oracle = oracle
        self._links = oracle.connections
        self._ends = ends
        self._jar = jar
        self._clock = clock
        self._ahead = 0
        self._log = log

    def send(self, step: Send) -> None:
        """Send a step's segment; nothing where it acknowledges what never came."""
        link = self._links[step.flow]
        isn = link.isn
        ack: int | None = None
        absolute = 0
        if step.ack is not None:
            ack = link.inbound.received if step.ack == "all" else int(step.ack)
            if link.handshake.iss is not None:
                absolute = (link.handshake.iss + ack) & _MASK
            elif link.states == LISTEN:
                ack = absolute = ack & _MASK
            else:
                return
        flags = flags_of(step.flags)
        if flags & ACK and step.ack is None and link.handshake.iss is not None:
            ack = distance(link.handshake.iss, 0)
        options = step.options
        if options is None:
            options = _PLAIN_SYN if flags & SYN else _TIMES if link.times.agreed else ()
        if step.sack and ack is not None:
            options = (*options, *_blocks(link, ack + step.sack))
        block = self._render(link, options)
        if block is None:
            self.ungranted = True
            return
        make = wrong_text if step.wrong else text
        start = step.seq + bool(flags & SYN)
        packet = build(
            self._ends[step.flow],
            (isn + step.seq) & _MASK,
            absolute,
            flags,
            step.window,
            block,
            make(step.flow, start, step.size) if step.size else b"",
            urgent=step.urgent,
            reserved=step.reserved,
            checksum=step.checksum,
            data_offset=step.data_offset,
            traffic_class=step.traffic_class,
        )
        sent = events.Sent(
            step.seq,
            flags,
            ack,
            step.size,
            step.window,
            offer_of(block),
            options,
            self.now,
            step.wrong,
            lies=_lies(step, len(block)),
        )
        self._oracle.sent(link, sent)
        if flags & SYN and (may_open(block) or step.data_offset is not None):
            self.opening += 1
        self._post(step, packet, (isn + step.seq) & _MASK)

    def _post(self, step: Send, packet: bytes, number: int) -> None:
        if self._log is not None:
            self._log.sent(step.flow, packet, self.now)
        if step.fragments:
            self.packets += fragmented(packet, step.fragments, number)
        else:
            self.packets.append(packet)

    def send_icmp(self, step: Icmp) -> None:
        """Send an ICMP error about a segment of the target's, if any has come."""
        link = self._links[step.flow]
        if link.handshake.iss is None:
            return
        is_founded = step.what not in UNFOUNDED
        self._oracle.icmp(link, events.Icmp(step.seq, step.what == TOO_BIG, is_founded))
        client, target, sport, dport = self._ends[step.flow]
        quoted = build(
            Ends(target, client, dport, sport), (link.handshake.iss + step.seq) & _MASK, 0, ACK
        )
        packet = _message(step, quoted).to_bytes()
        if self._log is not None and is_founded:
            self._log.error(step.flow, packet, self.now)
        self.packets.append(packet)

    def acknowledge(self, link: Connection) -> None:
        """A bare ACK of all that came, on a connection that may be there."""
        if link.handshake.iss is not None and link.states & (RCVD | OPEN) and not link.vague:
            # One behind what the target has taken would be too old for it.
            self.send(
                Send(link.index, ".", max(link.outbound.acked, link.outbound.must.next), "all")
            )

    def resend(self, link: Connection, more: int) -> None:
        """What is not acknowledged, again, and `more` bytes behind it unless the stream ended; as
        far as the window goes."""
        ended = link.outbound.may.fin is not None
        start = link.outbound.acked
        end = link.outbound.sent_end - ended
        if ended and start > end:
            # The FIN, too, is acknowledged.
            return
        end = max(end, start)
        if not ended and not link.outbound.may.ended:
            end += more
        if end > link.outbound.room_end > start:
            ended, end = False, link.outbound.room_end
        while end - start > _LARGEST:
            self.send(Send(link.index, "P.", start, "all", _LARGEST))
            start += _LARGEST
        self.send(Send(link.index, "FP." if ended else "P.", start, "all", end - start))

    def end_stream(self, link: Connection) -> None:
        """FIN behind all that is acknowledged."""
        self.send(Send(link.index, "F.", link.outbound.acked, "all"))

    def part(self, link: Connection) -> None:
        """Leave nothing behind: acknowledged, since a RST alone would keep a place (RFC 7413
        section 5.1), and then reset."""
        if link.handshake.iss is None or link.states == LISTEN:
            return
        if (
            link.inbound.fin is not None
            and link.inbound.our_ack > link.inbound.fin
            and link.outbound.may.ended
        ):
            # Both ends have closed.
            return
        ends = self._ends[link.index]
        ack = (link.handshake.iss + link.inbound.received) & _MASK
        seq = (link.isn + link.outbound.acked) & _MASK
        half_open = link.handshake.opened_at is None
        if link.handshake.taken and half_open:
            if link.vague:
                usual = self._render(link, _TIMES if link.times.agreed else ())
                self.packets.append(build(ends, seq, ack, ACK, options=usual or b""))
            else:
                self.acknowledge(link)
        self.packets.append(build(ends, seq, ack, RST | ACK))
        if half_open:
            # Some ignore a RST with ACK while a connection is half open, and know its ISN only.
            first = (link.isn + link.outbound.base + 1) & _MASK
            self.packets += [build(ends, each, 0, RST) for each in {seq: 0, first: 0}]
        taken = (link.isn + link.outbound.may.next) & _MASK
        if taken != seq:
            # What it has taken and not acknowledged yet: the other RST is too old for it.
            self.packets.append(build(ends, taken, ack, RST | ACK))

    def _render(self, link: Connection, options: Sequence[Option]) -> bytes | None:
        if not options:
            return b""
        if options is _TIMES:
            elapsed = int((self.now - self.began) * 1000) + self._ahead
            return _TIMES_ALONE.pack(
                0x0101080A, (self._clock + elapsed) & _MASK, link.times.echo or 0
            )
        ahead = None
        has_cookie = False
        for each in options:
            has_cookie = has_cookie or each.cookie is not None
            if each.name == "ts" and (ahead is None or each.value > ahead):
                ahead = each.value
        if ahead is None:
            times = _NO_TIMES
        else:
            if ahead < _HALF:
                self._ahead = max(self._ahead, ahead)
            elapsed = int((self.now - self.began) * 1000) + self._ahead - max(ahead, 0)
            times = Times((self._clock + elapsed) & _MASK, link.times.echo or 0)
        seen: dict[int, bytes] = {}
        if has_cookie:
            seen = {
                each.index: each.history.cookie
                for each in self._links
                if each.history.cookie is not None
            }
        return render(options, times, self._jar, link.client, seen)


def _blocks(link: Connection, begin: int) -> tuple[Option, ...]:
    """A SACK block from there to the end of what came, both counted from the target's ISS."""
    end, iss = link.inbound.received, link.handshake.iss
    if not link.inbound.sack or iss is None or begin >= end:
        return ()
    edges = _BLOCK.pack((iss + begin) & _MASK, (iss + end) & _MASK)
    return _NOP, _NOP, Option("raw", kind=SACK, data=edges)


def _lies(step: Send, options: int) -> events.Lies | None:
    """What is wrong with a step's segment. options: bytes of its own."""
    offset = step.data_offset
    if offset is None and not (
        step.checksum or step.reserved or step.traffic_class or step.fragments
    ):
        return None
    return events.Lies(
        bool(step.reserved),
        bool(step.traffic_class),
        bool(step.checksum),
        offset is not None,
        offset is not None and 20 <= offset * 4 <= 20 + options + step.size,
        bool(step.fragments),
    )


_SPECIAL = {
    HEADER: about_header,
    OF_UDP: about_udp,
    ECHO_REPLY: echo_reply,
    OF_PORTS: about_ports,
}


def _message(step: Icmp, quoted: bytes) -> IcmpError:
    """quoted: the segment that it is about, or looks like."""
    if step.what == TOO_BIG:
        return packet_too_big(quoted, mtu=step.mtu)
    if step.what in _SPECIAL:
        return _SPECIAL[step.what](quoted)
    return unreachable(quoted, code=step.code)
