"""How the judged end takes text: whether it keeps what comes early, and how much it leaves without
an acknowledgement."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from scapy_tfo.oracle.conduct.parts.place import Place

_APART = 0.02
"""Seconds between two segments that no interface puts into one."""
_STRETCH = 4
"""Full segments that one ACK covers, from which on it was too late for two of them."""
_KEPT = 64
"""Segments that are remembered."""


@dataclass(slots=True, eq=False)
class Intake:
    """What the peer has sent, as far as it tells of that.

    early: where the piece starts and ends that came before its turn. filled: the gap before it was
    filled; told: and no more than that was acknowledged. kept: some such piece was acknowledged
    without coming again; dropped: how many in a row were not. waiting: the end of each full segment
    that is not acknowledged, and when it came. stretched: how many ACKs in a row covered many of
    them.
    """

    early: tuple[int, int] | None = None
    filled: bool = False
    told: bool = False
    kept: bool = False
    dropped: int = 0
    waiting: list[tuple[int, float]] = field(default_factory=list)
    stretched: int = 0

    def text(self, place: Place, at: float | None, *, is_full: bool, is_calm: bool) -> None:
        """The peer sends text. at: seconds. is_full: nothing more fits into the segment. is_calm:
        nothing but gaps is odd so far."""
        end = place.start + place.length
        self._learn_early(place, end, is_calm=is_calm)
        if is_full and at is not None and place.start == place.next:
            self.waiting.append((end, at))
            del self.waiting[:-_KEPT]
        else:
            self.waiting.clear()

    def _learn_early(self, place: Place, end: int, *, is_calm: bool) -> None:
        early = self.early
        if not is_calm:
            self.early = None
        elif early is None:
            fits = place.edge is not None and end <= place.edge
            if place.start > place.next and fits:
                self.early, self.filled, self.told = (place.start, end), False, False
        elif not self.filled and place.start <= place.next and end == early[0]:
            self.filled = True
        else:
            if (place.start, end) == early and self.told:
                self.dropped += 1
            self.early = None

    def acknowledged(self, ack: int) -> None:
        """The judged end acknowledges so much."""
        early = self.early
        if early is not None and self.filled:
            self.told = ack == early[0]
            if ack >= early[1]:
                self.kept, self.dropped, self.early = True, 0, None
        covered = self.covered(ack)
        if covered:
            del self.waiting[: len(covered)]
            self.stretched = self.stretched + 1 if self.is_late(covered) else 0

    def covered(self, ack: int) -> list[float]:
        """When the full segments came that an ACK covers which was not there before."""
        return [at for end, at in self.waiting if end <= ack]

    @staticmethod
    def is_late(times: list[float]) -> bool:
        """Whether an ACK of segments that came at such times was due before the last two of them
        came."""
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        return len(times) >= _STRETCH and min(gaps) >= _APART
