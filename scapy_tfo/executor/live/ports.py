"""Hands out source ports in turn, and lets each rest after its use."""

from __future__ import annotations

from heapq import heappop, heappush

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.batch import Batch

REST = 1.0
"""Seconds after which nothing of a port's last use is still on its way."""

FOREIGN_REST = 4.0
"""The same at a target of others, which may not have taken our RST, and sends its SYN-ACK again
after 1 and 3 s (RFC 6298 section 2)."""


class Ports:
    """The ports of one source address. most: so many are reserved in the end."""

    def __init__(self, batch: Batch, source: Address, most: int = 1 << 16) -> None:
        self._batch = batch
        self._source = source
        self._most = most
        self._reserved = 0
        self._resting: list[tuple[float, int]] = []

    def take(self, count: int, now: float) -> list[int]:
        """Up to so many ports; fewer where the others are in use or at rest."""
        resting = self._resting
        taken: list[int] = []
        while len(taken) < count:
            if resting and resting[0][0] <= now:
                taken.append(heappop(resting)[1])
            elif self._reserved < self._most:
                try:
                    taken.append(self._batch.reserve_port(self._source))
                except SetupError:
                    self._most = self._reserved
                    continue
                self._reserved += 1
            else:
                break
        return taken

    def give(self, ports: list[int], now: float, rest: float = REST) -> None:
        """Give ports back to be used again after a rest, in seconds."""
        until = now + rest
        for port in ports:
            heappush(self._resting, (until, port))
