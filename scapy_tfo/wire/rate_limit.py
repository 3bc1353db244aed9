"""Limits the rate of sending to targets that are not on this machine."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

RATE = 2000.0
BURST = 200

_TICK = 0.001
"""Shortest wait in seconds: what rounding leaves of a token must not become a wait of nothing."""


class Pacer:
    """A token bucket that never blocks: what is over the rate waits its turn in order.

    send: what really sends. rate: packets a second. burst: packets that may go at once after a
    pause. Waiting needs a running asyncio loop, whose clock it is that counts.
    """

    def __init__(
        self, send: Callable[[bytes], None], rate: float = RATE, burst: int = BURST
    ) -> None:
        self._send = send
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._counted = float("-inf")
        self._waiting: deque[bytes] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def send(self, packet: bytes) -> None:
        """Send now, or as soon as the rate allows."""
        self._waiting.append(packet)
        if self._timer is None:
            self._flush()

    @property
    def lag(self) -> float:
        """Seconds until a packet that is handed in now goes out."""
        return len(self._waiting) / self._rate

    def close(self) -> None:
        """Forget what still waits."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._tokens = min(self._burst, self._tokens + (now - self._counted) * self._rate)
        self._counted = now
        while self._waiting and self._tokens >= 1:
            self._tokens -= 1
            self._send(self._waiting.popleft())
        if self._waiting:
            wait = max(_TICK, (1 - self._tokens) / self._rate)
            self._timer = loop.call_later(wait, self._flush)
