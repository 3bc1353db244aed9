"""Limits how often a connection answers what it need not answer (RFC 5961 section 7)."""

from __future__ import annotations


class Throttle:
    """Admits `limit` in a second, counted from the first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._since = 0.0
        self._count = 0

    def admits(self, now: float) -> bool:
        if now >= self._since + 1:
            self._since, self._count = now, 0
        self._count += 1
        return self._count <= self._limit
