"""Whether a stack gets live, through the kernel, the verdicts that it gets in simulation."""

from __future__ import annotations

import asyncio
import dataclasses
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.device import Device
from scapy_tfo.lab.namespace import die_with_parent
from scapy_tfo.lab.path import Impairment
from scapy_tfo.lab.served import open_network
from scapy_tfo.mutants.registry import REFERENCE, all_mutants, named
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.live import STACKS, judge_live
from scapy_tfo.suite.registry import Case, all_cases
from scapy_tfo.suite.result import Result, Verdict
from scapy_tfo.suite.runner import Options
from scapy_tfo.suite.simulation import simulate

LIMIT = 180.0
"""Seconds that one stack may take, all its cases together."""

_AT_ONCE = (STACKS, 8, 2)
"""Cases under way at a time: at first, then of those that differed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A case and family whose verdict live was another than in simulation.

    late: in simulation, too, the verdict is the live one where the case is repeated with more
    patience, as it is live: what it waited for came, after longer than it should take.
    """

    simulated: Result
    live: Result
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One stack judged twice.

    compared: how many verdicts there were of each kind. failed, failed_live: those that were
    FAIL. differences: those that stayed when the cases were repeated a few at a time.
    unsteady: those that did not, as on a machine too busy to keep the time. seconds: wall time.
    stopped: why nothing could be compared, or "".
    """

    stack: str
    compared: int = 0
    failed: int = 0
    failed_live: int = 0
    differences: tuple[Difference, ...] = ()
    unsteady: int = 0
    seconds: float = 0.0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class _Order:
    """What every comparison of a run has in common."""

    cases: tuple[Case, ...]
    catalogue: Catalogue
    families: tuple[int, ...]
    limit: float


def compare(
    names: Sequence[str] | None = None,
    *,
    families: Sequence[int] = (4, 6),
    processes: int | None = None,
    limit: float = LIMIT,
) -> Iterator[Comparison]:
    """Judge stacks in simulation and live by every case that is not slow; in no set order.

    names: of mutants/registry.py; None for the reference and all mutants. processes: stacks at
    a time, by default one for each processor. limit: seconds for one stack; what takes longer is
    ended, and told as `stopped`. Raises SetupError for a name that there is not, and where the
    host allows no namespace or no TUN device.
    """
    wanted = [REFERENCE.name, *(each.name for each in all_mutants())] if names is None else names
    waiting = [named(each).name for each in reversed(wanted)]
    cases = tuple(each for each in all_cases() if not each.slow)
    order = _Order(cases, spec.load(), tuple(families), limit)
    count = processes or os.cpu_count() or 1
    jobs: dict[Connection, _Job] = {}
    try:
        while waiting or jobs:
            while waiting and len(jobs) < count:
                job = _Job(waiting.pop(), order)
                jobs[job.answer] = job
            first = min(job.ends for job in jobs.values())
            ready = wait(list(jobs), max(0.0, first - time.monotonic()))
            for answer, job in list(jobs.items()):
                if answer in ready or job.ends <= time.monotonic():
                    del jobs[answer]
                    yield job.result()
    finally:
        for job in jobs.values():
            job.end()


class _Job:
    """One stack in a process of its own, which has a namespace of its own."""

    def __init__(self, name: str, order: _Order) -> None:
        # Forked, because to import everything anew takes as long as to judge.
        context = multiprocessing.get_context("fork")
        self.answer, theirs = context.Pipe(duplex=False)
        self.ends = time.monotonic() + order.limit
        self._name, self._limit = name, order.limit
        self._process: BaseProcess = context.Process(
            target=_work, args=(theirs, os.getpid(), name, order)
        )
        self._process.start()
        theirs.close()

    def result(self) -> Comparison:
        """What was found, or that the process died or was not done. Raises SetupError."""
        found: Comparison | SetupError = Comparison(
            stack=self._name, stopped=f"not done after {self._limit:g} s"
        )
        try:
            if self.answer.poll():
                found = self.answer.recv()
        except EOFError:
            self._process.join()
            status = self._process.exitcode
            found = Comparison(stack=self._name, stopped=f"its process died, status {status}")
        self.end()
        if isinstance(found, SetupError):
            raise found
        return found

    def end(self) -> None:
        """End the process and its namespace."""
        self._process.kill()
        self._process.join()
        self.answer.close()


def _work(answer: Connection, parent: int, name: str, order: _Order) -> None:
    try:
        device = open_network(STACKS)
        die_with_parent(parent)
        answer.send(_compare(name, device, order))
    except SetupError as error:
        answer.send(error)


def _compare(name: str, device: Device, order: _Order) -> Comparison:
    began = time.perf_counter()
    options = Options(intrusive=True, families=order.families)
    run = simulate(f"sim:{name}", order.cases, order.catalogue, options)
    simulated = {(each.case, each.family): each for each in run.results}
    live: dict[tuple[str, int], Result] = {}
    cases = {each.id: each for each in order.cases}
    found: list[Difference] = []
    todo = [(cases[case], family) for case, family in simulated]
    at_first = 0
    for at_once in _AT_ONCE:
        results = asyncio.run(judge_live(name, device, todo, order.catalogue, options, at_once))
        live |= {(each.case, each.family): each for each in results}
        found = [
            Difference(simulated=before, live=after)
            for after in results
            if (before := simulated[after.case, after.family]).verdict is not after.verdict
        ]
        todo = [(cases[each.live.case], each.live.family) for each in found]
        at_first = at_first or len(found)
        if not found:
            break
    return Comparison(
        stack=name,
        compared=len(simulated),
        failed=_fails(simulated.values()),
        failed_live=_fails(live.values()),
        differences=_explained(name, found, order, options),
        unsteady=at_first - len(found),
        seconds=time.perf_counter() - began,
    )


def _fails(results: Iterable[Result]) -> int:
    return sum(each.verdict is Verdict.FAIL for each in results)


def _explained(
    name: str, found: Sequence[Difference], order: _Order, options: Options
) -> tuple[Difference, ...]:
    """The differences, marked where patience makes them."""
    differing = {each.live.case for each in found}
    cases = [each for each in order.cases if each.id in differing]
    # A path that could impair, and does nothing, is one on which cases are repeated.
    patient = dataclasses.replace(options, impairment=Impairment())
    run = simulate(f"sim:{name}", cases, order.catalogue, patient)
    repeated = {(each.case, each.family): each.verdict for each in run.results}
    return tuple(
        dataclasses.replace(
            each, late=repeated[each.live.case, each.live.family] is each.live.verdict
        )
        for each in found
    )
