"""Bounds what a run keeps of what the other side sends, which may be any amount."""

from __future__ import annotations

from collections.abc import Hashable

from scapy_tfo.suite.outcome import Ending, Failed, Inconclusive

MOST_KEPT = 120_000
"""Packets of the other side's in a capture. A run of all cases has about 25,000, and behind so many
no more case is run."""

MOST_BYTES = 64 << 20
"""Bytes in them."""

MOST_HEARD = 4096
"""Segments that one conversation is handed; the longest of a case has about 700."""

MOST_HELD = 50_000
"""Segments that all open conversations have been handed, before each gets only a few more."""

ALWAYS_HEARD = 16
"""Segments that a conversation is handed even then."""

_FLOODED = "more came than is read of one conversation, and what was awaited may be in the rest"


class Bounds:
    """Counts what was kept, and decides about what comes.

    unkept: packets that are not in the capture. flooded: owners of conversations that were handed
    less than came for them.
    """

    def __init__(self) -> None:
        self.unkept = 0
        self.flooded: set[str] = set()
        self._kept = self._bytes = self._held = 0
        self._heard: dict[Hashable, int] = {}

    def keeps(self, size: int) -> bool:
        """Whether the capture has room for a packet of so many bytes; it is counted."""
        if self._kept >= MOST_KEPT or self._bytes + size > MOST_BYTES:
            self.unkept += 1
            return False
        self._kept += 1
        self._bytes += size
        return True

    def hands(self, key: Hashable, owner: str) -> bool:
        """Whether a conversation is handed one more segment; it is counted."""
        heard = self._heard.get(key, 0)
        if heard >= ALWAYS_HEARD and (heard >= MOST_HEARD or self._held >= MOST_HELD):
            self.flooded.add(owner)
            return False
        self._heard[key] = heard + 1
        self._held += 1
        return True

    def forget(self, key: Hashable) -> None:
        """A conversation is over, and what it was handed is forgotten with it."""
        self._held -= self._heard.pop(key, 0)

    @property
    def over(self) -> str:
        """Why nothing more is asked of the other side; "" while it is."""
        if not self.unkept:
            return ""
        return f"flooded: more than {self._kept:,} packets came, so that the rest was not run"

    def begin(self) -> None:
        """A case begins. Raises Inconclusive where none shall any more."""
        if self.over:
            raise Inconclusive(self.over)

    def judged(self, owner: str, ending: Ending | None) -> Ending | None:
        """How a case really ended: what was judged wrong came, but what did not come may be in the
        rest that was not read."""
        doubt = self.doubt(owner)
        return ending if isinstance(ending, Failed) or not doubt else Inconclusive(doubt)

    def doubt(self, owner: str) -> str:
        """Why nothing can be told of what did not come to a case; "" where it can."""
        return _FLOODED if owner in self.flooded else ""

    @property
    def notes(self) -> list[str]:
        """What is to be said of it in a report."""
        notes = []
        if self.unkept:
            notes.append(
                f"the capture was cut: {self.unkept:,} packets came beyond the first"
                f" {self._kept:,} and are not in it"
            )
        if self.flooded:
            notes.append(
                f"flooded: for {len(self.flooded)} case(s) or control(s) more segments came than"
                f" are read of one conversation (at most {MOST_HEARD:,})"
            )
        return notes
