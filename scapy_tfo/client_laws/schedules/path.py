"""The path between a client and the server of a schedule: it numbers packets, and does to them what
the schedule says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from scapy_tfo.client_laws.schedules.schedule import Fault
from scapy_tfo.explore.conversation.schedule import DELAYED, DOUBLED, LOST, SWAPPED

LATENCY = 0.005
"""Seconds, each way."""
_DELAY, _BEHIND, _SHORTLY = 1.6, 0.35, 0.0005
"""Seconds by which a packet is late, beyond the first timeout of most stacks; for which it waits
for the next one that is to overtake it; and between a packet and what comes right behind it."""
_APART = 1e-6
"""Seconds between packets that were sent at the same time, which keeps their order."""

Taker = Callable[[bytes, str], None]
"""Takes a packet that arrives, and what befell it, "" for nothing; it corrupts what is to be."""


class Path:
    """to_server, to_client: take what arrives. sent: of each packet so far, whether the client
    sent it."""

    def __init__(self, to_server: Taker, to_client: Taker) -> None:
        self.sent: list[bool] = []
        self._takers = to_client, to_server
        self._faults: dict[tuple[bool, int], str] = {}
        self._counts = [0, 0]
        self._last = [0.0, 0.0]
        self._held: list[Callable[[], None] | None] = [None, None]
        self._loop = asyncio.get_running_loop()
        self._is_open = True

    def spoil(self, faults: Sequence[Fault]) -> None:
        """From now on, packets are counted anew, and these faults befall them."""
        self._faults = {(each.from_client, each.index): each.kind for each in faults}
        self._counts, self.sent = [0, 0], []

    def carry(self, packet: bytes, *, from_client: bool) -> str:
        """A packet goes on its way; what will befall it."""
        index = self._counts[from_client]
        self._counts[from_client] += 1
        self.sent.append(from_client)
        fate = self._faults.get((from_client, index), "")
        overtaken, self._held[from_client] = self._held[from_client], None
        at = max(self._loop.time() + LATENCY, self._last[from_client] + _APART)
        self._last[from_client] = at

        def arrive() -> None:
            if self._is_open:
                self._takers[from_client](packet, fate)

        if fate == SWAPPED:
            self._hold(arrive, at + _BEHIND, from_client)
        elif fate != LOST:
            self._loop.call_at(at + (_DELAY if fate == DELAYED else 0.0), arrive)
        if fate == DOUBLED:
            self._loop.call_at(at + _SHORTLY, arrive)
        if overtaken is not None:
            self._loop.call_at(at + _SHORTLY, overtaken)
        return fate

    def _hold(self, arrive: Callable[[], None], at: float, from_client: bool) -> None:
        """Until the next packet that way has arrived, or for a while."""
        done = False

        def once() -> None:
            nonlocal done
            if not done:
                done = True
                arrive()

        self._held[from_client] = once
        self._loop.call_at(at, once)

    def close(self) -> None:
        """Nothing arrives any more."""
        self._is_open = False
