"""Connects the loader of pages to the reference's client."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import cast

from scapy_tfo.gain.virtual.network import PORT, Network
from scapy_tfo.reference.client import ActiveConnection


class Wire(asyncio.Protocol):
    """A connection of the reference client's; see loader.Connection."""

    def __init__(self, network: Network, address: str) -> None:
        self._network = network
        self._address = ip_address(address)
        loop = asyncio.get_running_loop()
        self._made: asyncio.Future[None] = loop.create_future()
        self._came: asyncio.Queue[bytes] = asyncio.Queue()
        self._transport: asyncio.Transport | None = None

    # What the loader calls.

    async def connect(self) -> None:
        self._open(b"", fast_open=False)
        await self._made

    async def fast_open(self, data: bytes) -> None:
        self._open(data, fast_open=True)

    async def send(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    async def receive(self) -> bytes:
        return await self._came.get()

    @property
    def taken(self) -> bool:
        assert self._transport is not None
        connection = cast(ActiveConnection, self._transport.get_extra_info("connection"))
        return connection.fast_opened

    @property
    def port(self) -> int:
        """The client's own, of a connection that was opened."""
        assert self._transport is not None
        connection = cast(ActiveConnection, self._transport.get_extra_info("connection"))
        return connection.local[1]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _open(self, data: bytes, *, fast_open: bool) -> None:
        self._transport = self._network.client.connect(
            self, self._address, PORT, data=data, fast_open=fast_open
        )

    # What the stack calls.

    def connection_made(self, _: asyncio.BaseTransport) -> None:
        if not self._made.done():
            self._made.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._came.put_nowait(data)

    def eof_received(self) -> bool:
        self._came.put_nowait(b"")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._came.put_nowait(b"")
        if not self._made.done():
            self._made.set_exception(exc or ConnectionResetError("the server closed early"))
