"""TLS between the loader and the server of pages, over the reference's TCP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from scapy_tfo.gain.secure.openssl import Context, Endpoint
from scapy_tfo.gain.virtual.network import Network
from scapy_tfo.gain.virtual.wire import Wire


class TlsServer(asyncio.Protocol):
    """A connection to the server: its text goes to and comes from the protocol inside."""

    def __init__(self, context: Context, inside: asyncio.Protocol) -> None:
        self._tls = Endpoint(context)
        self._inside = inside

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inside.connection_made(_Inner(transport, self._write))

    def data_received(self, data: bytes) -> None:
        text = self._tls.feed(data)
        self._flush()
        if text:
            self._inside.data_received(text)

    def eof_received(self) -> bool | None:
        return self._inside.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inside.connection_lost(exc)
        self._tls.close()

    def _write(self, text: bytes) -> None:
        self._tls.write(text)
        self._flush()

    def _flush(self) -> None:
        if data := self._tls.take():
            self._transport.write(data)


class _Inner(asyncio.Transport):
    """What the protocol inside writes to."""

    def __init__(self, outer: asyncio.Transport, write: Callable[[bytes], None]) -> None:
        super().__init__()
        self._outer = outer
        self._write = write

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._write(bytes(data))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._outer.get_extra_info(name, default)

    def close(self) -> None:
        self._outer.close()

    def is_closing(self) -> bool:
        return self._outer.is_closing()


class TlsWire:
    """A connection of the loader's; see loader.Connection. fast_opens: TCP's fast open carries the
    first flight. early: the first request goes as early data, where there is a session; see
    `Load.sends_first`. `taken` is whether the server accepted the early data."""

    def __init__(
        self, network: Network, address: str, context: Context, *, fast_opens: bool, early: bool
    ) -> None:
        self._wire = Wire(network, address)
        self._fast_opens = fast_opens
        self._tls = Endpoint(context, address, early=early)

    async def connect(self) -> None:
        self._tls.shake()
        await self._begin()
        while not self._tls.done:
            self._tls.feed(await self._came())
        await self._wire.send(self._tls.take())

    async def fast_open(self, data: bytes) -> None:
        """With early data, where there is a session."""
        if not self._tls.sends_early:
            await self.connect()
            await self.send(data)
            return
        self._tls.write(data)
        await self._begin()

    async def send(self, data: bytes) -> None:
        self._tls.write(data)
        await self._wire.send(self._tls.take())

    async def receive(self) -> bytes:
        while data := await self._wire.receive():
            text = self._tls.feed(data)
            if left := self._tls.take():
                await self._wire.send(left)
            if text:
                self._tls.keep_session()
                return text
        return b""

    @property
    def taken(self) -> bool:
        return self._tls.accepted_early

    def close(self) -> None:
        self._wire.close()
        self._tls.close()

    async def _begin(self) -> None:
        if self._fast_opens:
            await self._wire.fast_open(self._tls.take())
        else:
            await self._wire.connect()
            await self._wire.send(self._tls.take())

    async def _came(self) -> bytes:
        data = await self._wire.receive()
        if not data:
            raise ConnectionResetError("the server closed during the handshake of TLS")
        return data
