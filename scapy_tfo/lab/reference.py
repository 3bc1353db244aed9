"""The reference stack as a target: applications on its connections, hooks, and a link to it.

Everything lives in one asyncio loop, whose clock may be real or virtual; no privilege is needed.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.apps import app_factory
from scapy_tfo.lab.hooks import ListenerOptions, Session
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.reference.core import Core
from scapy_tfo.reference.server import Listener
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Accepted, Closed, EndOfStream, Received, Reset
from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Receiver
from scapy_tfo.wire.ports import PortPool

TARGET_V4 = IPv4Address("192.0.2.1")
TARGET_V6 = IPv6Address("fd00:7413::1")
SOURCES: tuple[Address, ...] = (
    *(TARGET_V4 + 9 + number for number in range(4)),
    *(TARGET_V6 + 0xF + number for number in range(4)),
)
"""What the suite sends from, as in the Linux lab."""

FIRST_PORT = 10001
BACKLOG = 16384
STANDING = {
    "echo": ListenerOptions("echo", queue=8192),
    "second": ListenerOptions("echo", queue=8192),
    "plain": ListenerOptions("echo", queue=0),
    "http": ListenerOptions("http", queue=8192),
}
"""Listeners that are there from the start, by name."""


class ReferenceHost:
    """A stack with applications on it, driven by the running asyncio loop.

    emit: called with each IP packet that the stack sends. It is also the target's `Hooks`.
    """

    def __init__(self, stack: Stack, emit: Callable[[bytes], None]) -> None:
        self.stack = stack
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ports = itertools.count(FIRST_PORT)
        self._listening: dict[int, _Listening] = {}
        self._running: dict[Core, _Transport] = {}
        self._busy = False

    def receive(self, packet: bytes) -> None:
        """Take one IP packet from the wire."""
        self.stack.receive(packet, self._loop.time())
        self.pump()

    def pump(self) -> None:
        """Hand out what the stack has to tell and to send, until it has nothing more."""
        if self._busy:
            return
        self._busy = True
        try:
            while True:
                for packet in self.stack.take_packets():
                    self._emit(packet)
                events = self.stack.take_events()
                if not events:
                    break
                for event in events:
                    self._tell(event)
        finally:
            self._busy = False
        self._set_timer()

    def _tell(self, event: Any) -> None:
        if isinstance(event, Accepted):
            listening = self._listening[event.listener.port]
            transport = _Transport(self, event.connection, listening.factory())
            self._running[event.connection] = transport
            transport.protocol.connection_made(transport)
            return
        found = self._running.get(event.connection)
        if found is None:
            return
        if isinstance(event, Received):
            found.protocol.data_received(event.data)
        elif isinstance(event, EndOfStream):
            found.protocol.eof_received()
        elif isinstance(event, Reset | Closed):
            self._running.pop(event.connection, None)
            error = None
            if isinstance(event, Reset):
                number = getattr(errno, event.error, errno.ECONNRESET)
                error = OSError(number, os.strerror(number))
            found.protocol.connection_lost(error)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.stack.deadline()
        if due is not None:
            self._timer = self._loop.call_at(due, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        # The loop may call a little early, within its clock's resolution.
        due = self.stack.deadline()
        now = self._loop.time()
        self.stack.on_timer(now if due is None else max(now, due))
        self.pump()

    def close(self) -> None:
        """Stop the timers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Hooks

    async def listen(self, options: ListenerOptions) -> int:
        port = next(self._ports)
        log = SessionLog()
        listener = self.stack.listen(
            port,
            fast_open=options.queue,
            cookies=KeyRing(options.keys) if options.keys else None,
            backlog=BACKLOG,
        )
        self._listening[port] = _Listening(listener, app_factory(options.app, log), log)
        return port

    async def close_listener(self, port: int) -> None:
        self._listening[port].listener.close(self._loop.time())
        self.pump()

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        self._listening[port].listener.cookies = KeyRing(keys)

    async def sessions(self, port: int) -> list[Session]:
        return self._listening[port].log.sessions()

    async def counters(self) -> dict[str, int]:
        return dict(self.stack.counters)


@dataclass(slots=True)
class _Listening:
    listener: Listener
    factory: Callable[[], asyncio.Protocol]
    log: SessionLog


class _Transport(asyncio.Transport):
    """A connection of the stack as an asyncio transport."""

    def __init__(self, host: ReferenceHost, connection: Core, protocol: asyncio.Protocol) -> None:
        address, port = connection.remote
        super().__init__({"peername": (str(address), port)})
        self.protocol = protocol
        self._host = host
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._closing:
            self._connection.write(bytes(data), self._loop.time())
            self._host.pump()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._connection.close(self._loop.time())
            self._host.pump()

    def abort(self) -> None:
        self._closing = True
        self._connection.abort(self._loop.time())
        self._host.pump()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        """The stack hands everything over at once; its peers are test cases."""

    def resume_reading(self) -> None:
        """See pause_reading."""


@dataclass
class MemoryLink:
    """The link to a `ReferenceHost` in the same loop: `delay` seconds each way.

    sources: see wire.link.Link. The clock is the loop's plus `epoch`.
    """

    delay: float = 0.0
    epoch: float = 0.0
    sources: tuple[Address, ...] = SOURCES
    mtu: int = 1500
    is_local: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._deliver: Callable[[bytes], None] = lambda packet: None  # noqa: ARG005
        self._receive: Receiver | None = None
        self._ports = PortPool(self.seed)
        self._open = True
        # Queues, because asyncio does not keep the order of timers that are due together.
        self._outbound: deque[bytes] = deque()
        self._inbound: deque[bytes] = deque()

    def attach(self, deliver: Callable[[bytes], None]) -> None:
        """Where the suite's packets go."""
        self._deliver = deliver

    async def prepare(self) -> None:
        """Nothing to find out."""

    def start(self, receive: Receiver) -> None:
        self._receive = receive

    def send(self, packet: bytes) -> None:
        self._outbound.append(packet)
        self._loop.call_later(self.delay, self._arrive)

    def _arrive(self) -> None:
        packet = self._outbound.popleft()
        if self._open:
            self._deliver(packet)

    def answer(self, packet: bytes) -> None:
        """Take a packet of the target's."""
        self._inbound.append(packet)
        self._loop.call_later(self.delay, self._come_back)

    def _come_back(self) -> None:
        packet = self._inbound.popleft()
        if self._open and self._receive is not None:
            self._receive(packet, self.now())

    def now(self) -> float:
        return self.epoch + self._loop.time()

    def reserve_port(self, source: Address) -> int:
        return self._ports.reserve(source)

    def release_port(self, source: Address, port: int) -> None:
        self._ports.release(source, port)

    def close(self) -> None:
        self._open = False


@dataclass
class ReferenceLab:
    """The reference stack, or one derived from it, ready to be probed in this loop."""

    link: MemoryLink
    host: ReferenceHost
    ports: dict[str, int]
    addresses: dict[int, Address]

    @classmethod
    async def start(
        cls,
        *,
        stack_class: type[Stack] = Stack,
        settings: Settings | None = None,
        seed: int = 0,
        epoch: float = 0.0,
        delay: float = 0.0,
    ) -> ReferenceLab:
        """Start a stack with the standing listeners. seed: of everything random in it."""
        # Seeded apart from the suite's own random numbers, which would choose the same ISNs.
        seed += 1 << 32
        keys = random.Random(seed).randbytes(16)
        stack = stack_class(
            (TARGET_V4, TARGET_V6), settings or Settings(), cookies=KeyRing([keys]), seed=seed
        )
        link = MemoryLink(delay=delay, epoch=epoch, seed=seed)
        host = ReferenceHost(stack, link.answer)
        link.attach(host.receive)
        ports = {name: await host.listen(options) for name, options in STANDING.items()}
        return cls(link, host, ports, {4: TARGET_V4, 6: TARGET_V6})

    def close(self) -> None:
        """End the target. Harmless when called twice."""
        self.link.close()
        self.host.close()
