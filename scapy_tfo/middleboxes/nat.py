"""Address translation: cookies are bound to the address that the server sees."""

from __future__ import annotations

import itertools
import random

from scapy_tfo.address import Address
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

    def other(self, _passed: Passed) -> Out:
        """What it cannot translate it drops."""
        return []


class ChangesAddress(SharesAddress):
    """Each connection has an address that its cookie was not made for (paper 4.3)."""

    name = "changes-address"
    summary = "gives each connection another of its own addresses: cookies are refused"

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self._turn = itertools.count()

    def public(self, client: Address) -> Address:
        return client + BEYOND + next(self._turn) % _ADDRESSES
