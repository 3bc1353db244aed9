"""The ISNs of one host, by the ends of its connections."""

from __future__ import annotations

from collections.abc import Hashable

_MOST = 1 << 16
"""Pairs of ends whose last connection is remembered."""
_TIME_WAIT = 2.0
"""Seconds: less than any TIME-WAIT. Once it is over a clock that ISNs go by (RFC 6528) may stand
within what a fast connection used."""


class Population:
    """The ISNs that the judged end has used, by the connection's ends.

    Each entry has the ISN of the peer beside it: a SYN cookie is a function of both. since: when
    the first of those connections began that have one ISS, in seconds.
    """

    def __init__(self) -> None:
        self._last: tuple[Hashable, int] | None = None
        self._alike = 0
        self.since = 0.0
        self._shift: tuple[Hashable, int] | None = None
        self._shifted = 0
        self._step: int | None = None
        self._steps = 0
        self._of: dict[Hashable, tuple[int, int]] = {}
        self._used: dict[Hashable, tuple[int, int, float]] = {}

    def alike(self, key: Hashable, iss: int) -> int:
        """How many connections before this one, each with other ends, had the same ISS."""
        if self._last is None or self._last[0] == key or self._last[1] != iss:
            return 0
        return self._alike + 1

    def shifted(self, key: Hashable, isn: int, iss: int) -> int:
        """How many connections before this one had an ISS at the same distance from the ISN."""
        shift = (iss - isn) & 0xFFFFFFFF
        if self._shift is None or self._shift[0] == key or self._shift[1] != shift:
            return 0
        return self._shifted + 1

    def steps(self, key: Hashable, iss: int) -> int | None:
        """How many times in a row the distance to the ISS before was the same, and not zero; None
        where there is none before."""
        if self._last is None or self._last[0] == key:
            return None
        step = (iss - self._last[1]) & 0xFFFFFFFF
        return self._steps + 1 if step and step == self._step else 0

    def before(self, key: Hashable) -> tuple[int, int] | None:
        """The peer's ISN and the ISS of the last connection between these ends."""
        return self._of.get(key)

    def ended(self, key: Hashable, iss: int, used: int, at: float) -> None:
        """The judged end closes a connection first, in which it has used so many numbers. at:
        seconds."""
        self._used[key] = iss, used, at
        if len(self._used) > _MOST:
            del self._used[next(iter(self._used))]

    def is_used(self, key: Hashable, number: int, at: float) -> bool:
        """Whether the last connection between these ends that the judged end closed first had that
        number, and is in TIME-WAIT for sure."""
        iss, used, closed_at = self._used.get(key, (0, 0, 0.0))
        return at - closed_at < _TIME_WAIT and (number - iss) & 0xFFFFFFFF < used

    def learn(self, key: Hashable, isn: int, iss: int, at: float) -> None:
        """A connection got its SYN-ACK. at: seconds."""
        self._steps = self.steps(key, iss) or 0
        if self._last is not None:
            self._step = (iss - self._last[1]) & 0xFFFFFFFF
        self._alike = self.alike(key, iss)
        if not self._alike:
            self.since = at
        self._shifted = self.shifted(key, isn, iss)
        self._shift = key, (iss - isn) & 0xFFFFFFFF
        self._last = key, iss
        self._of.pop(key, None)
        self._of[key] = isn, iss
        if len(self._of) > _MOST:
            del self._of[next(iter(self._of))]
