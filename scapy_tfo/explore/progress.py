"""Says how far an exploration is, every ten seconds."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
"""Takes a line for whoever waits."""

EVERY = 10.0
"""Seconds between two lines."""


class Progress:
    """tell: gets the lines. now: when it begins. end: of the time for schedules, None where there
    is no limit. All times are in seconds, on one clock."""

    def __init__(self, tell: Tell, now: float, end: float | None) -> None:
        self._tell, self._end = tell, end
        self._due = now + EVERY

    def seconds_to_next(self, now: float) -> float:
        """Until the next line."""
        return max(0.0, self._due - now)

    def at(self, now: float, schedules: int, found: int) -> None:
        """So many schedules were played, and so much was found: a line, if it is time for one."""
        if now < self._due:
            return
        self._due = now + EVERY
        noun = "finding" if found == 1 else "findings"
        self._tell(f"{schedules:,} schedules, {found} {noun} so far{self._left(now)}")

    def _left(self, now: float) -> str:
        if self._end is None or now >= self._end:
            return ""
        minutes, seconds = divmod(round(self._end - now), 60)
        return f", {minutes}:{seconds:02} left"
