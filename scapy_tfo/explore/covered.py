"""What an exploration covered: sorts of segments in states, and pairs of what schedules have."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from scapy_tfo.explore.conversation.deeds import KINDS as DEEDS
from scapy_tfo.explore.conversation.met import POSSIBLE, SORTS, STATES, Met
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import FAULTS, LASTING, PIECES, Schedule
from scapy_tfo.explore.conversation.wrong import KINDS
from scapy_tfo.explore.ends.context import FACTORS
from scapy_tfo.explore.ends.opening import USUAL
from scapy_tfo.explore.ends.steps import NAME, is_written_out
from scapy_tfo.explore.stages.deeds import TALKERS
from scapy_tfo.explore.stages.plan import CLIENTS, SERVERS

Level = tuple[str, str]
"""A dimension, and what it is in a schedule."""

_NONE, _ODD = "none", "odd"

DIMENSIONS: dict[str, tuple[str, ...]] = {
    "opening": (*USUAL, _ODD),
    "server": (*SERVERS, NAME),
    "client": (*dict.fromkeys((*CLIENTS, *TALKERS)), NAME),
    "fault": (*FAULTS, *LASTING, *PIECES),
    "second fault": FAULTS,
    "deed": tuple(DEEDS),
    "second deed": tuple(DEEDS),
    "wrong segment": tuple(KINDS),
    **{name: tuple(levels) for name, levels in FACTORS.items()},
}
"""What schedules differ in, each with its levels. A schedule without a fault or a wrong segment has
none of these levels."""


@dataclass(slots=True)
class Covered:
    """met: the number of the schedule that first met it, from 1 on. schedules: so many. together:
    levels of two dimensions that were in one schedule."""

    schedules: int = 0
    met: dict[Met, int] = field(default_factory=dict)
    together: set[tuple[Level, Level]] = field(default_factory=set)
    _rows: set[tuple[Level, ...]] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Take in what a schedule met."""
        self.schedules += 1
        for each in run.met:
            self.met.setdefault(each, self.schedules)
        for row in rows_of(run.schedule):
            if row not in self._rows:
                self._rows.add(row)
                self.together.update(itertools.combinations(row, 2))

    def join(self, other: Covered) -> None:
        """Add what another process covered, which worked at the same time."""
        self.schedules += other.schedules
        self.together |= other.together
        for met, number in other.met.items():
            self.met[met] = min(self.met.get(met, number), number)

    @property
    def holes(self) -> dict[str, tuple[str, ...]]:
        """By state, the sorts of segments that it never met."""
        return {
            state: tuple(sort for sort in SORTS if (state, sort) in POSSIBLE - self.met.keys())
            for state in STATES
        }

    @property
    def growth(self) -> list[tuple[int, int]]:
        """How many had been met after so many schedules, which are powers of two."""
        out, at = [], 1
        while at < 2 * self.schedules:
            upto = min(at, self.schedules)
            out.append((upto, sum(number <= upto for number in self.met.values())))
            at *= 2
        return out

    def pairs(self) -> dict[tuple[str, str], tuple[int, int]]:
        """By two dimensions: how many pairs of their levels met in a schedule, and how many there
        are."""
        counts: dict[tuple[str, str], int] = {}
        for one, two in self.together:
            key = one[0], two[0]
            counts[key] = counts.get(key, 0) + 1
        return {
            (one, two): (counts.get((one, two), 0), len(DIMENSIONS[one]) * len(DIMENSIONS[two]))
            for one, two in itertools.combinations(DIMENSIONS, 2)
        }


def rows_of(schedule: Schedule) -> list[tuple[Level, ...]]:
    """Levels that were together, in the order of the dimensions: each application and the opening
    with the rest, and they with each other."""
    opening = schedule.opening if schedule.opening in USUAL else _ODD
    server, client = (
        NAME if is_written_out(each) else each for each in (schedule.server, schedule.client)
    )
    base = ("opening", opening), ("server", server), ("client", client)
    rest: list[Level] = []
    for name, fault in zip(("fault", "second fault"), schedule.faults, strict=False):
        rest.append((name, fault.kind))
    for name, deed in zip(("deed", "second deed"), schedule.deeds, strict=False):
        rest.append((name, deed.kind))
    if schedule.wrong is not None:
        rest.append(("wrong segment", schedule.wrong.kind))
    odd = dict(schedule.context)
    rest += [(name, odd.get(name, next(iter(levels)))) for name, levels in FACTORS.items()]
    return [base, *((level, *rest) for level in base)]


def table(covered: Covered) -> str:
    """All of it as Markdown: states by sorts of segments, holes, growth, pairs."""
    lines = ["| segment | " + " | ".join(STATES) + " |", "|---|" + "--:|" * len(STATES)]
    for sort in SORTS:
        told = " | ".join(_told(covered, (state, sort)) for state in STATES)
        lines.append(f"| {sort} | {told} |")
    lines += ["", "Each number is that of the first schedule in which a state met a segment;"]
    lines += ["`.` is what no state can meet.", ""]
    for state, sorts in covered.holes.items():
        lines += [f"- {state} never met: {', '.join(sorts)}"] * bool(sorts)
    lines += ["", "```text", *plot(covered), "```", ""]
    lines += ["| dimensions | pairs met | of |", "|---|--:|--:|"]
    pairs = sorted(covered.pairs().items(), key=lambda item: item[1][0] / item[1][1])
    lines += [f"| {one}, {two} | {met:,} | {most:,} |" for (one, two), (met, most) in pairs]
    return "\n".join(lines) + "\n"


def _told(covered: Covered, met: Met) -> str:
    first = covered.met.get(met)
    return f"{first:,}" if first else "-" if met in POSSIBLE else "."


def plot(covered: Covered) -> list[str]:
    """How many segments in states had been met after so many schedules, as bars."""
    most = max((count for _, count in covered.growth), default=1)
    return [
        f"{schedules:>10,} schedules {'#' * round(40 * count / most):<40} {count:>4}"
        for schedules, count in covered.growth
    ]
