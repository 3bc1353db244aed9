"""A client and a server of the reference, with the model of a link in between, on one loop.

On a virtual clock nothing but the link and the applications' own delays takes any time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from scapy_tfo import seq
from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.links.link_model import Direction, Shape
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import SYN, Address

PORT = 80
CLIENT = ip_address("192.0.2.16")
FIRST = ip_address("192.0.2.32")
"""Of the server's addresses, which follow one another."""

_PENDING = 1024
_KEY = bytes(range(16))

LINUX = Settings(initial_window=10, min_rto=0.2, time_wait=0.0)
"""As far as the reference can be like Linux in what a measurement shows: the initial window of RFC
6928, and the least timeout. It acknowledges each segment at once, as Linux does at the beginning
of a connection. There is no TIME-WAIT: in it, one of thousands of connections would meet the one
before of its port, and wait for a second."""


class Way:
    """A direction of the link on the running loop. deliver: takes what comes out."""

    def __init__(self, shape: Shape, seed: int, deliver: Callable[[bytes], None]) -> None:
        self._direction = Direction(shape, random.Random(seed))
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def put(self, packet: bytes) -> None:
        self._direction.put(packet, self._loop.time())
        self._set_timer()

    def _set_timer(self) -> None:
        due = self._direction.due
        if due is None or (self._timer is not None and self._timer.when() <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._come_out, due)

    def _come_out(self, due: float) -> None:
        self._timer = None
        for packet in self._direction.take(max(due, self._loop.time())):
            self._deliver(packet)
        self._set_timer()


class Network:
    """onward, homeward: shapes of the link from the client on, and back. places: addresses that the
    server has. client, server: hosts. settings: of both. seed: of all that is random. Needs a
    running loop; `serve` says what answers on `PORT`, with fast open.

    again: data segments of the client's that were sent before.
    """

    def __init__(
        self,
        onward: Shape,
        homeward: Shape,
        *,
        places: int = 1,
        settings: Settings = LINUX,
        seed: int = 0,
    ) -> None:
        self.places: Sequence[Address] = [FIRST + number for number in range(places)]
        self.again = 0
        self._newest: dict[bytes, int] = {}
        there = Way(onward, seed, lambda packet: self.server.receive(packet))
        back = Way(homeward, seed + 1, lambda packet: self.client.receive(packet))

        def leave(packet: bytes) -> None:
            self._count(packet)
            there.put(packet)

        keys = KeyRing([_KEY])
        self.client = ReferenceHost(Stack((CLIENT,), settings, seed=seed), leave)
        server = Stack(tuple(self.places), settings, cookies=keys, seed=seed + 1)
        self.server = ReferenceHost(server, back.put)

    def serve(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Have this application answer, made anew for each connection."""
        self.server.serve(PORT, factory, fast_open=_PENDING)

    def close(self) -> None:
        """Stop the timers."""
        self.client.close()
        self.server.close()

    def _count(self, packet: bytes) -> None:
        """IPv4 without options, as the reference sends it: the ports, then the sequence number."""
        head = 20 + (packet[32] >> 4) * 4
        size = len(packet) - head
        if not size:
            return
        ends, end = packet[16:24], int.from_bytes(packet[24:28], "big") + size
        newest = None if packet[33] & SYN else self._newest.get(ends)
        ahead = 1 if newest is None else seq.distance(newest, end)
        if ahead > 0:
            self._newest[ends] = end % 2**32
        else:
            self.again += 1
