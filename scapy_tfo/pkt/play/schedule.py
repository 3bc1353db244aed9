"""Computes when a script's events are due, and checks that what came was on time.

All times are whole nanoseconds of the clock that the kernel stamps packets with. An action of the
script itself happened somewhere between an earliest and a latest moment: its effects are early only
as measured from the earliest, and late only as measured from the latest. So the kernel is not
blamed if the script had to wait for the processor.
"""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.pkt.language.tree import Clock, Time
from scapy_tfo.pkt.packets.difference import Difference

_SHARP, _USUAL = 500_000, 4_000_000
"""ns: the shortest time that scripts are written in, rounded; and the tolerance of a script that
asks for none."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something happened between these two."""

    earliest: int
    latest: int


NEVER = Span(0, -1)


@dataclass(frozen=True, slots=True)
class Window:
    """When something should happen; what is wrong by up to `tolerance` is forgiven.

    grain: by how much a timer may be late at its best, ns; forgiven too. at_once: while an
    action was carried out: what comes then was caused by it. sharp: how early that may be.
    """

    earliest: int
    latest: int
    tolerance: int
    grain: int = 0
    at_once: Span = NEVER
    sharp: int = 0

    def is_early(self, when: int) -> bool:
        """It happened before its time."""
        is_caused = self.at_once.earliest <= when <= self.at_once.latest
        tolerance = self.sharp if is_caused else self.tolerance
        return when < self.earliest - tolerance

    def is_late(self, when: int) -> bool:
        """It happened after its time."""
        return when > self.latest + self.tolerance + self.grain

    def misses(self, when: int) -> bool:
        """It is too early or too late."""
        return self.is_early(when) or self.is_late(when)


class Timeline:
    """The run of one script. tolerance: ns. share: of the time since the event before.

    tick: ns from one of the kernel's ticks to the next, 0: of a kernel on another host. A timer
    that is set for one tick ends between one and two of them later. What this host's kernel sends
    while an action is carried out was caused by it, and not by a timer that is early.
    """

    def __init__(self, tolerance: int, share: float, tick: int = 0) -> None:
        self._tolerance = tolerance
        # Who asks for more than usual gets it.
        self._sharp = _SHARP if tolerance <= _USUAL else tolerance
        self._grain = 2 * tick
        self._share = share
        self._start = 0
        self._before = Span(0, 0)
        self._acting = NEVER
        self._began = 0
        self._script_before = 0
        self._own_due: int | None = None
        self._slip = 0

    def begin(self, now: int) -> None:
        """The first event happens."""
        self._start = now
        self._before = Span(now, now)

    def since_start(self, when: int) -> int:
        """ns since the first event."""
        return when - self._start

    @property
    def slip(self) -> int:
        """By how much, at most, the script's own actions have been late."""
        return self._slip

    def due(self, time: Time, *, packet: bool = False) -> int:
        """When to act. packet: one to send: many of these in a row keep step with each other."""
        if time.clock is Clock.AT:
            return self._start + time.earliest
        base = self._before.latest
        if packet and self._own_due is not None:
            base = self._own_due
        return base + (time.earliest if time.clock is Clock.AFTER else 0)

    def acted(self, time: Time, due: int, span: Span, *, packet: bool = False) -> None:
        """The script did what was due then, in this span of time. packet: see `due`."""
        self._slip = max(self._slip, span.latest - due)
        self._own_due = due if packet else None
        self._began = span.earliest
        if self._grain:
            self._acting = span
        self._passed(time, Span(min(due, span.earliest) if packet else span.earliest, span.latest))

    def came(self, time: Time, when: int) -> None:
        """What the script waited for came then."""
        self._own_due = None
        self._began = when
        self._passed(time, Span(when, when))

    def window(self, time: Time) -> Window | None:
        """When an event should happen, None: at any time."""
        return self.window_to(time, time.earliest, time.latest)

    def window_to(self, time: Time, earliest: int, latest: int | None = None) -> Window | None:
        """When something should happen that the script says by the clock of that event.

        earliest, latest: ns by that clock; None: the same.
        """
        if time.clock is Clock.WHENEVER:
            return None
        latest = earliest if latest is None else latest
        if time.clock is Clock.AFTER:
            tolerance = self._tolerated(earliest)
            first, last = self._before.earliest + earliest, self._before.latest + latest
            sharp = min(tolerance, self._sharp)
            return Window(first, last, tolerance, self._grain, self._acting, sharp)
        tolerance = self._tolerated(earliest - self._script_before)
        last = self._start + latest + self._slip
        return Window(self._start + earliest, last, tolerance, self._grain)

    @property
    def began(self) -> int:
        """When the last event happened at the earliest, whatever it keeps step with."""
        return self._began

    def silent_from(self, time: Time) -> int:
        """From when on a silence that begins then forbids packets, ns; 0: from ever.

        What the event before it caused is in the silence, even if it came before the event was
        over. Where no time lies between the two, so is all that came earlier.
        """
        window = self.window(time)
        if window is None or self.due(time) <= self._before.latest:
            return 0
        return window.earliest

    def lateness(self, window: Window | None, when: int) -> list[Difference]:
        """That something came too early or too late, if it did. window: of `window`."""
        if window is None or not window.misses(when):
            return []
        expected = f"{self.since_start(window.earliest) / 1e9:.6f} s"
        if window.latest - window.earliest > self._tolerance:
            expected += f" to {self.since_start(window.latest) / 1e9:.6f} s"
        return [Difference("time", expected, f"{self.since_start(when) / 1e9:.6f} s")]

    def stamp_tolerance(self, now: int) -> int:
        """ns by which a TS val may be off at this time."""
        return self._tolerated(now - self._start) + self._slip

    def _tolerated(self, distance: int) -> int:
        return max(self._tolerance, int(self._share * distance))

    def _passed(self, time: Time, span: Span) -> None:
        self._before = span
        if time.clock is Clock.AT:
            self._script_before = time.earliest
        else:
            self._script_before = span.latest - self._start
