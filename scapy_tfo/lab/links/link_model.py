"""One direction of a link: rate, queue, delay, loss; packets and time in, packets out."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """delay: seconds, one way. jitter: up to so many seconds more; packets keep their order. rate:
    bits a second of IP packets, None for no limit. queue: bytes that wait for the rate at most,
    None for no limit. loss, duplicate, reorder: how probable each is, 0 to 1; a reordered packet
    is held back for `hold` seconds."""

    delay: float = 0.0
    jitter: float = 0.0
    rate: float | None = None
    queue: int | None = None
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    hold: float = 0.01


class Direction:
    """A link with a queue in front of it, one way. dice: decide what happens to which packet.

    dropped: packets for which the queue had no room; lost: those that the link lost.
    """

    def __init__(self, shape: Shape, dice: random.Random) -> None:
        self.shape = shape
        self.dropped = self.lost = 0
        self._dice = dice
        self._free_at = 0.0
        self._last = 0.0
        self._serial = 0
        self._travelling: list[tuple[float, int, bytes]] = []

    def __len__(self) -> int:
        """Packets in the queue or on the way."""
        return len(self._travelling)

    def put(self, packet: bytes, now: float) -> None:
        """Put a packet into the queue, at a time that never goes back (seconds)."""
        shape, dice = self.shape, self._dice
        if shape.loss and dice.random() < shape.loss:
            self.lost += 1
            return
        copies = 2 if shape.duplicate and dice.random() < shape.duplicate else 1
        for _ in range(copies):
            start = max(self._free_at, now)
            if shape.rate is not None:
                waiting = (start - now) * shape.rate / 8
                if shape.queue is not None and waiting + len(packet) > shape.queue:
                    self.dropped += 1
                    continue
                start += len(packet) * 8 / shape.rate
                self._free_at = start
            due = start + shape.delay
            if shape.jitter:
                due += dice.random() * shape.jitter
            if shape.reorder and dice.random() < shape.reorder:
                due += shape.hold
            else:
                self._last = due = max(due, self._last)
            self._serial += 1
            heapq.heappush(self._travelling, (due, self._serial, packet))

    @property
    def due(self) -> float | None:
        """When the next packet comes out; None where there is none."""
        return self._travelling[0][0] if self._travelling else None

    def take(self, now: float) -> list[bytes]:
        """The packets that have come out by now, in their order."""
        out = []
        while self._travelling and self._travelling[0][0] <= now:
            out.append(heapq.heappop(self._travelling)[2])
        return out
