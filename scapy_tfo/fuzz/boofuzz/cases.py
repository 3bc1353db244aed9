"""The cases of a boofuzz session: the grammar's programs, divided over a request graph.

A case is a line of JSON, so that boofuzz's log shows what was sent, and anyone can send it again.
It holds a range of program numbers and the node that sends its share of them, the number of a
volley, or a program. This module does not need boofuzz.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo.fuzz.generation.batches import LONG, Maker
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program.program import (
    Cookie,
    Flow,
    Icmp,
    Option,
    Program,
    ProgramError,
    Send,
    Wait,
    dumps,
    from_json,
    waits,
)
from scapy_tfo.shape import sentence

REQUEST, FAST_OPEN, TEARDOWN = "cookie-request", "fast-open", "teardown"
PATIENCE, VOLLEY = "patience", "volley"

PATHS: dict[str, tuple[str, ...]] = {
    REQUEST: (),
    FAST_OPEN: (REQUEST,),
    TEARDOWN: (REQUEST, FAST_OPEN),
    PATIENCE: (REQUEST, FAST_OPEN),
    VOLLEY: (),
}
"""Nodes of the request graph, with those that go before them in a case, sent as they should be."""

PATIENT_SHARE = 8
"""Blocks whose long waits make one case: it takes as long as the longest, however many they are."""

_MSS = Option("mss", 1400)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The programs of a node among those with these numbers."""

    node: str
    numbers: range


@dataclass(frozen=True, slots=True)
class Volley:
    """A volley of single SYNs, by its number."""

    number: int


Sent = Numbers | Volley | Program


def encoded(case: Sent) -> bytes:
    """As a line of JSON."""
    if isinstance(case, Program):
        return dumps(case).encode()
    if isinstance(case, Volley):
        return json.dumps({"volley": case.number}).encode()
    ends = [case.numbers.start, case.numbers.stop]
    return json.dumps({"node": case.node, "programs": ends}).encode()


def decoded(data: bytes) -> Sent:
    """The reverse of `encoded`. Raises ProgramError."""
    try:
        raw = json.loads(data)
        if "volley" in raw:
            return Volley(raw["volley"])
        if "programs" in raw:
            start, stop = raw["programs"]
            return Numbers(raw["node"], range(start, stop))
    except (ValueError, KeyError, TypeError) as error:
        raise ProgramError(f"not a case: {sentence(error)}") from error
    return from_json(raw)


def valid(node: str) -> Program:
    """What a node sends where the one behind it is fuzzed: nothing is wrong with it."""
    cookie, size = (None, 0) if node == REQUEST else (Cookie(), 20)
    syn = Send(0, "S", size=size, options=(_MSS, Option("fo", cookie=cookie)))
    return Program((Flow(),), (syn, Wait()), origin=f"valid {node}")


LEADING_UP = frozenset(encoded(valid(node)) for node in (REQUEST, FAST_OPEN))
"""What nodes send that only lead up to the one that is fuzzed."""


def node_of(program: Program, *, live: bool) -> str:
    """Which node sends a program: by the latest part of a conversation that it has.

    live: waiting takes real time, so programs that wait for long have a node of their own.
    """
    if live and waits(program) >= LONG:
        return PATIENCE
    sends = [each for each in program.steps if isinstance(each, Send)]
    later = any("S" not in each.flags for each in sends)
    if later or any(isinstance(each, Icmp) for each in program.steps):
        return TEARDOWN
    options = [option for each in sends for option in each.options or ()]
    return FAST_OPEN if any(each.cookie is not None for each in options) else REQUEST


class Deck:
    """The programs of a plan, and the cases made of them. make: the grammar."""

    def __init__(self, plan: Plan, make: Maker) -> None:
        self.plan = plan
        self._make = make
        self._names = list(PATHS)
        self._known = bytearray()
        """For each number: place of its node in `_names`, from 1; 0 where it was not made yet."""

    def program(self, number: int) -> Program:
        """The program of a number."""
        return self._make(self.plan.seed_of(number), self.plan.themes)

    def programs(self, share: Numbers) -> Iterator[tuple[int, Program]]:
        """Those of a node, with their numbers."""
        wanted = self._names.index(share.node) + 1
        self._known.extend(bytes(max(0, share.numbers.stop - len(self._known))))
        for number in share.numbers:
            if self._known[number] not in (0, wanted):
                continue
            program = self.program(number)
            node = node_of(program, live=self.plan.live)
            self._known[number] = self._names.index(node) + 1
            if node == share.node:
                yield number, program

    def cases(self, node: str, count: int) -> Iterator[Sent]:
        """The first cases of a node, a batch each."""
        if node == VOLLEY:
            yield from map(Volley, range(count))
            return
        size = self.plan.batch * (PATIENT_SHARE if node == PATIENCE else 1)
        for number in range(count):
            yield Numbers(node, range(number * size, (number + 1) * size))

    def singles(self, node: str, count: int) -> Iterator[Sent]:
        """The first programs of a node, a case each."""
        number = made = 0
        while made < count:
            for _, program in self.programs(Numbers(node, range(number, number + 1))):
                made += 1
                yield program
            number += 1
