"""Reduces a program that shows a violation: delta debugging over steps, then over fields.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002). The candidates of
a round are handed over together, so that a target can run many of them at a time.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from scapy_tfo.program import splice
from scapy_tfo.program.program import (
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

Answer = TypeVar("Answer")
_Part = Generator[list[Program], Sequence[bool], Answer]

_ENDS = ("reset", "leave", "finish")
assert set(_ENDS) == set(ENDS)


Reduction = Generator[list[Program], Sequence[bool], Program]
"""Yields programs to run, takes which of them still show the violation, returns the smallest."""


def reduced(program: Program, trial: Trial, most: int = MOST_RUNS) -> Program:
    """The smallest program found that still shows it; the program itself where none is.

    most: programs that are run at most.
    """
    (found,) = reduced_together(
        [reduction(program, most)], lambda some: trial([each for _, each in some])
    )
    return found


def reduction(program: Program, most: int = MOST_RUNS) -> Reduction:
    """As `reduced`, for whoever runs the programs of several at a time."""
    return _Search(replace(program, origin=""), most).run()


def reduced_together(
    reductions: Sequence[Reduction],
    trial: Callable[[Sequence[tuple[int, Program]]], Sequence[bool]],
    until: float = math.inf,
) -> list[Program]:
    """The results of several reductions, whose programs are run together.

    trial: runs programs, each with the number of its reduction. until: when, by the monotonic
    clock, the smallest programs so far have to do.
    """
    found: dict[int, Program] = {}
    answers: dict[int, Sequence[bool] | None] = dict.fromkeys(range(len(reductions)))
    while answers:
        wanted: dict[int, list[Program]] = {}
        for number, answer in answers.items():
            try:
                each = reductions[number]
                if answer is None:
                    wanted[number] = next(each)
                elif time.monotonic() < until:
                    wanted[number] = each.send(answer)
                else:
                    each.throw(_SpentError())
            except StopIteration as ended:
                found[number] = ended.value
        programs = [(number, each) for number, some in wanted.items() for each in some]
        shown = iter(trial(programs) if programs else ())
        answers = {number: [next(shown) for _ in some] for number, some in wanted.items()}
    return [found[number] for number in range(len(reductions))]


def size(program: Program) -> tuple[int, int, int, int, int]:
    """What is reduced, the most important first: steps, flows, how it ends, all that is said, and
    bytes of text."""
    said = len(dumps(replace(program, origin="", end=_ENDS[0])))
    text = sum(each.size for each in program.steps if isinstance(each, Send))
    return len(program.steps), len(program.flows), _ENDS.index(program.end), said, text


class _SpentError(Exception):
    """No run is left."""


class _Search:
    """Each change that is kept makes the program smaller, so that this ends."""

    def __init__(self, program: Program, most: int) -> None:
        self.best = program
        self._left = most
        self._tried: set[Program] = set()

    def run(self) -> Reduction:
        try:
            yield from self._steps()
            while (yield from self._simplify()):
                yield from self._steps()
        except _SpentError:
            pass
        return self.best

    def _steps(self) -> _Part[None]:
        """Drop steps: halves, quarters and so on down to single ones, all in one round; then all
        those at once that can go one by one."""
        while len(self.best.steps) > 1:
            before = self.best
            cuts = list(_chunks(len(before.steps)))
            shown = yield from self._try([self._without(before, cut) for cut in cuts])
            single = [
                cut[0] for cut, each in zip(cuts, shown, strict=True) if each and len(cut) == 1
            ]
            self._take(shown)
            if len(single) > 1:
                # Without the first one, the first two, and so on: the longest that shows it.
                some = [self._without(before, single[:stop]) for stop in range(2, len(single) + 1)]
                self._take((yield from self._try(some)))
            if self.best == before:
                return

    def _simplify(self) -> _Part[bool]:
        """Make fields plain, all those at once that can be made so one by one; whether any was."""
        before = self.best
        changes = list(_changes(before))
        shown = yield from self._try([change(before) for _, change in changes])
        # Of the ways to change one field the first is the plainest.
        good: dict[Place, Change] = {}
        for (place, change), found in zip(changes, shown, strict=True):
            if found is not None:
                good.setdefault(place, change)
        self._take(shown)
        some, together = [], before
        for change in good.values():
            together = change(together) or together
            some.append(together)
        self._take((yield from self._try(some)))
        return self.best != before

    @staticmethod
    def _without(program: Program, cut: Collection[int]) -> Program:
        kept = [step for at, step in enumerate(program.steps) if at not in cut]
        return splice.without_idle_flows(splice.with_steps(program, kept))

    def _take(self, shown: Sequence[Program | None]) -> None:
        """Go on with the smallest of those that show it."""
        self.best = min([self.best, *filter(None, shown)], key=size)

    def _try(self, candidates: Sequence[Program | None]) -> _Part[list[Program | None]]:
        """Each candidate where it shows the violation and is smaller, else None."""
        now = size(self.best)
        worth = dict.fromkeys(
            each
            for each in candidates
            if each is not None and each not in self._tried and _is_fit(each) and size(each) < now
        )
        programs = list(worth)[: self._left]
        if not programs:
            if not self._left:
                raise _SpentError
            return [None] * len(candidates)
        self._left -= len(programs)
        answers = yield programs
        shown = {program for program, shows in zip(programs, answers, strict=True) if shows}
        # One that showed nothing is not run again; what did may be, beside other changes.
        self._tried |= set(programs) - shown
        return [each if each in shown else None for each in candidates]


def _chunks(steps: int) -> Iterator[range]:
    """Halves, quarters and so on of the places of some steps, down to single ones."""
    parts = 2
    while parts < steps:
        bounds = [each * steps // parts for each in range(parts + 1)]
        yield from (range(*each) for each in pairwise(bounds))
        parts *= 2
    yield from (range(at, at + 1) for at in range(steps))


Change = Callable[[Program], Program | None]
"""Makes one thing of a program plain; None where it does not apply any more."""

Place = tuple[object, ...]
"""What of a program a change is about."""


def _is_fit(program: Program) -> bool:
    try:
        check(program)
    except ProgramError:
        return False
    return bool(program.steps)


def _changes(program: Program) -> Iterator[tuple[Place, Change]]:
    """All single changes that make a program plainer; of one place the plainest first."""
    yield ("flows",), splice.without_idle_flows
    for end in _ENDS[: _ENDS.index(program.end)]:
        yield ("end",), partial(replace, end=end)
    for at, flow in enumerate(program.flows):
        for field, value in _plainer(flow):
            yield ("flow", at, field), _flow_change(at, field, value)
    for at, step in enumerate(program.steps):
        for field, value in _plainer(step):
            if field in ("flow", "reply", "what") or _is_special(step, field, value):
                continue
            change = _size_change(at, value) if field == "size" else _step_change(at, field, value)
            yield ("step", at, field), change
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


def _is_special(step: Step, field: str, value: Any) -> bool:
    """Whether a field would be short, but not plain: no acknowledgement beside the flag, the
    number of the SYN for what is none, a cookie without data."""
    if not isinstance(step, Send):
        return False
    if field == "ack":
        return value is None and "." in step.flags
    if field == "seq":
        return value == 0 and "S" not in step.flags
    with_cookie = any(each.cookie is not None for each in step.options or ())
    return field == "size" and value == 0 and "S" in step.flags and with_cookie


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
    return lambda now: splice.with_step(now, at, replace(now.steps[at], **{field: value}))


def _size_change(at: int, size: int) -> Change:
    """Less text in a segment: in its repetitions as well, and what follows it moves up."""

    def change(now: Program) -> Program | None:
        first = now.steps[at]
        if not isinstance(first, Send) or first.size <= size:
            return None
        end = first.seq + ("S" in first.flags) + first.size
        steps: list[Step] = []
        for place, step in enumerate(now.steps):
            if isinstance(step, Send) and step.flow == first.flow:
                if (step.seq, step.size) == (first.seq, first.size):
                    step = replace(step, size=size)
                elif place > at and step.seq >= end:
                    step = replace(step, seq=step.seq - first.size + size)
            steps.append(step)
        return splice.with_steps(now, steps)

    return change


def _options_change(
    at: int, change_options: Callable[[tuple[Option, ...]], tuple[Option, ...] | None]
) -> Change:
    def change(now: Program) -> Program | None:
        step = now.steps[at]
        if not isinstance(step, Send) or not step.options:
            return None
        options = change_options(step.options)
        return (
            None if options is None else splice.with_step(now, at, replace(step, options=options))
        )

    return change
