"""Decides the order in which ways take turns, and when there have been enough rounds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from scapy_tfo.gain.measuring.estimate import LEAST_PAIRS, Estimate

MOST = 400
"""Rounds at most, where it is the precision that ends them."""

Tell = Callable[[str], object]
"""Takes a line for whoever waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """When a cell has had enough rounds. rounds: so many, where no precision is asked for.
    precision: until the intervals of effect and control reach no further than that, in the units of
    the effect; None for `rounds`. seconds: for all cells together, None for any time.

    Looking after each round whether an interval is narrow makes it a little too narrow, which is
    why no interval of less than `LEAST_PAIRS` pairs ends a cell.
    """

    rounds: int
    precision: float | None = None
    seconds: float | None = None

    @property
    def most(self) -> int:
        """Rounds at most."""
        return self.rounds if self.precision is None else max(self.rounds, MOST)


@dataclass(slots=True)
class Budget:
    """Time shared among cells: each may use an equal part of what is left. Times are seconds on the
    clock."""

    until: Until
    cells: int
    clock: Callable[[], float] = time.monotonic
    _ends: float | None = field(init=False, default=None)
    _cell_ends: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.until.seconds is not None:
            self._ends = self.clock() + self.until.seconds

    def begin(self) -> None:
        """A cell begins."""
        if self._ends is not None:
            now = self.clock()
            self._cell_ends = now + max(0.0, self._ends - now) / max(1, self.cells)
        self.cells -= 1

    def again(self) -> None:
        """The cell that began last begins anew."""
        self.cells += 1
        self.begin()

    def enough(self, rounds: int, *estimates: Estimate | None) -> bool:
        """Whether the cell has had enough, after so many rounds, by the time or by what it shows.
        One round there is always."""
        if rounds >= self.until.most:
            return True
        if self._cell_ends is not None and rounds and self.clock() >= self._cell_ends:
            return True
        wanted = self.until.precision
        if wanted is None or rounds < LEAST_PAIRS:
            return False
        known = [each for each in estimates if each is not None]
        return bool(known) and max(each.reach for each in known) <= wanted


def block(ways: Sequence[str], dice: random.Random) -> list[str]:
    """The ways of a round in a random order: whatever changes with time, or is left behind by the
    way before, meets each of them alike."""
    order = list(ways)
    dice.shuffle(order)
    return order


def blocks(ways: Sequence[str], seed: int) -> Iterator[list[str]]:
    """Round after round, without end; the same for the same seed."""
    dice = random.Random(seed)
    while True:
        yield block(ways, dice)


def progress(rounds: int, effect: Estimate | None, control: Estimate | None) -> str:
    """What is known of a cell so far, in a line."""
    said = [f"{rounds} round{'s' * (rounds != 1)}"]
    for name, each in (("", effect), ("control ", control)):
        if each is not None:
            said.append(f"{name}{each.value:.3f} ±{each.reach:.3f}")
    return ", ".join(said)
