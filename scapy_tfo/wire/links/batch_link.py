"""Any link as a batch, for targets that are reached through interfaces, with guarded ports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Link

ROOM = 256
"""Packets on their way: sockets hold many more."""

KEPT = 1 << 16
"""Packets that came and were not asked for: the oldest go first."""

_TURNS = 3
"""Turns of the loop after which everything that was readable has been read."""


class LinkBatch:
    """Drives a link on an asyncio loop of its own, which stands still between calls.

    It owns the link. loop: where the link was made, if it needs one. Raises TargetError where no
    neighbour answers.
    """

    room = ROOM

    def __init__(self, link: Link, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.sources: tuple[Address, ...] = link.sources
        self.mtu = link.mtu
        self.is_local = link.is_local
        self._link = link
        self._loop = loop or asyncio.new_event_loop()
        self._came: deque[bytes] = deque(maxlen=KEPT)
        self._overrun = 0
        self._something = asyncio.Event()
        try:
            self._loop.run_until_complete(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        self._link.start(self._receive)
        await self._link.prepare()

    def exchange(self, packets: Iterable[bytes]) -> list[bytes]:
        """See Batch. What is over the MTU counts as lost."""
        return self._loop.run_until_complete(self._send(tuple(packets)))

    def wait(self, seconds: float) -> list[bytes]:
        """See Batch."""
        return self._loop.run_until_complete(self._await(seconds))

    def lost(self) -> int:
        return self._overrun

    def reserve_port(self, source: Address, port: int = 0) -> int:
        return self._link.reserve_port(source, port)

    def release_port(self, source: Address, port: int) -> None:
        self._link.release_port(source, port)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._link.close()
            self._loop.close()

    async def _send(self, packets: Sequence[bytes]) -> list[bytes]:
        for number, packet in enumerate(packets, 1):
            if len(packet) > self.mtu:
                self._overrun += 1
                continue
            self._link.send(packet)
            if number % ROOM == 0:
                await asyncio.sleep(0)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return self._take()

    async def _await(self, seconds: float) -> list[bytes]:
        if not self._came:
            self._something.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._something.wait()
            except TimeoutError:
                return []
        return self._take()

    def _take(self) -> list[bytes]:
        taken = list(self._came)
        self._came.clear()
        return taken

    def _receive(self, packet: bytes, _when: float) -> None:
        if len(self._came) == KEPT:
            self._overrun += 1
        self._came.append(packet)
        self._something.set()
