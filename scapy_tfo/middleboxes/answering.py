"""Boxes that answer a SYN that carries data, in place of the server."""

from __future__ import annotations

from ipaddress import IPv4Address

from scapy_tfo.icmp import packet_too_big, unreachable
from scapy_tfo.middleboxes.box import Box, Out, Passed, back
from scapy_tfo.segment import ACK, RST, Segment

SMALL_MTU = 1280
"""Bytes: the least that IPv6 allows."""

_PROHIBITED = {4: 13, 6: 1}
"""Codes of "communication administratively prohibited" (RFC 1812 5.2.7.1, RFC 4443 3.1)."""


class ResetsSynWithData(Box):
    name = "resets-syn-with-data"
    summary = "answers SYNs with data by RST"
    no_client = "the connection is refused in the server's name; the next one, plain, opens"

    def syn(self, segment: Segment, now: float) -> Out:
        if not segment.payload:
            return super().syn(segment, now)
        return [
            back(
                Segment(
                    src=segment.dst,
                    dst=segment.src,
                    sport=segment.dport,
                    dport=segment.sport,
                    ack=segment.end,
                    flags=RST | ACK,
                    window=0,
                )
            )
        ]


class ProhibitsSynWithData(Box):
    name = "prohibits-syn-with-data"
    summary = "answers SYNs with data by ICMP: administratively prohibited"

    def syn(self, segment: Segment, now: float) -> Out:
        if not segment.payload:
            return super().syn(segment, now)
        code = _PROHIBITED[4 if isinstance(segment.src, IPv4Address) else 6]
        return [Passed(unreachable(segment.to_bytes(), code=code).to_bytes(), False)]


class FindsSynTooBig(Box):
    name = "finds-syn-too-big"
    summary = f"answers SYNs over {SMALL_MTU} bytes by ICMP: packet too big"

    def syn(self, segment: Segment, now: float) -> Out:
        packet = segment.to_bytes()
        if len(packet) <= SMALL_MTU:
            return super().syn(segment, now)
        return [Passed(packet_too_big(packet, mtu=SMALL_MTU).to_bytes(), False)]

    def onward(self, segment: Segment, now: float) -> Out:
        packet = segment.to_bytes()
        if len(packet) <= SMALL_MTU:
            return super().onward(segment, now)
        return [Passed(packet_too_big(packet, mtu=SMALL_MTU).to_bytes(), False)]
