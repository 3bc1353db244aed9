"""Judges clients behind middleboxes, in simulation: verdicts that change, mutants still caught."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from scapy_tfo import spec
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.errors import TargetError
from scapy_tfo.middleboxes.registry import HANDSHAKE_BOXES
from scapy_tfo.mutants.registry import REFERENCE
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result, Verdict
from scapy_tfo.trust.matrix import killed_by

FAMILIES = (4, 6)
"""Tried in that order; a verdict on the reference client is the one over the first."""

NOTHING = "none"
"""The box that passes everything on as it is."""


@dataclass(frozen=True, slots=True)
class Behind:
    """One box between clients and our servers.

    results: of the reference client, which conforms, over IPv4. caught: by wrong client that the
    cases catch where nothing is between, the case that still catches it, "" for none.
    """

    box: str
    results: tuple[Result, ...]
    caught: Mapping[str, str]

    @property
    def counts(self) -> Counter[Verdict]:
        """How many cases have each verdict."""
        return Counter(each.verdict for each in self.results)

    @property
    def changed(self) -> dict[str, str]:
        """Verdicts that are others than where nothing is between, by case."""
        usual = verdicts(NOTHING)
        now = {each.case: each.verdict.value for each in self.results}
        return {case: verdict for case, verdict in now.items() if verdict != usual[case]}


def verdicts(box: str) -> dict[str, str]:
    """On the reference client behind a box, by case."""
    return {each.case: each.verdict.value for each in _reference(box)}


def reasons(box: str) -> set[str]:
    """Why the reference client fails cases behind a box."""
    return {each.reason for each in _reference(box) if each.verdict is Verdict.FAIL}


def look_behind(
    kills: Mapping[str, Sequence[str]],
    *,
    processes: int | None = None,
    on_box: Callable[[str], None] = lambda _: None,
) -> list[Behind]:
    """Judge the reference client and the mutants behind each box.

    kills: by mutant, the cases that catch it where nothing is between; those alone are tried.
    on_box: called with the name of each box that is done.
    """
    wanted = {name: tuple(cases) for name, cases in kills.items() if cases}
    found = []
    with ProcessPoolExecutor(processes or os.cpu_count() or 1) as pool:
        jobs = [pool.submit(_behind, name, wanted) for name in HANDSHAKE_BOXES]
        for job in jobs:
            found.append(job.result())
            on_box(found[-1].box)
    return found


def still_catches(case: str, mutant: str, box: str) -> bool:
    """Whether a case, by its id, tells a mutant behind a box from the reference client there."""
    return any(
        killed_by(
            [_referenced(box, case, family)], _simulated(mutant, box, [_known()[1][case]], family)
        )
        for family in FAMILIES
    )


def _behind(box: str, kills: Mapping[str, Sequence[str]]) -> Behind:
    caught = {
        mutant: next((case for case in cases if still_catches(case, mutant, box)), "")
        for mutant, cases in kills.items()
    }
    return Behind(box, _reference(box), caught)


@functools.cache
def _reference(box: str) -> tuple[Result, ...]:
    return tuple(_referenced(box, case, FAMILIES[0]) for case in _known()[1])


@functools.cache
def _referenced(box: str, case: str, family: int) -> Result:
    return _simulated(REFERENCE.name, box, [_known()[1][case]], family)[0]


@functools.cache
def _known() -> tuple[Catalogue, dict[str, Case]]:
    return spec.load(), {each.id: each for each in all_cases()}


def _options(family: int) -> Options:
    return Options(slow=True, families=(family,), capture=False, meets_bystanders=False)


def _simulated(name: str, box: str, cases: Sequence[Case], family: int) -> tuple[Result, ...]:
    """Nothing where the mutant cannot be judged there."""
    try:
        return simulate(
            f"sim:{name}", cases, _known()[0], _options(family), [HANDSHAKE_BOXES[box]]
        ).results
    except TargetError:
        return ()
