"""Connections between two right stacks on virtual time, captured at both ends and in the middle."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from scapy_tfo.client_variants.registry import client_named
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.links.impairment import Impairment, Path
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.segment import Address
from scapy_tfo.variants.registry import AnyStack, named

CLIENTS: tuple[Address, ...] = (ip_address("192.0.2.7"), ip_address("2001:db8::7"))
SERVERS: tuple[Address, ...] = (ip_address("192.0.2.80"), ip_address("2001:db8::80"))
EPOCH = 1_700_000_000
PLACES = ("client", "middle", "server")
_LONGEST = 400.0
"""Virtual seconds that all connections may take."""


@dataclass(frozen=True, slots=True)
class Packet:
    """when: ns since the epoch. data: the IP packet. upward: to the server."""

    when: int
    data: bytes
    upward: bool


@dataclass
class Captures:
    """What was seen at each of PLACES."""

    at: dict[str, list[Packet]] = field(default_factory=lambda: {each: [] for each in PLACES})

    def tap(self, place: str, data: bytes, *, upward: bool) -> None:
        now = asyncio.get_running_loop().time()
        self.at[place].append(Packet(EPOCH * 10**9 + round(now * 1e9), data, upward))


class _Talker(asyncio.Protocol):
    """Writes, reads as much again (all of an echo), and closes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.over = asyncio.get_running_loop().create_future()
        self._sizes = list(sizes)
        self._awaited = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._next()

    def _next(self) -> None:
        assert isinstance(self._transport, asyncio.Transport)
        if not self._sizes:
            self._transport.write_eof()
            return
        size = self._sizes.pop(0)
        self._awaited += size
        self._transport.write(bytes(each % 251 for each in range(size)))

    def data_received(self, data: bytes) -> None:
        self._awaited -= len(data)
        if self._awaited <= 0:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(exc)


def hold(
    client: str,
    server: str,
    talks: Sequence[Sequence[int]],
    *,
    seed: int = 0,
    near: Impairment | None = None,
    far: Impairment | None = None,
) -> Captures:
    """The captures of connections, one for each of `talks`: the sizes of what the client writes,
    each echoed before the next one. near, far: the path before and behind the middle."""
    settings = near or Impairment(delay=0.02), far or Impairment(delay=0.01)
    return run_virtually(_hold(client_named(client), named(server), talks, seed, *settings))


async def _hold(
    client: AnyStack,
    server: AnyStack,
    talks: Sequence[Sequence[int]],
    seed: int,
    near: Impairment,
    far: Impairment,
) -> Captures:
    captures, dice = Captures(), random.Random(seed)

    def emit(place: str, way: Path, *, upward: bool, data: bytes) -> None:
        captures.tap(place, data, upward=upward)
        way.send(data)

    def at_server(data: bytes) -> None:
        captures.tap("server", data, upward=True)
        there.receive(data)

    def at_client(data: bytes) -> None:
        captures.tap("client", data, upward=False)
        here.receive(data)

    up_far = Path(far, at_server, dice)
    down_near = Path(near, at_client, dice)
    up_near = Path(near, lambda data: emit("middle", up_far, upward=True, data=data), dice)
    down_far = Path(far, lambda data: emit("middle", down_near, upward=False, data=data), dice)
    here = ReferenceHost(
        client.stack(CLIENTS, client.settings, seed=seed),
        lambda data: emit("client", up_near, upward=True, data=data),
    )
    there = ReferenceHost(
        server.stack(SERVERS, server.settings, seed=seed + (1 << 32)),
        lambda data: emit("server", down_far, upward=False, data=data),
    )
    port = await there.listen(ListenerOptions("echo"))
    try:
        async with asyncio.timeout(_LONGEST):
            for number, sizes in enumerate(talks):
                talker = _Talker(sizes)
                here.connect(talker, SERVERS[number % 2], port, data=b"first")
                await talker.over
                await asyncio.sleep(dice.random() * 0.1)
    except TimeoutError:
        pass
    finally:
        here.close()
        there.close()
    return captures
