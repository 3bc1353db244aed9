"""Checks that each rule of TCP matters: a mutant breaks it, and what tells of that is known.

A rule of traffic, left out, must let its mutant pass. Of the others a case, a program of the fuzzer
or a schedule must tell, which the rule's entry in specs/ names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from scapy_tfo import spec
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.conversation.judge import advice, judged
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.fuzz.generation.grammar import sent_for
from scapy_tfo.mutants.registry import Mutant, all_tcp_mutants
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.program.program import Program, from_json, to_json
from scapy_tfo.program.reduce import reduced
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.suite.registry import all_conversations
from scapy_tfo.suite.result import Verdict
from scapy_tfo.tcp_rules import TcpRule, TcpRules
from scapy_tfo.trust.client_matrix import CLIENTS
from scapy_tfo.trust.matrix import catches
from scapy_tfo.variants.registry import named

PROGRAMS = 20_000
"""Of the fuzzer, at most, until one tells of a mutant."""

OF_MODEL = {
    "ack-back": ("early-data-acks-the-syn-only", 0),
    "clock-back": ("repetition-has-an-older-clock", 10),
    "echo-of-time": ("early-data-echoes-nothing", 11),
    "grant": ("answers-in-both-forms", 0),
    "lives-on": ("deaf-to-resets-while-half-open", 345),
    "no-fin": ("never-closes-after-its-peer", 0),
    "no-probe": ("small-window-is-never-used", 5099),
    "over-mss": ("long-segments", 20),
    "over-window": ("sends-into-a-window-that-the-ack-closed", 888),
    "repeated-text": ("repeats-with-the-answer", 6),
    "rst-numbers": ("resets-by-zero", 77),
    "syn-ack-when-open": ("crashes-on-lengths-past-the-end", 159),
    "text-place": ("syn-reopens", 26),
    "timestamps": ("timestamps-without-agreement", 0),
    "unopened": ("answers-from-the-next-port", 1),
}
"""Rules of the model that tell of none of the mutants which rules of TCP name: one that each tells
of, and the number of a program of the fuzzer that shows it."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What the named conversation tells of a mutant.

    rules: that it breaks. cases: that fail. Both in the order in which they were found.
    """

    mutant: Mutant
    rules: tuple[str, ...]
    cases: tuple[str, ...]

    @property
    def is_told(self) -> bool:
        """Whether it breaks the rule that it says."""
        return self.mutant.breaks in self.rules

    @property
    def left(self) -> tuple[str, ...]:
        """What tells of it, its rule left out: nothing, if it passes then."""
        return (*(each for each in self.rules if each != self.mutant.breaks), *self.cases)


def telling(name: str) -> Telling:
    """Run the conversation that shows a mutant of TCP against it, over IPv4 and IPv6.

    Raises KeyError for an unknown mutant or conversation, and TargetError where it answers no
    control handshake.
    """
    mutant = {each.name: each for each in all_tcp_mutants()}[name]
    case = {each.id: each for each in all_conversations()}[mutant.shown_by]
    options = Options(slow=True, intrusive=True, families=(4, 6), capture=False)
    run = simulate(f"sim:{name}", [case], spec.load(), options)
    failed = (each.case for each in run.results if each.verdict is Verdict.FAIL)
    return Telling(mutant, _once(each.rule for each in run.breaches), _once(failed))


def tellings() -> Iterator[Telling]:
    """The same for all of them, by name."""
    return (telling(each.name) for each in all_tcp_mutants())


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def untold(rules: TcpRules) -> tuple[TcpRule, ...]:
    """The rules of which nothing tells, each with its reason."""
    return tuple(each for each in rules.values() if each.unwatched and each.shown is None)


def proof(rule: TcpRule) -> dict[str, Any] | None:
    """What tells of the mutant that an entry names, as a table for JSON: as what, by which case or
    schedule, or by which program, reduced; None where nothing does.

    Raises KeyError for an unknown mutant or case, and ValueError for a rule that names none.
    """
    shown = rule.shown
    if shown is None:
        raise ValueError(f"{rule.id} names no mutant")
    found: dict[str, Any] = {"rule": rule.id, "mutant": shown.mutant}
    if shown.case:
        told = _told_by_case(rule, shown.mutant, shown.case)
        return found | {"case": shown.case, "told": told} if told else None
    if shown.schedule:
        told = told_by_schedule(shown.mutant, shown.schedule)
        return found | {"schedule": list(shown.schedule), "told": told} if told else None
    return _told_by_programs(rule, shown.mutant, found)


def breaking(rule: str, proofs: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Mutants of which a rule of the model tells. proofs: as `proof` makes them."""
    shown = [each["mutant"] for each in proofs if each["told"] == rule]
    return _once([*shown, *([OF_MODEL[rule][0]] if rule in OF_MODEL else [])])


def tells_of_its_mutant(rule: str) -> bool:
    """Whether one of `OF_MODEL` tells of its mutant by its program."""
    mutant, number = OF_MODEL[rule]
    return rule in _broken(_bench(mutant), sent_for(number))


def holds(entry: dict[str, Any], rule: TcpRule) -> bool:
    """Whether what `proof` found is true again."""
    if "program" not in entry:
        return proof(rule) == entry
    return entry["told"] in _broken(_bench(entry["mutant"]), from_json(entry["program"]))


def _told_by_case(rule: TcpRule, mutant: str, case: str) -> str:
    if case.startswith("CLI-"):
        return "a failure" if catches(case, mutant, CLIENTS) else ""
    if not case.startswith("TCP-"):
        return "a failure" if catches(case, mutant) else ""
    stimulus = {each.id: each for each in all_conversations()}[case]
    options = Options(slow=True, intrusive=True, families=(4,), capture=False)
    breaches = simulate(f"sim:{mutant}", [stimulus], spec.load(), options).breaches
    return next((each.rule for each in breaches if each.rule in rule.rule), "")


def told_by_schedule(name: str, words: Sequence[str]) -> str:
    """As what a schedule tells of a stack: "" where it is content. words: as in `Shown`."""
    opening, server, client = words
    schedule = Schedule(opening, server, client)
    problems = judged(Play(World(named(name), Profile()), schedule).play())
    return next((each.rule for each in problems if each.rule not in advice()), "")


def _told_by_programs(rule: TcpRule, mutant: str, found: dict[str, Any]) -> dict[str, Any] | None:
    bench = _bench(mutant)
    for number, verdict in bench.run((each, sent_for(each)) for each in range(PROGRAMS)):
        told = next((each.rule for each in verdict.violations if each.rule in rule.rule), "")
        if told:
            program = reduced(sent_for(number), partial(_each_breaks, bench, told))
            return found | {"told": told, "number": number, "program": to_json(program)}
    return None


def _bench(name: str) -> SimulatedBench:
    bench = SimulatedBench(f"sim:{name}")
    # Our own application asks for urgent text in line, where other benches have to find out.
    bench.profile = replace(bench.profile, inline=True)
    return bench


def _each_breaks(bench: SimulatedBench, rule: str, programs: Sequence[Program]) -> list[bool]:
    return [rule in _broken(bench, each) for each in programs]


def _broken(bench: SimulatedBench, program: Program) -> set[str]:
    ((_, verdict),) = bench.run([(0, program)])
    return {each.rule for each in verdict.violations}
