"""The application of a target on the wire: another one than an echo is told, and never judged."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import pytest

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.live.addresses import clients_of
from scapy_tfo.executor.live.application import meet
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.wire.links.batch import Batch
from scapy_tfo.wire.links.batch_link import LinkBatch
from scapy_tfo.wire.links.choose import open_link

HERE = ip_address("127.0.0.1")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def echoes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)
        await writer.drain()


async def echoes_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        await asyncio.sleep(1.5)
        for each in data:
            writer.write(bytes((each,)))
            await asyncio.sleep(0)


async def says_nothing(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(100):
        pass


async def answers_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read(100))
    await writer.drain()


async def answers_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await answers_once(reader, writer)
    await answers_once(reader, writer)


async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 ready\r\n")
    await says_nothing(reader, writer)


async def shouts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data.upper())


async def changes_long_lines(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1000):
        writer.write(data if len(data) < 80 else data[:80] + b"\n" + data[80:])


async def hangs_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@contextmanager
def served(serve: Serve) -> Iterator[int]:
    """The port of an application on the loopback interface."""
    loop = asyncio.new_event_loop()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(handle, str(HERE), 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        # In the loop's own thread: a connection that ends meanwhile changes the server, too.
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.fixture
def batch() -> Iterator[LinkBatch]:
    try:
        opened = LinkBatch(open_link(HERE))
    except SetupError as error:
        pytest.skip(str(error))
    yield opened
    opened.close()


def introduce(batch: Batch, **ports: int) -> None:
    meet(batch, clients_of(batch.sources, (4,)), {4: HERE}, ports)


@pytest.mark.parametrize("serve", [echoes, echoes_slowly])
def test_an_echo_is_welcome(batch: LinkBatch, serve: Serve) -> None:
    with served(serve) as port:
        introduce(batch, main=port, closed=1)


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        (says_nothing, "the request was acknowledged, and no answer came"),
        (answers_once, "the connection was (closed|reset)"),
        (answers_twice, "the connection was closed, with the client's end still open"),
        (greets, "11 bytes came, which are not those that were sent"),
        (shouts, "18 bytes came, which are not those that were sent"),
        (changes_long_lines, "519 bytes came, which are not those that were sent after the first"),
        (hangs_up, "the connection was reset"),
    ],
)
def test_another_application_is_told(batch: LinkBatch, serve: Serve, why: str) -> None:
    with served(serve) as port, pytest.raises(TargetError) as told:
        introduce(batch, main=port)
    assert re.search(
        rf"127.0.0.1:{port} does not answer .* as an echo would \({why}", str(told.value)
    )


def test_each_listener_is_met(batch: LinkBatch) -> None:
    told = r"\(--second-port\) does not answer"
    with served(echoes) as port, served(shouts) as other, pytest.raises(TargetError, match=told):
        introduce(batch, main=port, second=other)
    with socket.socket() as closed:
        # Bound, so that no one else takes the port meanwhile: whoever did might drop the RST.
        closed.bind((str(HERE), 0))
        with served(echoes) as port, pytest.raises(TargetError, match="RST in answer to a SYN"):
            introduce(batch, main=port, plain=closed.getsockname()[1])


class Lossy:
    """A batch that loses every second packet, each way."""

    def __init__(self, batch: LinkBatch) -> None:
        self._batch = batch
        self._there = self._back = 0
        self.sources = batch.sources
        self.reserve_port, self.release_port = batch.reserve_port, batch.release_port

    def exchange(self, packets: list[bytes]) -> list[bytes]:
        kept = []
        for each in packets:
            self._there += 1
            if self._there % 2 == 0:
                kept.append(each)
        return self._left(self._batch.exchange(kept))

    def wait(self, seconds: float) -> list[bytes]:
        return self._left(self._batch.wait(seconds))

    def _left(self, packets: list[bytes]) -> list[bytes]:
        self._back += len(packets)
        return packets[self._back % 2 :]


def test_loss_is_nobodys_fault(batch: LinkBatch) -> None:
    with served(echoes) as port:
        introduce(Lossy(batch), main=port)  # type: ignore[arg-type]


def test_a_bench_meets_it_first() -> None:
    with served(says_nothing) as port:
        try:
            link = open_link(HERE)
        except SetupError as error:
            pytest.skip(str(error))
        with pytest.raises(TargetError, match="as an echo would"):
            LiveBench.on("one", link, {4: HERE}, {"main": port})
