"""Which case catches which mutant, and which requirement rests on what."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from scapy_tfo import spec
from scapy_tfo.mutants.registry import Mutant, all_mutants
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case, all_cases
from scapy_tfo.suite.result import Result, Verdict
from scapy_tfo.suite.runner import Options
from scapy_tfo.suite.simulation import simulate

Observation = tuple[Verdict, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Kills:
    """What was found of one mutant: ids of the cases that caught it, in their order."""

    mutant: str
    cases: tuple[str, ...]


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
    families: Sequence[int] = (4, 6),
    processes: int | None = None,
    on_kills: Callable[[Kills], None] | None = None,
) -> list[Kills]:
    """Run all cases, slow ones included, against each mutant in simulation.

    families: tried in that order; a mutant that one of them shows is not tried by the next,
    since the reference treats both alike. processes: how many mutants at a time, by default one
    for each processor.
    """
    cases = all_cases() if cases is None else cases
    mutants = all_mutants() if mutants is None else mutants
    ids = tuple(each.id for each in cases)
    names = [each.name for each in mutants]
    found = []
    with ProcessPoolExecutor(processes or os.cpu_count() or 1) as pool:
        jobs = [pool.submit(_kills_of, name, ids, tuple(families)) for name in names]
        for job in jobs:
            kills = job.result()
            found.append(kills)
            if on_kills is not None:
                on_kills(kills)
    return found


_references: dict[tuple[tuple[str, ...], int], tuple[Result, ...]] = {}


def _kills_of(name: str, ids: tuple[str, ...], families: tuple[int, ...]) -> Kills:
    killers: tuple[str, ...] = ()
    for family in families:
        killers = _killers(name, ids, family)
        if killers:
            break
    return Kills(name, killers)


def catches(case: str, mutant: str) -> bool:
    """Whether one case, by its id, catches one mutant."""
    return any(_killers(mutant, (case,), family) for family in (4, 6))


@functools.cache
def _known() -> tuple[Catalogue, tuple[Case, ...]]:
    return spec.load(), all_cases()


def _killers(name: str, ids: tuple[str, ...], family: int) -> tuple[str, ...]:
    catalogue, every = _known()
    wanted = set(ids)
    cases = [each for each in every if each.id in wanted]
    options = Options(slow=True, intrusive=True, families=(family,), capture=False)
    if (ids, family) not in _references:
        done = simulate("sim:reference", cases, catalogue, options)
        _references[ids, family] = done.results
    mutated = simulate(f"sim:{name}", cases, catalogue, options)
    return killed_by(_references[ids, family], mutated.results)
