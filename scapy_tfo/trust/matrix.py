"""Runs every case against every mutant, to find which case catches which mutant."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from scapy_tfo import spec
from scapy_tfo.mutants.registry import REFERENCE, Mutant, all_mutants
from scapy_tfo.runner.judging.causes import explained, leads
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.spec import Catalogue, Requirement
from scapy_tfo.suite.registry import Case, all_cases
from scapy_tfo.suite.result import Result, Verdict
from scapy_tfo.trust.assertion_finder import SERVER_CASES, Source

Observation = tuple[Verdict, tuple[tuple[str, str], ...]]


_ROLES = {"wire", "server", "recognised"}
"""What a server can be judged by; clients and paths have suites of their own."""

_FROM_OUTSIDE = {"wire", "application", "inside"}


@dataclass(frozen=True, slots=True)
class Arena:
    """A kind of stack, and what it is judged by, in simulation.

    cases, mutants: all there are. simulate: how the stack of a name fares in some cases, slow ones
    included, over one family. observable: whether a case can check a requirement. Each is a
    function of a module, so that other processes find it. source: where the cases are written.
    """

    cases: Callable[[], tuple[Case, ...]]
    mutants: Callable[[], tuple[Mutant, ...]]
    simulate: Callable[[str, Sequence[Case], Catalogue, int], tuple[Result, ...]]
    observable: Callable[[Requirement], bool]
    source: Source


def is_observable(requirement: Requirement) -> bool:
    """Whether a case can check it: a server's, seen from outside or through its own words."""
    return requirement.role in _ROLES and bool(_FROM_OUTSIDE & set(requirement.observed))


def _simulate(
    name: str, cases: Sequence[Case], catalogue: Catalogue, family: int
) -> tuple[Result, ...]:
    options = Options(slow=True, intrusive=True, families=(family,), capture=False)
    return simulate(f"sim:{name}", cases, catalogue, options).results


SERVERS = Arena(all_cases, all_mutants, _simulate, is_observable, SERVER_CASES)
"""What `scapy-tfo test` judges."""


@dataclass(frozen=True, slots=True)
class Kills:
    """What was found of one mutant: ids of the cases that caught it, in their order.

    concerns: for each group of failures with one cause, the largest first, the ids of the
    requirements that it is said to concern. left: the requirements of each failure that a report
    leaves, those that could not be judged being none.
    """

    mutant: str
    cases: tuple[str, ...]
    concerns: tuple[tuple[str, ...], ...] = ()
    left: tuple[tuple[str, ...], ...] = ()


def killed_by(reference: Sequence[Result], mutated: Sequence[Result]) -> tuple[str, ...]:
    """The cases that tell a mutant from the reference.

    A FAIL does. A case that is only recorded (MAY, design) never fails: it tells them apart
    where its verdict, or what it recorded, is another than for the reference.
    """
    before = {(each.case, each.family): each for each in reference}
    caught = [each.case for each in mutated if _tells(before[each.case, each.family], each)]
    return tuple(dict.fromkeys(caught))


def _tells(reference: Result, mutated: Result) -> bool:
    if mutated.verdict is Verdict.FAIL:
        return reference.verdict is not Verdict.FAIL
    if mutated.level.can_fail:
        return False
    return (reference.verdict, reference.observed) != (mutated.verdict, mutated.observed)


def hunt(
    cases: Sequence[Case] | None = None,
    mutants: Sequence[Mutant] | None = None,
    *,
    arena: Arena = SERVERS,
    families: Sequence[int] = (4, 6),
    processes: int | None = None,
    on_kills: Callable[[Kills], None] | None = None,
) -> list[Kills]:
    """Run all cases, slow ones included, against each mutant in simulation.

    families: tried in that order; a mutant that one of them shows is not tried by the next,
    since the reference treats both alike. processes: how many mutants at a time, by default one
    for each processor.
    """
    cases = arena.cases() if cases is None else cases
    mutants = arena.mutants() if mutants is None else mutants
    ids = tuple(each.id for each in cases)
    names = [each.name for each in mutants]
    found = []
    with ProcessPoolExecutor(processes or os.cpu_count() or 1) as pool:
        jobs = [pool.submit(_kills_of, arena, name, ids, tuple(families)) for name in names]
        for job in jobs:
            kills = job.result()
            found.append(kills)
            if on_kills is not None:
                on_kills(kills)
    return found


_references: dict[tuple[Arena, tuple[str, ...], int], tuple[Result, ...]] = {}


def _kills_of(arena: Arena, name: str, ids: tuple[str, ...], families: tuple[int, ...]) -> Kills:
    killers: tuple[str, ...] = ()
    found: tuple[Result, ...] = ()
    for family in families:
        mutated, killers = _killers(arena, name, ids, family)
        found = explained(mutated)
        if killers:
            break
    left = tuple(each.requirements for each in found if each.verdict is Verdict.FAIL)
    return Kills(name, killers, tuple(each.concerns for each in leads(found)), left)


def failures(mutant: str, arena: Arena = SERVERS) -> Kills:
    """What all cases find of a mutant over IPv4."""
    return _kills_of(arena, mutant, tuple(each.id for each in arena.cases()), (4,))


def catches(case: str, mutant: str, arena: Arena = SERVERS) -> bool:
    """Whether one case, by its id, catches one mutant."""
    return any(_killers(arena, mutant, (case,), family)[1] for family in (4, 6))


@functools.cache
def _known(arena: Arena) -> tuple[Catalogue, tuple[Case, ...]]:
    return spec.load(), arena.cases()


def _killers(
    arena: Arena, name: str, ids: tuple[str, ...], family: int
) -> tuple[tuple[Result, ...], tuple[str, ...]]:
    """What a mutant's run came to, and the cases that caught it."""
    catalogue, every = _known(arena)
    wanted = set(ids)
    cases = [each for each in every if each.id in wanted]
    if (arena, ids, family) not in _references:
        found = arena.simulate(REFERENCE.name, cases, catalogue, family)
        _references[arena, ids, family] = found
    mutated = arena.simulate(name, cases, catalogue, family)
    return mutated, killed_by(_references[arena, ids, family], mutated)
