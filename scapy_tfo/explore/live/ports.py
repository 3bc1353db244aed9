"""Hands out a client's address and port for each schedule, and the port beside it."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.deeds import KINDS as DEEDS
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.ends.context import context_of
from scapy_tfo.explore.live.site import Site
from scapy_tfo.segment import Address

MARKS = ("too-big",)
"""Kinds of wrong segments that a host remembers of the address that they come from."""

_REST, _FOREIGN_REST = 2.0, 4.0
"""Seconds after which nothing of a port's last use is still on its way."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a schedule comes from. both: its port, and the one beside it where that was to be
    had."""

    source: Address
    sport: int
    both: tuple[int, ...]


def leaves_a_mark(schedule: Schedule) -> bool:
    """Whether a host remembers something of the address that it comes from."""
    besides = [DEEDS[each.kind].beside for each in schedule.deeds]
    if schedule.wrong is not None:
        besides.append(schedule.wrong.kind)
    return any(each.startswith(MARKS) for each in besides)


class Ends:
    """Those of a site. A port comes back as late as the batch can make it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._turn = 0
        self._resting: deque[tuple[float, Taken]] = deque()

    def take(self, schedule: Schedule, now: float) -> Taken | None:
        """Ends for a schedule, None where ports have run short for now."""
        self._wake(now)
        site = self._site
        family = context_of(schedule.context).family
        sources = (site.spare if leaves_a_mark(schedule) else site.sources)[family]
        self._turn += 1
        source = sources[self._turn % len(sources)]
        try:
            sport = site.batch.reserve_port(source)
        except SetupError:
            return None
        both = [sport]
        with suppress(SetupError):
            site.batch.reserve_port(source, sport ^ 1)
            both.append(sport ^ 1)
        return Taken(source, sport, tuple(both))

    def give(self, taken: Taken, now: float) -> None:
        """They can be had again, after a rest."""
        rest = _REST if self._site.ours else _FOREIGN_REST
        self._resting.append((now + rest, taken))

    def _wake(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            _, taken = self._resting.popleft()
            for port in taken.both:
                self._site.batch.release_port(taken.source, port)
