"""Schedules that went wrong among many: by their causes, and which of them are played again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from scapy_tfo.explore.conversation.run import Problem, outcome
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.explorer import Found
from scapy_tfo.explore.live.causes import cause_of, without_wrong
from scapy_tfo.explore.live.play import LivePlay

MOST = 4
"""Schedules of one cause that are played again in calm; the others are only counted."""
TIMES, CONFIRMED = 4, 2
"""Times that they are, and that it has to show: which packet a fault befalls depends on how quickly
an application answers."""


@dataclass(slots=True)
class _Suspect:
    """One that is played again. begun, ended: how often it was. found: as often as it showed."""

    schedule: Schedule
    cause: str
    begun: int = 0
    ended: int = 0
    found: list[Found] = field(default_factory=list)

    @property
    def is_confirmed(self) -> bool:
        return len(self.found) >= CONFIRMED

    @property
    def can_be(self) -> bool:
        """Whether it may still show often enough."""
        return len(self.found) + TIMES - self.ended >= CONFIRMED


class Suspects:
    """Schedules that went wrong, with what was wrong with them."""

    def __init__(self) -> None:
        self._by_cause: dict[str, list[Schedule]] = {}
        self._bare: Counter[tuple[Schedule, str]] = Counter()

    @property
    def causes(self) -> int:
        """How many there are."""
        return len(self._by_cause)

    def add(self, problem: Problem, schedule: Schedule) -> None:
        """Note one."""
        self._by_cause.setdefault(cause_of(problem, schedule), []).append(schedule)

    def bare(self) -> list[Schedule]:
        """The smallest of each cause that has a wrong segment, without that segment, in turn as
        often as it takes to believe them."""
        some = dict.fromkeys(
            replace(each, wrong=None)
            for some in self._by_cause.values()
            for each in _smallest(some)
            if each.wrong is not None
        )
        return list(some) * CONFIRMED

    def needs_none(self, schedule: Schedule, problems: list[Problem]) -> None:
        """What a schedule shows without the wrong segment that others have. If it does so
        `CONFIRMED` times they are of its cause: not what follows such a segment is wrong then."""
        for shown in dict.fromkeys(cause_of(each, schedule) for each in problems):
            self._bare[schedule, shown] += 1
            if self._bare[schedule, shown] == CONFIRMED:
                self._join(schedule, shown)

    def _join(self, schedule: Schedule, shown: str) -> None:
        for cause, some in list(self._by_cause.items()):
            same = any(replace(each, wrong=None) == schedule for each in _smallest(some))
            if same and cause != shown and without_wrong(cause) == shown:
                self._by_cause.setdefault(shown, []).extend([schedule] * len(some))
                del self._by_cause[cause]

    def again(self, seconds: float) -> Again:
        """Those that are to be played again, within so many seconds; they are forgotten here."""
        some, self._by_cause = self._by_cause, {}
        self._bare.clear()
        return Again(some, seconds)


class Again:
    """The plays that confirm what went wrong."""

    def __init__(self, by_cause: dict[str, list[Schedule]], seconds: float) -> None:
        self._counts = {cause: len(some) for cause, some in by_cause.items()}
        self._all = {
            schedule: _Suspect(schedule, cause)
            for cause, some in by_cause.items()
            for schedule in _smallest(some)
        }
        self._done: set[str] = set()
        self._seconds = seconds

    def schedules(self) -> Iterator[Schedule]:
        """Each in turn, as long as it may still show often enough, and no other of its cause has.

        The smallest of each cause comes first. To be taken from while what was taken is played.
        """
        end = time.monotonic() + self._seconds
        for _ in range(TIMES):
            for each in sorted(self._all.values(), key=lambda one: one.schedule.size):
                if time.monotonic() >= end:
                    return
                if each.cause not in self._done and each.can_be and not each.is_confirmed:
                    each.begun += 1
                    yield each.schedule

    def played(self, play: LivePlay, problems: list[Problem]) -> None:
        """What one showed."""
        suspect = self._all[play.schedule]
        suspect.ended += 1
        for each in problems:
            if cause_of(each, play.schedule) == suspect.cause:
                found = Found(each, play.schedule, packets=play.packets)
                found.outcome = outcome(play.run)
                found.count = self._counts[suspect.cause]
                suspect.found.append(found)
                break
        if suspect.is_confirmed:
            self._done.add(suspect.cause)

    @property
    def confirmed(self) -> list[Found]:
        """What showed often enough."""
        return [each.found[0] for each in self._all.values() if each.is_confirmed]

    @property
    def begun(self) -> int:
        """Schedules that were played again."""
        return sum(each.begun > 0 for each in self._all.values())

    @property
    def excused(self) -> int:
        """Those that were right then."""
        return sum(not each.can_be for each in self._all.values())

    @property
    def undecided(self) -> int:
        """Causes that there was no time for."""
        open_ones = {each.cause for each in self._all.values() if each.can_be}
        return len(open_ones - self._done)


def _smallest(some: list[Schedule]) -> list[Schedule]:
    return sorted(dict.fromkeys(some), key=lambda one: one.size)[:MOST]
