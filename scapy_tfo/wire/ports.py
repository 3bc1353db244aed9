"""Hands out ports of addresses that no kernel owns: no other process can have them."""

from __future__ import annotations

import random

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address

_FIRST, _COUNT = 32768, 28232


class PortPool:
    """Hands out the ports 32768 to 60999 of each source in turn, from a random start.

    seed: of that start; None for a different one each time.

    In turn, so that a port comes back as late as possible: the target may still hold a
    connection of the case that had it before. One that was asked for by its number is left out
    when its turn comes.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)
        self._next: dict[Address, int] = {}
        self._reserved: set[tuple[Address, int]] = set()
        self._chosen: set[tuple[Address, int]] = set()

    def reserve(self, source: Address, port: int = 0) -> int:
        """A port that is free: that one, or any for 0. Raises SetupError where there is none."""
        if port:
            if (source, port) in self._reserved:
                raise SetupError(f"port {port} of {source} is in use: choose another")
            self._reserved.add((source, port))
            self._chosen.add((source, port))
            return port
        start = self._next.setdefault(source, self._random.randrange(_COUNT))
        for step in range(2 * _COUNT):
            at = (start + step) % _COUNT
            end = (source, _FIRST + at)
            if end in self._chosen and end not in self._reserved:
                self._chosen.remove(end)
            elif end not in self._reserved:
                self._next[source] = (at + 1) % _COUNT
                self._reserved.add(end)
                return end[1]
        raise SetupError(f"no port of {source} is left: all {_COUNT} are in use")

    def release(self, source: Address, port: int) -> None:
        """Give a port back. Raises KeyError for one that is not reserved."""
        self._reserved.remove((source, port))
