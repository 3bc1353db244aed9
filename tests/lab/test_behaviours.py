"""How the applications behave in time: on the reference stack, and on the kernel's sockets."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from ipaddress import IPv4Address

import pytest

from scapy_tfo.lab.app_registry import app_factory
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.kernel.listeners import Listener
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.reference import Settings, Stack
from scapy_tfo.runner.clock import run_virtually

CLIENT, SERVER = IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2")


@dataclass
class Client(asyncio.Protocol):
    """Writes, ends its stream, and notes what comes and when, in seconds."""

    request: bytes
    ends: bool = True
    heard: list[tuple[float, bytes]] = field(default_factory=list)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._loop = asyncio.get_running_loop()
        self.begin = self._loop.time()
        self.transport = transport
        if self.request:
            transport.write(self.request)
        if self.ends:
            transport.write_eof()

    def data_received(self, data: bytes) -> None:
        self.heard.append((round(self._loop.time() - self.begin, 3), data))

    def eof_received(self) -> bool:
        self.heard.append((round(self._loop.time() - self.begin, 3), b""))
        return False

    @property
    def text(self) -> bytes:
        return b"".join(data for _, data in self.heard)


async def _joined(settings: Settings) -> tuple[ReferenceHost, ReferenceHost]:
    """A client's host and a server's, without any delay between them."""
    loop = asyncio.get_running_loop()
    hosts: list[ReferenceHost] = []
    for number, address in enumerate((CLIENT, SERVER)):
        stack = Stack([address], settings if number else Settings(), seed=number)
        hosts.append(
            ReferenceHost(
                stack, lambda packet, to=1 - number: loop.call_soon(hosts[to].receive, packet)
            )
        )
    return hosts[0], hosts[1]


def _talk(app: str, client: Client, seconds: float = 100.0, **settings: int) -> ReferenceHost:
    """Let the application meet the client for so long; the server's host."""

    async def conversation() -> ReferenceHost:
        here, there = await _joined(Settings(**settings))
        port = await there.listen(ListenerOptions(app))
        here.connect(client, SERVER, port)
        await asyncio.sleep(seconds)
        here.close()
        there.close()
        return there

    return run_virtually(conversation())


def test_think_answers_later() -> None:
    client = Client(b"question")
    _talk("think:2000", client)
    assert client.heard == [(2.0, b"question"), (2.0, b"")]


def test_late_close_ends_later() -> None:
    client = Client(b"question")
    _talk("late-close:3000", client)
    assert client.heard == [(0.0, b"question"), (3.0, b"")]


def test_half_close_goes_on_reading() -> None:
    client = Client(b"", ends=False)

    async def conversation() -> bytes:
        here, there = await _joined(Settings())
        port = await there.listen(ListenerOptions("half-close:3"))
        here.connect(client, SERVER, port)
        await asyncio.sleep(1)
        client.transport.write(b"still here")
        await asyncio.sleep(1)
        (session,) = await there.sessions(port)
        here.close()
        there.close()
        return session.received

    client.eof_received = lambda: True  # type: ignore[method-assign]
    assert run_virtually(conversation()) == b"still here"
    assert client.text == pattern(3)


def test_never_reads_closes_the_window() -> None:
    client = Client(bytes(20_000), ends=False)
    host = _talk("never-reads", client, receive_window=3000)
    (connection,) = host.stack.connections.values()
    assert connection.recv.field(scaled=False) == 0


def test_slow_reader_echoes_it_all_in_its_time() -> None:
    client = Client(pattern(20_000))
    _talk("slow-reader:1000", client, receive_window=5000)
    assert client.text == pattern(20_000)
    times = sorted({when for when, _ in client.heard})
    assert len(times) >= 4, "it reads a window at a time"


@pytest.mark.parametrize("half_duplex", [False, True])
def test_close_unread_leaves_it_unread_or_reads_on(half_duplex: bool) -> None:
    client = Client(b"hello", ends=False)

    async def conversation() -> bytes:
        here, there = await _joined(Settings(half_duplex_close=half_duplex))
        port = await there.listen(ListenerOptions("close-unread:500"))
        here.connect(client, SERVER, port)
        await asyncio.sleep(1)
        (session,) = await there.sessions(port)
        here.close()
        there.close()
        return session.received

    read = run_virtually(conversation())
    assert (read, client.heard) == ((b"", []) if half_duplex else (b"hello", [(0.5, b"")]))


def test_reno_is_had_of_the_reference() -> None:
    client = Client(b"hi", ends=False)
    _talk("reno:5", client)
    assert client.text == pattern(5) + b"hi"


@pytest.mark.parametrize(
    ("app", "answer"),
    [
        ("reno:5", pattern(5) + b"hello"),
        ("think:20", b"hello"),
        ("slow-reader:20", b"hello"),
        ("half-close:4", pattern(4)),
    ],
)
def test_the_same_on_sockets_of_the_kernel(app: str, answer: bytes) -> None:
    async def conversation() -> bytes:
        server = await asyncio.get_running_loop().create_server(
            app_factory(app, SessionLog()), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello")
            writer.write_eof()
            text = await reader.read()
            writer.close()
            return text

    assert asyncio.run(asyncio.wait_for(conversation(), 60)) == answer


def test_late_accept_takes_a_connection_in_its_time_and_all_that_came_before() -> None:
    client = Client(b"hello")
    _talk("late-accept:1500", client)
    assert client.text == b"hello"
    assert min(when for when, _ in client.heard) >= 1.5


@pytest.mark.parametrize("ends", [False, True], ids=["open", "ended"])
def test_late_accept_on_sockets_of_the_kernel(ends: bool) -> None:
    async def conversation() -> tuple[bytes, float]:
        listener = Listener()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        await listener.open(port, ListenerOptions("late-accept:200", 0), (4,))
        began = asyncio.get_running_loop().time()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello")
        if ends:
            writer.write_eof()
        text = await reader.readexactly(5)
        taken = asyncio.get_running_loop().time() - began
        writer.close()
        listener.close()
        return text, taken

    text, taken = asyncio.run(conversation())
    assert text == b"hello"
    assert taken >= 0.19


def test_clients_meet_listeners_that_share_a_port() -> None:
    async def conversation() -> tuple[list[bytes], int]:
        listener = Listener()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        await listener.open(port, ListenerOptions("shared:3", 0), (4,))
        texts = []
        for _ in range(12):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello")
            texts.append(await reader.readexactly(5))
            writer.close()
        listener.close()
        return texts, len(listener.log.sessions())

    assert asyncio.run(conversation()) == ([b"hello"] * 12, 12)


def test_the_kernel_demands_signatures_of_a_signed_application() -> None:
    async def is_heard() -> bool:
        listener = Listener()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        try:
            await listener.open(port, ListenerOptions("signed:16", 0), (4,))
        except OSError as error:
            pytest.skip(f"this kernel has no TCP MD5: {error}")
        try:
            await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 0.5)
        except TimeoutError:
            return False
        finally:
            listener.close()
        return True

    assert not asyncio.run(is_heard())
