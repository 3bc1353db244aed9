"""Address translators: a cookie is bound to the address that the server sees."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

from scapy_tfo.address import Address, known_address
from scapy_tfo.icmp import IcmpError
from scapy_tfo.middleboxes.box import Box, Out, Passed, changed
from scapy_tfo.segment import Segment

BEYOND = 0x40
"""From a client's address to the first that a server sees in its stead: of the same network."""

_ADDRESSES = 64
_FIRST_PORT = 20000

End = tuple[Address, int]


class SharesAddress(Box):
    """Harmless: all behind it have the same cookie (paper 4.3)."""

    name = "shares-address"
    summary = "lets its clients appear under one address, each connection with a port of its own"

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._ports = itertools.count(_FIRST_PORT)
        self._outside: dict[tuple[End, End], End] = {}
        self._inside: dict[tuple[End, End], End] = {}

    def public(self, client: Address) -> Address:
        """The address for a new connection."""
        return client + BEYOND

    def syn(self, segment: Segment, now: float) -> Out:
        inside, server = (segment.src, segment.sport), (segment.dst, segment.dport)
        if (inside, server) not in self._outside:
            outside = self.public(segment.src), next(self._ports)
            self._outside[inside, server] = outside
            self._inside[outside, server] = inside
        return self.onward(segment, now)

    def onward(self, segment: Segment, now: float) -> Out:
        found = self._outside.get(((segment.src, segment.sport), (segment.dst, segment.dport)))
        if found is None:
            return []
        return super().onward(changed(segment, src=found[0], sport=found[1]), now)

    def homeward(self, segment: Segment, now: float) -> Out:
        found = self._inside.get(((segment.dst, segment.dport), (segment.src, segment.sport)))
        if found is None:
            return []
        return super().homeward(changed(segment, dst=found[0], dport=found[1]), now)

    def other(self, passed: Passed) -> Out:
        """ICMP errors go to whom they concern (RFC 5508 section 4.2); what it cannot translate it
        drops."""
        error = None if passed.onward else IcmpError.from_bytes(passed.packet)
        inner = _Inner.of(error.quoted) if error is not None else None
        if error is None or inner is None:
            return []
        found = self._inside.get(inner.ends)
        if found is None:
            return []
        return [Passed(replace(error, dst=found[0], quoted=inner.sent_by(found)).to_bytes(), False)]


class ChangesAddress(SharesAddress):
    """Each connection has an address that its cookie was not made for (paper 4.3)."""

    name = "changes-address"
    summary = "gives each connection another of its own addresses: cookies are refused"

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._turn = itertools.count()

    def public(self, client: Address) -> Address:
        return client + BEYOND + next(self._turn) % _ADDRESSES


@dataclass(frozen=True, slots=True)
class _Inner:
    """The beginning of a TCP packet in an ICMP error. head: bytes of its IP header."""

    packet: bytes
    head: int

    @classmethod
    def of(cls, packet: bytes) -> _Inner | None:
        """None where the ports are not there."""
        if not packet:
            return None
        head = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
        return cls(packet, head) if len(packet) >= head + 4 else None

    @property
    def _at(self) -> tuple[int, int]:
        """Where its source is, and of how many bytes."""
        return (12, 4) if self.packet[0] >> 4 == 4 else (8, 16)

    @property
    def ends(self) -> tuple[End, End]:
        (at, size), head, packet = self._at, self.head, self.packet
        source, to = packet[at : at + size], packet[at + size : at + 2 * size]
        sport, dport = packet[head : head + 2], packet[head + 2 : head + 4]
        return (
            (known_address(source), int.from_bytes(sport, "big")),
            (known_address(to), int.from_bytes(dport, "big")),
        )

    def sent_by(self, end: End) -> bytes:
        """The same, sent by another end; its checksums are those of before."""
        (at, size), head, packet = self._at, self.head, self.packet
        ports = end[1].to_bytes(2, "big") + packet[head + 2 :]
        return packet[:at] + end[0].packed + packet[at + size : head] + ports
