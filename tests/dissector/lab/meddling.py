"""Faults of a path for one connection: it loses, delays, cuts, strips or repeats packets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from scapy_tfo.middleboxes.box import without_option
from scapy_tfo.segment import Segment

LATE = 0.01
"""Seconds from the second SYN to what was held back from before."""

BEYOND = 5
"""Bytes acknowledged that nobody sent."""


@dataclass
class Ways:
    """What a meddler can do; the delay of the path comes on top.

    rotate: gives the listener of a port another key.
    """

    to_server: Callable[[bytes], None]
    to_client: Callable[[bytes], None]
    rotate: Callable[[int], Awaitable[None]]


class Meddler:
    """Passes everything on; derived ones do something to it. One for each connection."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._syns = self._syn_acks = 0

    def from_client(self, packet: bytes) -> None:
        segment = Segment.from_bytes(packet)
        if segment.is_syn:
            self._syns += 1
            self.syn(packet, segment)
        else:
            self._ways.to_server(packet)
            self.passed(segment)

    def from_server(self, packet: bytes) -> None:
        segment = Segment.from_bytes(packet)
        if segment.is_syn_ack:
            self._syn_acks += 1
            self.syn_ack(packet, segment)
        else:
            self._ways.to_client(packet)

    def syn(self, packet: bytes, _segment: Segment) -> None:
        self._ways.to_server(packet)

    def syn_ack(self, packet: bytes, _segment: Segment) -> None:
        self._ways.to_client(packet)

    def passed(self, _segment: Segment) -> None:
        """A segment without SYN went on to the server."""


class LoseSyn(Meddler):
    def syn(self, packet: bytes, _segment: Segment) -> None:
        if self._syns > 1:
            self._ways.to_server(packet)


class LoseSynAck(Meddler):
    """The first one, and the data that the server sends behind it before the client knows it."""

    def from_server(self, packet: bytes) -> None:
        if self._syns > 1:
            super().from_server(packet)


class DelaySyn(Meddler):
    """The first SYN comes behind the second, while that one's connection is open."""

    first = b""

    def syn(self, packet: bytes, _segment: Segment) -> None:
        if self._syns == 1:
            self.first = packet
            return
        self._ways.to_server(packet)
        if self._syns == 2:
            asyncio.get_running_loop().call_later(LATE, self._ways.to_server, self.first)


class DelaySynAck(Meddler):
    """What the server sends is held back until the client has sent its SYN again."""

    def __init__(self, ways: Ways) -> None:
        super().__init__(ways)
        self._held: list[bytes] = []

    def from_server(self, packet: bytes) -> None:
        if self._syns == 1:
            self._held.append(packet)
        else:
            super().from_server(packet)

    def syn(self, packet: bytes, segment: Segment) -> None:
        super().syn(packet, segment)
        while self._held:
            super().from_server(self._held.pop(0))


class DoubleSyn(Meddler):
    def syn(self, packet: bytes, _segment: Segment) -> None:
        self._ways.to_server(packet)
        self._ways.to_server(packet)


class CutData(Meddler):
    def syn(self, _packet: bytes, segment: Segment) -> None:
        half = segment.payload[: len(segment.payload) // 2]
        self._ways.to_server(replace(segment, payload=half).to_bytes())


class StripSyn(Meddler):
    """The option goes, the data stays."""

    def syn(self, _packet: bytes, segment: Segment) -> None:
        self._ways.to_server(stripped(segment))


class StripRequest(StripSyn):
    pass


class StripAnswer(Meddler):
    def syn_ack(self, _packet: bytes, segment: Segment) -> None:
        self._ways.to_client(stripped(segment))


class AckTooMuch(Meddler):
    def syn_ack(self, packet: bytes, segment: Segment) -> None:
        if self._syn_acks == 1:
            packet = replace(segment, ack=segment.ack + BEYOND & 0xFFFFFFFF).to_bytes()
        self._ways.to_client(packet)


class RotateKeys(Meddler):
    """The key goes just before the cookie made with it arrives."""

    def syn(self, packet: bytes, segment: Segment) -> None:
        async def rotate() -> None:
            await self._ways.rotate(segment.dport)
            self._ways.to_server(packet)

        self._rotation = asyncio.ensure_future(rotate())


class Replay(Meddler):
    """The first SYN comes a second time when the connection is over: reset, or closed by both
    sides."""

    first = b""
    server_is_done = False

    def syn(self, packet: bytes, _segment: Segment) -> None:
        self.first = self.first or packet
        self._ways.to_server(packet)

    def from_server(self, packet: bytes) -> None:
        self.server_is_done |= Segment.from_bytes(packet).is_fin
        super().from_server(packet)

    def passed(self, segment: Segment) -> None:
        if self.first and (segment.is_rst or self.server_is_done):
            self._ways.to_server(self.first)
            self.first = b""


class DelaySynBeyond(Replay):
    """The first SYN comes for the first time when the second one's connection is over."""

    def syn(self, packet: bytes, segment: Segment) -> None:
        if self._syns == 1:
            self.first = packet
        else:
            super().syn(packet, segment)


def stripped(segment: Segment) -> bytes:
    """The segment without its Fast Open options of either form."""
    return without_option(segment).to_bytes()
