"""Checks that each rule of TCP in the oracle matters: left out, it must let a mutant pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scapy_tfo import spec
from scapy_tfo.mutants.registry import Mutant, all_tcp_mutants
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.suite.registry import all_conversations
from scapy_tfo.suite.result import Verdict


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
