"""The timer behind which what is not acknowledged is sent again (RFC 6298)."""

from __future__ import annotations

LEAST_TIMEOUT = 1.0
"""Seconds (RFC 6298 section 2.4)."""

_LONGEST_TIMEOUT = 60.0
"""Seconds (RFC 6298 section 2.5)."""

MOST_REPEATS = 2
"""Times that one thing is sent again, after 1 s and 2 s more where the path is short. A target that
loses the same thing three times on a path that loses nothing else does not take it."""


def first_timeout(round_trip: float) -> float:
    """Seconds until the first repetition, where one round trip was measured (RFC 6298 section 2.2:
    SRTT is that, RTTVAR half of it, and the timeout SRTT + 4 * RTTVAR)."""
    return max(LEAST_TIMEOUT, 3 * round_trip)


class RetransmissionTimer:
    """Says when to send again, by a clock that is handed to it, in seconds.

    timeout: the first one, which each repetition doubles.
    """

    def __init__(self, timeout: float = LEAST_TIMEOUT) -> None:
        self.timeout = timeout
        self._progress: object = None
        self._current = timeout
        self._due = 0.0
        self._repeats = 0

    def due(self, now: float, progress: object) -> float | None:
        """When to send again; None where that was done often enough.

        progress: how far the target has come. Where it is another than before, all begins anew
        (RFC 6298 section 5.3).
        """
        if progress != self._progress:
            self._progress, self._repeats = progress, 0
            self._current, self._due = self.timeout, now + self.timeout
        return self._due if self._repeats < MOST_REPEATS else None

    def sent_again(self, now: float) -> None:
        """Back off (RFC 6298 sections 5.5 and 5.6)."""
        self._repeats += 1
        self._current = min(2 * self._current, _LONGEST_TIMEOUT)
        self._due = now + self._current

    def stop(self) -> None:
        """Nothing is left to wait for (RFC 6298 section 5.2)."""
        self._progress = None
