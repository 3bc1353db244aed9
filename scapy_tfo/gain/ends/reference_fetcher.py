"""Measures with the reference client, as fetcher.py does with the kernel's.

`python -m scapy_tfo.gain.ends.reference_fetcher FD ADDRESS PORT NAME PATH TIMES SEED WAY...`: FD
gives and takes the client's IP packets. It prints the same as fetcher.py.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from ipaddress import ip_address
from typing import Any

from scapy_tfo.gain.ends.namespaces import CLIENT
from scapy_tfo.lab.kernel.target import MTU
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.lab.process.priority import go_first
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.wire.links.tun import TunLink

_PATIENCE = 60.0


class _Request(asyncio.Protocol):
    """ended: the last byte has come. Times are of the loop's clock."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.made = self.first = self.last = 0.0
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.made = asyncio.get_running_loop().time()
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self.received:
            self.first = asyncio.get_running_loop().time()
        self.received += data

    def eof_received(self) -> bool:
        self.last = asyncio.get_running_loop().time()
        self._transport.close()
        if not self.ended.done():
            self.ended.set_result(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionResetError("the server closed early"))


async def fetch(
    host: ReferenceHost, way: str, at: tuple[str, int], request: bytes
) -> dict[str, Any]:
    """One request on a connection of its own. Raises OSError."""
    exchange = _Request()
    accepted = host.stack.counters["TCPFastOpenActive"]
    began = asyncio.get_running_loop().time()
    host.connect(exchange, ip_address(at[0]), at[1], data=request, fast_open=way == "tfo")
    async with asyncio.timeout(_PATIENCE):
        await exchange.ended
    head = bytes(exchange.received[:12])
    return {
        "way": way,
        "first": exchange.first - began,
        "last": exchange.last - began,
        "bytes": len(exchange.received),
        "status": head[9:].decode("latin-1") if head.startswith(b"HTTP/1.") else "",
        "early": host.stack.counters["TCPFastOpenActive"] > accepted,
        "failed": 0,
        "rtt": exchange.made - began,
    }


async def run(words: list[str]) -> None:
    """All the requests that the words ask for. Raises OSError."""
    go_first()
    descriptor, address, port, name, path, times, order, *ways = words
    dice = random.Random(int(order))
    at = (address, int(port))
    request = f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
    seed = random.SystemRandom().getrandbits(32)
    link = TunLink(int(descriptor), [CLIENT[4].ip], MTU)
    host = ReferenceHost.on(link, Stack((CLIENT[4].ip,), Settings(), seed=seed))
    if "tfo" in ways:
        await fetch(host, "tfo", at, request)
    for _ in range(int(times)):
        dice.shuffle(ways)
        for way in ways:
            told = await fetch(host, way, at, request)
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1:]))
