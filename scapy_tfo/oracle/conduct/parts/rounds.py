"""How much an end has under way, round trip by round trip."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Rounds:
    """An end in congestion avoidance, that uses the congestion control of RFC 5681; or one that has
    no reason to send less.

    flight: bytes that were under way when a loss was noticed, or before the first round trip.
    threshold: from how many on it surely avoids congestion. end: the number at which a round trip
    ends. lossless: nothing was lost. sizes: bytes that were under way when each one did.
    """

    flight: int
    threshold: int
    end: int
    lossless: bool = False
    sizes: list[int] = field(default_factory=list)

    def learn(self, una: int, end: int) -> None:
        """More is acknowledged. una: what was before. end: of what came."""
        if una >= self.end:
            self.sizes.append(end - una)
            self.end = end

    def growth(self, rounds: int) -> int | None:
        """Bytes by which the last round trips let more under way, None before there were as many
        above the threshold."""
        last = self.sizes[-rounds - 1 :]
        if len(last) <= rounds or min(last) < self.threshold:
            return None
        return last[-1] - last[0]
