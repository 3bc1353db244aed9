"""The wire to a foreign target: a link, and an event loop that runs only while we wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from scapy_tfo.address import known_address
from scapy_tfo.errors import TargetError
from scapy_tfo.pkt.play.flows import Pair
from scapy_tfo.pkt.play.wire import Arrival
from scapy_tfo.runner.interrupts import run_until_interrupted
from scapy_tfo.segment import Address
from scapy_tfo.wire.ip_header import our_end
from scapy_tfo.wire.link import Link

T = TypeVar("T")

_SECOND = 1_000_000_000
_GRAIN = 1e-6

MOST_HEARD = 20_000
"""Packets of the target's that one script takes in."""

"""Shortest wait in seconds: the clock of a link need not count in less."""


class RemoteWire:
    """One script's way over a link, whose loop, real or virtual, stands still between calls.

    sources: the addresses that the script sends from. ports: where the target listens, by the ports
    that the script's application binds.
    """

    def __init__(
        self,
        link: Link,
        loop: asyncio.AbstractEventLoop,
        sources: Sequence[Address],
        ports: Mapping[int, int],
    ) -> None:
        self.tick = 0
        self._link = link
        self._loop = loop
        self._sources = sources
        self._services = ports
        self._arrived: deque[Arrival] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._ends: dict[tuple[bytes, int], Address] = {}
        self._came = 0
        self._named: dict[tuple[int, int], int] = {}
        self._run(self._start())

    def now(self) -> int:
        return int(self._link.now() * _SECOND)

    def sleep_until(self, when: int) -> None:
        while (left := when - self.now()) > 0:
            self._run(asyncio.sleep(max(left / _SECOND, _GRAIN)))

    def send(self, packet: bytes) -> None:
        try:
            self._run(self._send(packet))
        except OSError as error:
            raise TargetError(f"cannot send to the target any more: {error.strerror}") from error

    def receive(self, until: int) -> Arrival | None:
        if not self._arrived:
            self._run(self._wait(until))
        return self._arrived.popleft() if self._arrived else None

    def new_port(self, client: int = 1, port: int = 0) -> int:
        """A port at one of the script's addresses, counted from 1; port: 0: one that is free."""
        source = self.address_of(client)
        port = self._link.reserve_port(source, port)
        self._ends[source.packed, port] = source
        return port

    def address_of(self, client: int) -> Address:
        """One of the script's addresses, counted from 1."""
        return known_address(self._sources[client - 1].packed)

    def on_wire(self, ports: Pair, client: int) -> Pair:
        """What the ports that a script names are here: its own stand for free ones, always the
        same, and those of its application for the target's."""
        remote, local = ports
        if (remote, client) not in self._named:
            # What is one port of two addresses in the script is one on the wire.
            same = next((live for (name, _), live in self._named.items() if name == remote), 0)
            self._named[remote, client] = self.new_port(client, same)
        return self._named[remote, client], self._services.get(local, local)

    @property
    def was_flooded(self) -> bool:
        """More came than is taken in."""
        return self._came > MOST_HEARD

    def release(self) -> None:
        """Give all ports back; harmless when called twice."""
        for (_, port), source in self._ends.items():
            self._link.release_port(source, port)
        self._ends.clear()

    def _run(self, task: Coroutine[Any, Any, T]) -> T:
        return run_until_interrupted(self._loop, task)

    async def _start(self) -> None:
        self._link.start(self._arrive)

    def _arrive(self, packet: bytes, when: float) -> None:
        end = our_end(packet)
        if end is None or end not in self._ends:
            return
        # Whoever waits for one packet takes in all before it, which must come to an end.
        self._came += 1
        if self._came > MOST_HEARD:
            return
        self._arrived.append(Arrival(packet, int(when * _SECOND)))
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _send(self, packet: bytes) -> None:
        # A packet that waits for its turn would be early by the script's clock.
        while lag := self._link.lag:
            await asyncio.sleep(lag)
        self._link.send(packet)

    async def _wait(self, until: int) -> None:
        if self._arrived:
            return
        loop = asyncio.get_running_loop()
        self._waiting = waiting = loop.create_future()
        left = max((until - self.now()) / _SECOND, _GRAIN)
        timer = loop.call_later(left, self._wake)
        await waiting
        timer.cancel()
