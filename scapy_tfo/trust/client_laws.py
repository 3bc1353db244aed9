"""Which wrong clients the laws catch, without any case."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from scapy_tfo import spec
from scapy_tfo.client_laws.chance import conversations
from scapy_tfo.client_laws.registry import all_laws
from scapy_tfo.client_laws.schedules.runs import Bounds, explore_simulated
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.mutants.registry import all_client_mutants
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Verdict

CHANCE, SCHEDULES = 24, 120
"""Conversations drawn by chance, and schedules, that each client meets."""

ONSET, PROMPT, BYSTANDER, CHANCES, EXPLORED = (
    *("onset of silence", "promptness", "bystander", "chance", "schedules"),
)
KINDS = (ONSET, PROMPT, BYSTANDER, CHANCES, EXPLORED)
_ENOUGH_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Caught:
    """witnesses: by kind of law, the first result that told the client from a right one."""

    mutant: str
    witnesses: Mapping[str, str]


def kind_of(result: str) -> str:
    """The kind of law that a result is of, by its id."""
    name = result.partition(".")[2]
    if name.startswith("a-bystander"):
        return BYSTANDER
    if name.startswith("chance-"):
        return CHANCES
    if name.startswith("schedule"):
        return EXPLORED
    return PROMPT if name.startswith("owed-") else ONSET


def caught(name: str) -> Caught:
    """What catches a wrong client, by its name. Schedules are for what nothing else catches."""
    found: dict[str, str] = {}
    for case in _failed(name, (*all_laws(), *conversations(range(CHANCE)))):
        found.setdefault(kind_of(case), case)
    if found:
        return Caught(name, found)
    explored = explore_simulated(
        f"sim:{name}", spec.load(), _OPTIONS, Bounds(_ENOUGH_SECONDS, SCHEDULES)
    )
    for result in explored.results:
        if result.verdict is Verdict.FAIL:
            found.setdefault(kind_of(result.case), result.title)
    return Caught(name, found)


def shows(name: str, witness: str) -> bool:
    """Whether a client still breaks a law, by its id."""
    some = [
        each
        for each in (*all_laws(), *conversations(range(CHANCE)))
        if each.id == witness or kind_of(witness) == BYSTANDER
    ]
    return witness in _failed(name, some)


def _failed(name: str, cases: Sequence[Case]) -> list[str]:
    run = simulate(f"sim:{name}", cases, spec.load(), _OPTIONS)
    return [each.case for each in run.results if each.verdict is Verdict.FAIL]


_OPTIONS = Options(slow=True, families=(4,), capture=False)


def hunted(
    *, processes: int | None = None, on_caught: Callable[[Caught], None] = lambda _: None
) -> list[Caught]:
    """Every client mutant that is not equivalent, in their order. Raises RuntimeError where the
    reference is blamed, for then nothing is told."""
    if blamed := caught("reference").witnesses:
        raise RuntimeError(f"the reference is blamed: {blamed}")
    names = [each.name for each in all_client_mutants() if not each.equivalent]
    found = []
    with ProcessPoolExecutor(processes or os.cpu_count() or 1) as pool:
        for each in pool.map(caught, names):
            found.append(each)
            on_caught(each)
    return found
