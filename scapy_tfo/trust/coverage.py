"""Tabulates for each requirement its cases, its mutants, and the mutants that are caught."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scapy_tfo.mutants.registry import Mutant
from scapy_tfo.spec import Catalogue, Requirement
from scapy_tfo.suite.registry import Case
from scapy_tfo.trust.matrix import SERVERS, Arena, Kills


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement: the cases that name it, its own mutants, and which of those they catch.

    strays: its mutants that only cases of other requirements catch.
    """

    requirement: Requirement
    cases: tuple[str, ...]
    mutants: tuple[str, ...]
    caught: tuple[str, ...]
    strays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The whole table, and what is wrong with it.

    concerns: of each mutant that fails a case, group by group, what its failures concern. left:
    of each how many failures a report leaves of requirements that it breaks, and how many of
    others.
    unchecked: requirements that can be observed and have no case. idle: cases that catch no
    mutant. survivors: mutants that no case catches and nobody declared equivalent. revived:
    mutants declared equivalent that a case catches after all.
    """

    rows: tuple[Row, ...]
    kills: dict[str, tuple[str, ...]]
    concerns: dict[str, tuple[tuple[str, ...], ...]]
    left: dict[str, tuple[int, int]]
    unchecked: tuple[str, ...]
    idle: tuple[str, ...]
    survivors: tuple[str, ...]
    revived: tuple[str, ...]

    def witnesses(self) -> dict[str, dict[str, str]]:
        """For each mutant a case that catches it, and for each case a mutant that it catches.

        Enough to see again in seconds that nothing survives and nothing idles. Of the mutants
        of a case the one that fewest others catch is named, and of the cases that catch a mutant
        one for the requirement that it breaks, where there is one.
        """
        own = {name: set(row.cases) for row in self.rows for name in row.mutants}
        ranked = sorted(self.kills.items(), key=lambda item: len(item[1]))
        cases: dict[str, str] = {}
        for name, by in ranked:
            for case in by:
                cases.setdefault(case, name)
        mutants = {
            name: next((case for case in by if case in own.get(name, ())), by[0])
            for name, by in self.kills.items()
            if by
        }
        return {"cases": dict(sorted(cases.items())), "mutants": dict(sorted(mutants.items()))}

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each thing that is wrong."""
        return (
            *(f"{each}: observable, and no case checks it" for each in self.unchecked),
            *(f"{each}: catches no mutant" for each in self.idle),
            *(f"{each}: survives every case" for each in self.survivors),
            *(f"{each}: declared equivalent, and caught" for each in self.revived),
        )


def left_of(kills: Kills, mutants: Sequence[Mutant]) -> tuple[int, int]:
    """How many failures a report leaves of requirements that the mutant breaks, and of others."""
    broken = {
        name for each in mutants if each.name == kills.mutant for name in (each.breaks, *each.also)
    }
    own = sum(bool(broken & set(each)) for each in kills.left)
    return own, len(kills.left) - own


def cover(
    catalogue: Catalogue,
    cases: Sequence[Case],
    mutants: Sequence[Mutant],
    kills: Iterable[Kills],
    arena: Arena = SERVERS,
) -> Coverage:
    """Put requirements, cases and mutants side by side."""
    kills = tuple(kills)
    killed = {each.mutant: each.cases for each in kills}
    equivalent = {each.name for each in mutants if each.equivalent}
    rows = [
        _row(each, cases, mutants, killed) for each in catalogue.values() if arena.observable(each)
    ]
    busy = {case for caught in killed.values() for case in caught}
    return Coverage(
        rows=tuple(rows),
        kills=killed,
        concerns={each.mutant: each.concerns for each in kills if each.concerns},
        left={each.mutant: left_of(each, mutants) for each in kills if each.left},
        unchecked=tuple(row.requirement.id for row in rows if not row.cases),
        idle=tuple(each.id for each in cases if each.id not in busy),
        survivors=tuple(name for name, by in killed.items() if not by and name not in equivalent),
        revived=tuple(name for name, by in killed.items() if by and name in equivalent),
    )


def _row(
    requirement: Requirement,
    cases: Sequence[Case],
    mutants: Sequence[Mutant],
    killed: dict[str, tuple[str, ...]],
) -> Row:
    names = {each.id for each in cases if requirement.id in each.requirements}
    own = [each.name for each in mutants if each.breaks == requirement.id]
    caught = [each for each in own if names & set(killed.get(each, ()))]
    return Row(
        requirement=requirement,
        cases=tuple(each.id for each in cases if each.id in names),
        mutants=tuple(own),
        caught=tuple(caught),
        strays=tuple(each for each in own if each not in caught and killed.get(each)),
    )
