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
        self._resting: list[tuple[float, int]] = []
        self._rests_until: dict[int, float] = {}
        self._own: set[int] = set()

    def take(self, count: int, now: float) -> list[int]:
        """Up to so many ports; fewer where the others are in use or at rest."""
        taken: list[int] = []
        while len(taken) < count:
            port = self._rested(now) or self._another()
            if not port:
                break
            taken.append(port)
        return taken

    def take_this(self, port: int, now: float) -> bool:
        """Take that port, which one of another source has; False where it cannot be had now."""
        if port in self._own:
            until = self._rests_until.get(port)
            if until is None or until > now:
                return False
            del self._rests_until[port]
            return True
        try:
            self._batch.reserve_port(self._source, port)
        except SetupError:
            # This process may hold as many as it can: the next try has room.
            rested = self._rested(now)
            if rested:
                self._own.remove(rested)
                self._batch.release_port(self._source, rested)
            return False
        self._own.add(port)
        return True

    def give(self, ports: list[int], now: float, rest: float = REST) -> None:
        """Give ports back to be used again after a rest, in seconds."""
        until = now + rest
        for port in ports:
            self._rests_until[port] = until
            heappush(self._resting, (until, port))

    def _rested(self, now: float) -> int:
        """A port that has rested, 0 where there is none."""
        resting = self._resting
        while resting and resting[0][0] <= now:
            until, port = heappop(resting)
            # One that was taken by its number is still listed with its rest before that.
            if self._rests_until.get(port) == until:
                del self._rests_until[port]
                return port
        return 0

    def _another(self) -> int:
        """A port that was not reserved before, 0 where no more can be had."""
        if len(self._own) >= self._most:
            return 0
        try:
            port = self._batch.reserve_port(self._source)
        except SetupError:
            self._most = len(self._own)
            return 0
        self._own.add(port)
        return port
