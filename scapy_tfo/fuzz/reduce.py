"""The least program that still shows a violation: delta debugging over steps, then over fields.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002). The candidates of
a round are handed over together, so that a target which answers many flows at a time does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from scapy_tfo.fuzz import surgery
from scapy_tfo.fuzz.program import (
    ENDS,
    Flow,
    Option,
    Program,
    ProgramError,
    Send,
    Step,
    check,
    dumps,
)

Trial = Callable[[Sequence[Program]], Sequence[bool]]
"""Runs programs, and says of each whether it still shows the violation."""

MOST_RUNS = 600
"""Programs that one reduction may run."""

_ENDS = ("reset", "leave", "finish")
assert set(_ENDS) == set(ENDS)


class _SpentError(Exception):
    """No run is left."""


def reduced(program: Program, trial: Trial, most: int = MOST_RUNS) -> Program:
    """The smallest program found that still shows it; the program itself where none is.

    most: programs that are run at most. Each change that is kept makes the program smaller, so
    that this ends.
    """
    search = _Search(replace(program, origin=""), trial, most)
    try:
        search.steps()
        while search.simplify():
            search.steps()
    except _SpentError:
        pass
    return search.best


def size(program: Program) -> tuple[int, int, int, int]:
    """What is reduced, the most important first: steps, flows, how it ends, all that is said."""
    text = dumps(replace(program, origin="", end=_ENDS[0]))
    return len(program.steps), len(program.flows), _ENDS.index(program.end), len(text)


class _Search:
    def __init__(self, program: Program, trial: Trial, most: int) -> None:
        self.best = program
        self._trial = trial
        self._left = most
        self._tried: set[Program] = set()

    def steps(self) -> None:
        """Drop steps, in halves, quarters and so on down to single ones (ddmin)."""
        parts = 2
        while len(self.best.steps) > 1:
            steps = self.best.steps
            parts = min(parts, len(steps))
            bounds = [each * len(steps) // parts for each in range(parts + 1)]
            chunks = [range(*each) for each in pairwise(bounds)]
            alone = [[steps[at] for at in chunk] for chunk in chunks] if parts > 2 else []
            rest = [[step for at, step in enumerate(steps) if at not in chunk] for chunk in chunks]
            found = self._first(_of_steps(self.best, each) for each in [*alone, *rest])
            if found is not None:
                parts = 2 if len(found.steps) <= len(steps) // 2 else max(parts - 1, 2)
                self.best = found
            elif parts == len(steps):
                return
            else:
                parts *= 2

    def simplify(self) -> bool:
        """Make fields plain, all those at once that can be made so one by one; whether any was."""
        changes = list(_changes(self.best))
        shown = self._run([change(self.best) for _, change in changes])
        # Of the ways to change one field the first is the plainest.
        good: dict[Place, Change] = {}
        for (place, change), found in zip(changes, shown, strict=True):
            if found is not None:
                good.setdefault(place, change)
        if not good:
            return False
        together = self.best
        for change in good.values():
            together = _applied(together, change)
        if self._first([together]) is not None:
            self.best = together
            return True
        for change in good.values():
            plainer = self._first([_applied(self.best, change)])
            if plainer is not None:
                self.best = plainer
        return True

    def _first(self, candidates: Iterable[Program]) -> Program | None:
        """The smallest of those that show it and are smaller than the best so far."""
        found = [each for each in self._run(list(candidates)) if each is not None]
        return min(found, key=size, default=None)

    def _run(self, candidates: Sequence[Program | None]) -> list[Program | None]:
        """Each candidate where it shows the violation, else None."""
        now = size(self.best)
        worth = [
            each is not None and each not in self._tried and _is_fit(each) and size(each) < now
            for each in candidates
        ]
        unique = list(
            dict.fromkeys(each for each, run in zip(candidates, worth, strict=True) if run)
        )
        programs = [each for each in unique if each is not None][: self._left]
        if not programs:
            if not self._left:
                raise _SpentError
            return [None] * len(candidates)
        self._left -= len(programs)
        shown = {
            program for program, shows in zip(programs, self._trial(programs), strict=True) if shows
        }
        # One that showed nothing is not run again; what did may be, beside other changes.
        self._tried |= set(programs) - shown
        return [each if each in shown else None for each in candidates]


Change = Callable[[Program], Program | None]
"""Makes one thing of a program plain; None where it does not apply any more."""

Place = tuple[object, ...]
"""What of a program a change is about."""


def _applied(program: Program, change: Change) -> Program:
    return change(program) or program


def _of_steps(program: Program, steps: Sequence[Step]) -> Program:
    return surgery.without_idle_flows(surgery.with_steps(program, steps))


def _is_fit(program: Program) -> bool:
    try:
        check(program)
    except ProgramError:
        return False
    return bool(program.steps)


def _changes(program: Program) -> Iterator[tuple[Place, Change]]:
    """All single changes that make a program plainer; of one place the plainest first."""
    yield ("flows",), surgery.without_idle_flows
    for end in _ENDS[: _ENDS.index(program.end)]:
        yield ("end",), partial(replace, end=end)
    for at, flow in enumerate(program.flows):
        for field, value in _plainer(flow):
            yield ("flow", at, field), _flow_change(at, field, value)
    for at, step in enumerate(program.steps):
        for field, value in _plainer(step):
            if field not in ("flow", "reply", "what"):
                yield ("step", at, field), _step_change(at, field, value)
        if isinstance(step, Send):
            for place, option in enumerate(step.options or ()):
                for number, swap in enumerate(_plainer_options(place, option)):
                    yield ("option", at, place, number), _options_change(at, swap)


def _plainer(held: Flow | Step) -> Iterator[tuple[str, Any]]:
    """Fields and values for them: the default, and for numbers what lies in between."""
    for field in dataclasses.fields(held):
        value = getattr(held, field.name)
        if value == field.default:
            continue
        yield field.name, field.default
        if field.name == "flags":
            yield from ((field.name, value.replace(each, "")) for each in value)
        elif isinstance(value, int) and not isinstance(value, bool):
            middle = sorted({1, 10, 100, 1000, value // 2}, key=abs)
            yield from ((field.name, each) for each in middle if abs(each) < abs(value))


def _plainer_options(
    place: int, option: Option
) -> Iterator[Callable[[tuple[Option, ...]], tuple[Option, ...] | None]]:
    """Ways to shorten a list of options at one place, where it still holds this option."""

    def swap(*instead: Option) -> Callable[[tuple[Option, ...]], tuple[Option, ...] | None]:
        def change(options: tuple[Option, ...]) -> tuple[Option, ...] | None:
            # Others before it may have gone: it is looked for where it can be now.
            for at in range(min(place, len(options) - 1), -1, -1):
                if options[at] == option:
                    return (*options[:at], *instead, *options[at + 1 :])
            return None

        return change

    yield swap()
    for field in dataclasses.fields(option):
        value = getattr(option, field.name)
        if field.name not in ("name", "cookie") and value != field.default:
            plain: Any = field.default
            yield swap(replace(option, **{field.name: plain}))
    if option.data:
        yield swap(replace(option, data=option.data[: len(option.data) // 2]))
    cookie = option.cookie
    if cookie is not None:
        yield swap(replace(option, cookie=None))
        for at in range(len(cookie.edits)):
            edits = cookie.edits[:at] + cookie.edits[at + 1 :]
            yield swap(replace(option, cookie=replace(cookie, edits=edits)))
        yield swap(replace(option, cookie=replace(cookie, of="own")))


def _flow_change(at: int, field: str, value: Any) -> Change:
    def change(now: Program) -> Program | None:
        if at >= len(now.flows):
            return None
        flow = replace(now.flows[at], **{field: value})
        return replace(now, flows=(*now.flows[:at], flow, *now.flows[at + 1 :]))

    return change


def _step_change(at: int, field: str, value: Any) -> Change:
    return lambda now: surgery.with_step(now, at, replace(now.steps[at], **{field: value}))


def _options_change(
    at: int, change_options: Callable[[tuple[Option, ...]], tuple[Option, ...] | None]
) -> Change:
    def change(now: Program) -> Program | None:
        step = now.steps[at]
        if not isinstance(step, Send) or not step.options:
            return None
        options = change_options(step.options)
        return (
            None if options is None else surgery.with_step(now, at, replace(step, options=options))
        )

    return change
