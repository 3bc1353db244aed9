"""Makes programs by mutating those that reached something new."""

from __future__ import annotations

import dataclasses
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from scapy_tfo.program import splice
from scapy_tfo.program.fingerprint import mix, text_hash
from scapy_tfo.program.program import (
    CLIENTS,
    ENDS,
    MAX_FLOWS,
    PORTS,
    Cookie,
    Flow,
    Option,
    Program,
    ProgramError,
    Send,
    check,
)

MOST_SENDS = 30
"""Segments in a mutated program."""

_POINTS = 4
_MOST_EDITS = 3
_NUDGES = (-1460, -2, -1, 1, 2, 1460)
_NUMBERS = ("seq", "size", "window", "urgent")
_LARGEST = 65535
_LETTERS = "SFRP.UEW"


class Ring:
    """Parents, chosen so that one more or less changes little.

    Each has points on a circle of 64 bits; a number has the parent of the next point. On a target
    whose answers vary, only the children of what varies vary with it. hashed: the parents, by 64
    bits that are theirs. other: a ring whose parents these join.
    """

    def __init__(self, hashed: Mapping[int, Program], other: Ring | None = None) -> None:
        points: list[tuple[int, int, Program]] = [
            (mix(held + point), held, program)
            for held, program in hashed.items()
            for point in range(_POINTS)
        ]
        points += other._points if other is not None else []
        points.sort(key=lambda point: point[:2])
        self._points: list[tuple[int, int, Program]] = points
        self._places = [place for place, _, _ in points]

    def __bool__(self) -> bool:
        return bool(self._places)

    def choose(self, seed: int) -> tuple[Program, int]:
        """The parent of a seed's program, and its hash. Raises IndexError where there is none."""
        at = bisect(self._places, mix(seed))
        _, held, program = self._points[at if at < len(self._points) else 0]
        return program, held


class Corpus:
    """Programs that a campaign begins with, by what they were first to reach.

    names: of what they reached. ring: of them as parents; empty where there are none.
    """

    def __init__(self, programs: Mapping[str, Program] | None = None) -> None:
        self.names = frozenset(programs or ())
        every = (programs or {}).values()
        self.ring = Ring({text_hash(repr(program)): program for program in every})


def mutated(parent: Program, other: Program, seed: int) -> Program:
    """A program like its parent, with parts of another: a function of the three, and valid."""
    random = Random(seed)
    program = replace(parent, origin="mutated")
    for _ in range(random.randint(1, _MOST_EDITS)):
        changed = random.choice(_EDITS)(program, other, random)
        if _is_fit(changed):
            program = changed
    return program


def _is_fit(program: Program) -> bool:
    try:
        check(program)
    except ProgramError:
        return False
    return 1 <= program.sends <= MOST_SENDS


def _drop(program: Program, _: Program, random: Random) -> Program:
    at = random.randrange(len(program.steps))
    return splice.with_steps(program, program.steps[:at] + program.steps[at + 1 :])


def _repeat(program: Program, _: Program, random: Random) -> Program:
    step, steps = random.choice(program.steps), list(program.steps)
    steps.insert(random.randint(0, len(steps)), step)
    return splice.with_steps(program, steps)


def _move(program: Program, _: Program, random: Random) -> Program:
    steps = list(program.steps)
    step = steps.pop(random.randrange(len(steps)))
    steps.insert(random.randint(0, len(steps)), step)
    return splice.with_steps(program, steps)


def _splice(program: Program, other: Program, random: Random) -> Program:
    """The other's steps on flows of their own, from some place on, in between or behind."""
    if len(program.flows) + len(other.flows) > MAX_FLOWS:
        return program
    flows, theirs = splice.joined(program, other)
    at = random.randint(0, len(program.steps))
    steps = [*program.steps[:at], *theirs, *program.steps[at:]]
    return splice.without_idle_flows(replace(program, flows=flows, steps=tuple(steps)))


def _graft(program: Program, other: Program, random: Random) -> Program:
    """One step of the other's on a flow of ours."""
    step = random.choice(other.steps)
    flow = random.randrange(len(program.flows))
    step = splice.renumbered(step, dict.fromkeys(range(len(other.flows)), flow))
    steps = list(program.steps)
    steps.insert(random.randint(0, len(steps)), step)
    return splice.with_steps(program, steps)


def _flip_flag(program: Program, _: Program, random: Random) -> Program:
    at, send = _some_send(program, random)
    letter = random.choice(_LETTERS)
    flags = send.flags.replace(letter, "") if letter in send.flags else send.flags + letter
    return splice.with_step(program, at, replace(send, flags=flags))


def _nudge(program: Program, _: Program, random: Random) -> Program:
    """A number of a segment a little off, or at half."""
    at, send = _some_send(program, random)
    name = random.choice(_NUMBERS)
    held = getattr(send, name)
    value = held // 2 if random.random() < 0.25 else held + random.choice(_NUDGES)
    value = value if name == "seq" else min(max(value, 0), _LARGEST)
    return splice.with_step(program, at, replace(send, **{name: value}))


def _borrow(program: Program, other: Program, random: Random) -> Program:
    """One field of a segment as the other has it: the grammar's own values, elsewhere."""
    at, send = _some_send(program, random)
    _, theirs = _some_send(other, random)
    name = random.choice(_FIELDS)
    value = getattr(theirs, name)
    if name == "options" and value is not None:
        flows = dict.fromkeys(range(len(other.flows)), send.flow)
        moved = splice.renumbered(theirs, flows)
        assert isinstance(moved, Send)
        value = moved.options
    return splice.with_step(program, at, replace(send, **{name: value}))


def _change_options(program: Program, _: Program, random: Random) -> Program:
    """One option less, twice, elsewhere, with another kind or a wrong length."""
    at, send = _some_send(program, random)
    if not send.options:
        return program
    options = list(send.options)
    place = random.randrange(len(options))
    option = options.pop(place)
    match random.randrange(5):
        case 1:
            options[place:place] = [option, option]
        case 2:
            options.insert(random.randint(0, len(options)), option)
        case 3:
            options.insert(place, replace(option, kind=random.choice((34, 253, 254))))
        case 4:
            options.insert(place, replace(option, length=random.choice((0, 1, 2, 3, 255))))
    return splice.with_step(program, at, replace(send, options=tuple(options)))


def _change_cookie(program: Program, _: Program, random: Random) -> Program:
    """Another origin of a cookie, or an edit more or less."""
    at, send = _some_send(program, random)
    places = [place for place, each in enumerate(send.options or ()) if each.name == "fo"]
    if not places or not send.options:
        return program
    place = random.choice(places)
    option = send.options[place]
    cookie = option.cookie or Cookie()
    match random.randrange(4):
        case 0:
            changed: Cookie | None = None
        case 1:
            changed = Cookie(random.choice(("own", "other")), cookie.edits)
        case 2:
            changed = replace(cookie, edits=cookie.edits[:-1])
        case _:
            edit = random.choice(("flip", "cut", "pad")), random.randint(0, 16)
            changed = replace(cookie, edits=(*cookie.edits[-2:], edit))
    options: list[Option] = list(send.options)
    options[place] = replace(option, cookie=changed)
    return splice.with_step(program, at, replace(send, options=tuple(options)))


def _change_flow(program: Program, other: Program, random: Random) -> Program:
    at = random.randrange(len(program.flows))
    flow = program.flows[at]
    match random.randrange(4):
        case 0:
            changed = replace(flow, port=random.choice(PORTS))
        case 1:
            changed = replace(flow, client=random.randrange(CLIENTS))
        case 2:
            changed = replace(flow, isn=random.choice(other.flows).isn)
        case _:
            changed = replace(flow, sport_of=random.randrange(at) if at else None)
    flows: list[Flow] = list(program.flows)
    flows[at] = changed
    return replace(program, flows=tuple(flows))


def _change_end(program: Program, _: Program, random: Random) -> Program:
    return replace(program, end=random.choice(ENDS))


def _some_send(program: Program, random: Random) -> tuple[int, Send]:
    sends = [(at, step) for at, step in enumerate(program.steps) if isinstance(step, Send)]
    return random.choice(sends) if sends else (0, Send())


_EDITS: tuple[Callable[[Program, Program, Random], Program], ...] = (
    *(_drop, _repeat, _move, _splice, _graft, _flip_flag, _nudge, _borrow, _borrow),
    *(_change_options, _change_cookie, _change_flow, _change_end),
)
_FIELDS = tuple(each.name for each in dataclasses.fields(Send) if each.name != "flow")
