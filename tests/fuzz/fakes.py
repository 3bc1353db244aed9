"""A target that answers at once, as a function of the program alone, with planted faults."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.conduct import Counts
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Flow, Option, Program, Send, Step, Wait

SYN = bytes.fromhex(
    "4500002800004000400600000a0000020a0000019c40271100000001000000005002000000000000"
)


@dataclass(frozen=True)
class Fault:
    """shows: whether a program makes the target do it."""

    shows: Callable[[Program], bool]
    requirement: str = "ACC-2"
    rule: str = "planted"
    state: str = "SYN-RCVD"
    reply: str = "syn-ack"

    @property
    def violation(self) -> Violation:
        return Violation(
            self.requirement,
            self.rule,
            self.state,
            self.reply,
            0,
            0,
            "the right thing",
            "another",
            0,
        )


@dataclass
class FakeBench:
    """kills: programs after which the target is dead. log: programs that were run, if wanted."""

    faults: Sequence[Fault] = ()
    kills: Callable[[Program], bool] = lambda _: False
    window: int = 16
    name: str = "sim:fake"
    families: tuple[int, ...] = (4, 6)
    is_dead: bool = False
    log: list[int] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        """Answers come late and in disorder, but always in the same."""
        flying: list[tuple[int, Verdict]] = []
        dice = random.Random(7)
        for number, program in programs:
            if self.is_dead:
                raise TargetError("the target is dead")
            self.log.append(number)
            self.is_dead = self.kills(program)
            flying.append((number, self.judge(program)))
            if len(flying) > self.window:
                yield flying.pop(dice.randrange(len(flying)))
        yield from flying

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        if self.is_dead:
            raise TargetError("the target is dead")
        self.is_dead = self.kills(program)
        return self.judge(program), (TracedPacket(0.0, True, SYN),)

    def judge(self, program: Program) -> Verdict:
        broken = [each.violation for each in self.faults if each.shows(program)]
        reached = {f"{each.flags}/{each.size.bit_length()}" for each in sends(program)}
        return Verdict(tuple(broken), frozenset(reached), sent=program.sends, heard=1)

    def alive(self) -> str:
        return "no answer" if self.is_dead else ""

    def counters(self) -> dict[str, int]:
        return {"TCPFastOpenPassive": len(self.log)}

    def close(self) -> None:
        pass


def sends(program: Program) -> list[Send]:
    return [each for each in program.steps if isinstance(each, Send)]


def make(seed: int, profile: str) -> Program:
    """A small grammar."""
    dice = random.Random(f"{seed} {profile}")
    flows = tuple(Flow(dice.choice((4, 6)), dice.randrange(2)) for _ in range(dice.randint(1, 3)))
    steps: list[Step] = []
    for _ in range(dice.randint(1, 8)):
        options = (Option("mss", 1460), Option("fo")) if dice.random() < 0.3 else None
        size = dice.choice((0, 0, 1, 10, 300))
        flags = dice.choice(("S", ".", "P.", "F.", "R"))
        steps.append(Send(dice.randrange(len(flows)), flags, size=size, options=options))
    return Program(flows, (*steps, Wait()), "finish", "fake")


def plan(**changes: object) -> Plan:
    held = {"target": "sim:fake", "profile": "rfc", "grammar": "1", "batch": 64} | changes
    return Plan(**held)
