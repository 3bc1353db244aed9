"""The reference stack as a host, with applications, clients, and timers of the running loop."""

from __future__ import annotations

import asyncio
import errno
import functools
import itertools
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.app_registry import accepts_after, app_factory, listeners_of, md5_key_of
from scapy_tfo.lab.hooks import ListenerOptions, Session
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.reference import Md5Key
from scapy_tfo.reference.server import AcceptsLate, Listener
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import (
    Accepted,
    Closed,
    Connected,
    EndOfStream,
    Endpoint,
    Event,
    Received,
    Reset,
)
from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Link

FIRST_PORT = 10001


class ReferenceHost:
    """A stack with applications and clients on it, driven by the running asyncio loop.

    emit: called with each IP packet that the stack sends. make_log: of what each listener's
    applications read. It is also the target's `Hooks`.
    """

    def __init__(
        self,
        stack: Stack,
        emit: Callable[[bytes], None],
        make_log: Callable[[], SessionLog] = SessionLog,
    ) -> None:
        self.stack = stack
        self._make_log = make_log
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ports = itertools.count(FIRST_PORT)
        self._listening: dict[int, _Listening] = {}
        self._running: dict[Endpoint, _Transport] = {}
        self._busy = False
        self._latest = 0.0

    @classmethod
    def on(cls, link: Link, stack: Stack) -> Self:
        """The host at our end of a link, which hands in the packets for the stack's addresses."""
        host = cls(stack, link.send)
        link.start(lambda packet, _when: host.receive(packet))
        return host

    def receive(self, packet: bytes) -> None:
        """Take one IP packet from the wire."""
        self.stack.receive(packet, self.now)
        self.pump()

    @property
    def now(self) -> float:
        """Seconds on the loop's clock, never less than a timer has already told the stack."""
        return max(self._latest, self._loop.time())

    def pump(self) -> None:
        """Hand out what the stack has to tell and to send, until it has nothing more."""
        if self._busy:
            return
        self._busy = True
        try:
            while True:
                for packet in self.stack.take_packets():
                    # No interface takes more, however wrong the stack is.
                    if len(packet) <= self.stack.settings.mtu:
                        self._emit(packet)
                events = self.stack.take_events()
                if not events:
                    break
                for event in events:
                    self._tell(event)
        finally:
            self._busy = False
        self._set_timer()

    def _tell(self, event: Event) -> None:
        if isinstance(event, Accepted):
            factory = self._listening[event.listener.port].factory
            self._run(event.connection, factory())
        found = self._running.get(event.connection)
        if found is None:
            return
        if isinstance(event, Accepted | Connected):
            found.protocol.connection_made(found)
        elif isinstance(event, Received):
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

    def _run(self, connection: Endpoint, protocol: asyncio.Protocol) -> _Transport:
        transport = self._running[connection] = _Transport(self, connection, protocol)
        return transport

    def _set_timer(self) -> None:
        due = self.stack.deadline()
        if self._timer is not None:
            if self._timer.when() == due:
                # Set anew it would go behind all that waits, in a busy loop for ever.
                return
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._loop.call_at(due, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        # The loop may call a little early, within its clock's resolution.
        due = self.stack.deadline()
        self._latest = self.now if due is None else max(self.now, due)
        self.stack.on_timer(self._latest)
        self.pump()

    def close(self) -> None:
        """Stop the timers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Clients

    def connect(
        self,
        protocol: asyncio.Protocol,
        address: Address,
        port: int,
        *,
        data: bytes = b"",
        fast_open: bool = True,
    ) -> asyncio.Transport:
        """Open a connection from the host's first address of the family, and write `data` to it.

        fast_open: as in `Stack.connect`. The protocol hears of the connection when it is
        established, and of its end also where it never was (`connection_lost` with OSError).
        Raises ValueError where the host has no address of that family.
        """
        source = next((at for at in self.stack.addresses if at.version == address.version), None)
        if source is None:
            raise ValueError(f"the host has no IPv{address.version} address")
        connection = self.stack.connect(
            source, address, port, data=data, fast_open=fast_open, now=self.now
        )
        transport = self._run(connection, protocol)
        self.pump()
        return transport

    async def fetch(
        self, address: Address, port: int, request: bytes, *, fast_open: bool = True
    ) -> bytes:
        """Send a request and return all that comes until the server ends the connection.

        fast_open: ask for a cookie where the stack's cache has none, else send the request in
        the SYN. The wait is as long as TCP's own: bound it with `asyncio.timeout`; what is
        given up is aborted. Raises OSError as a socket would (ECONNREFUSED, ETIMEDOUT, ...).
        """
        exchange = _Exchange()
        transport = self.connect(exchange, address, port, data=request, fast_open=fast_open)
        try:
            return await exchange.answer
        except asyncio.CancelledError:
            transport.abort()
            raise

    def serve(
        self, port: int, factory: Callable[[], asyncio.Protocol], *, fast_open: int = 0
    ) -> None:
        """Have an application of the caller's answer on a port, made anew for each connection.

        fast_open: as in `Stack.listen`. Raises ValueError where the port is taken.
        """
        listener = self.stack.listen(port, fast_open=fast_open)
        self._listening[port] = _Listening([listener], factory, self._make_log())

    # Hooks

    async def listen(self, options: ListenerOptions, port: int | None = None) -> int:
        """See Hooks. port: the one to listen on, None for one of the host's choice."""
        if port is None:
            port = next(self._ports)
        log = self._make_log()
        many, wait = listeners_of(options.app), accepts_after(options.app)
        key, settings = md5_key_of(options.app), None
        if key:
            settings = replace(self.stack.settings, signature=Md5Key(key))
        listeners = [
            self.stack.listen(
                port,
                fast_open=options.queue,
                cookies=KeyRing(options.keys) if options.keys else None,
                backlog=options.backlog,
                settings=settings,
                share=many > 1,
            )
            for _ in range(many)
        ]
        self._listening[port] = _Listening(listeners, app_factory(options.app, log), log)
        if wait:
            for each in listeners:
                accept = functools.partial(self._accept_one, each)
                each.queue = AcceptsLate(wait, self._loop.call_later, accept)
                each.queue.limit = options.backlog
        return port

    def _accept_one(self, listener: Listener) -> None:
        listener.accept_one(self.now)
        self.pump()

    async def close_listener(self, port: int) -> None:
        for each in self._listening[port].listeners:
            each.close(self.now)
        self.pump()

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        for each in self._listening[port].listeners:
            each.cookies = KeyRing(keys)

    async def sessions(self, port: int) -> list[Session]:
        return self._listening[port].log.sessions()

    async def settle(self, port: int, peers: Collection[tuple[str, int]]) -> list[Session]:
        return self._listening[port].log.settle(peers)

    async def counters(self) -> dict[str, int]:
        return dict(self.stack.counters)


class _Exchange(asyncio.Protocol):
    """A client that has written all it has to say. answer: what came, once all has ended."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data

    def eof_received(self) -> bool:
        self._transport.close()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.answer.done():
            return
        if exc is None:
            self.answer.set_result(bytes(self._received))
        else:
            self.answer.set_exception(exc)


@dataclass(slots=True)
class _Listening:
    listeners: list[Listener]
    factory: Callable[[], asyncio.Protocol]
    log: SessionLog


class _Transport(asyncio.Transport):
    """A connection of the stack as an asyncio transport. Its extra information has the stack's
    own `connection`, too."""

    def __init__(
        self, host: ReferenceHost, connection: Endpoint, protocol: asyncio.Protocol
    ) -> None:
        address, port = connection.remote
        told = {"peername": (str(address), port), "connection": connection}
        super().__init__(told | {"congestion control": connection.congestion_control})
        self.protocol = protocol
        self._host = host
        self._connection = connection
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._closing:
            self._connection.write(bytes(data), self._host.now)
            self._host.pump()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._closing:
            self._connection.shutdown(self._host.now)
            self._host.pump()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._connection.close(self._host.now)
            self._host.pump()

    def abort(self) -> None:
        self._closing = True
        self._connection.abort(self._host.now)
        self._host.pump()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._connection.pause()

    def resume_reading(self) -> None:
        self._connection.resume(self._host.now)
        self._host.pump()
