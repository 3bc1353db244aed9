"""Compares the verdicts that a stack gets live, through the kernel, with those in simulation."""

from __future__ import annotations

import asyncio
import dataclasses
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.lab.memory.device import Device
from scapy_tfo.lab.memory.served import open_network
from scapy_tfo.lab.process.namespace import die_with_parent
from scapy_tfo.mutants.registry import REFERENCE, all_mutants, named
from scapy_tfo.runner.live import STACKS, judge_live
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.simulation import simulate
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case, all_cases
from scapy_tfo.suite.result import Result, Run, Verdict

Job = tuple[Case, int]
"""A case, and the family to judge it in."""

LIMIT = 600.0
"""Seconds that one stack may take, all its cases together."""

_OPTIONS = Options(intrusive=True)

_AT_ONCE = (STACKS, 8, 2)
"""Cases under way at a time: at first, then of those that differed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A case and family whose verdict live was another than in simulation.

    by_repetition: in simulation, too, the verdict becomes the live one where the case is
    repeated, with more patience, when it heard nothing at first, as it is live.
    """

    simulated: Result
    live: Result
    by_repetition: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One stack judged twice.

    judged: verdicts in simulation. compared: those that were sought live, too. failed,
    failed_live: how many of these were FAIL. differences: those that stayed when the cases were
    repeated a few at a time. unsteady: those that did not, as on a machine too busy to keep the
    time. seconds: wall time. stopped: why nothing could be compared, or "".
    """

    stack: str
    judged: int = 0
    compared: int = 0
    failed: int = 0
    failed_live: int = 0
    differences: tuple[Difference, ...] = ()
    unsteady: int = 0
    seconds: float = 0.0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class _Order:
    """What every comparison of a run has in common.

    usual: verdict and packets of the reference by case and family, where a stack is judged live by
    those cases alone in which it sends others.
    """

    jobs: tuple[Job, ...]
    catalogue: Catalogue
    limit: float
    usual: Mapping[tuple[str, int], tuple[Verdict, list[bytes]]] | None


def compare(
    names: Sequence[str] | None = None,
    *,
    cases: Sequence[Case] | None = None,
    families: Sequence[int] = (4, 6),
    every: bool = True,
    processes: int | None = None,
    limit: float = LIMIT,
) -> Iterator[Comparison]:
    """Judge stacks in simulation and live, by each case in a stack of its own; in no set order.

    names: of mutants/registry.py; None for the reference and all mutants. cases: None for all
    that are not slow. every: False leaves out, live, the cases in which a mutant exchanges in
    simulation the same packets as the reference, byte for byte, and gets the same verdict.
    processes: stacks at a time, by default one for each processor. limit: seconds for one
    stack; what takes longer is ended, and told as `stopped`. Raises SetupError for a name that
    there is not, and where the host allows no namespace or no TUN device.
    """
    wanted = [REFERENCE.name, *(each.name for each in all_mutants())] if names is None else names
    waiting = [named(each).name for each in reversed(wanted)]
    if cases is None:
        cases = [each for each in all_cases() if not each.slow]
    chosen = tuple((case, family) for family in families for case in cases)
    catalogue = spec.load()
    usual = None
    if not every:
        runs = _simulated(REFERENCE.name, chosen, catalogue)
        usual = {key: _shown(run) for key, run in runs.items()}
    order = _Order(chosen, catalogue, limit, usual)
    count = processes or os.cpu_count() or 1
    under_way: dict[Connection, _Process] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < count:
                process = _Process(waiting.pop(), order)
                under_way[process.answer] = process
            first = min(process.ends for process in under_way.values())
            ready = wait(list(under_way), max(0.0, first - time.monotonic()))
            for answer, process in list(under_way.items()):
                if answer in ready or process.ends <= time.monotonic():
                    del under_way[answer]
                    yield process.result()
    finally:
        for process in under_way.values():
            process.end()


class _Process:
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
    runs = _simulated(name, order.jobs, order.catalogue)
    simulated = {key: run.results[0] for key, run in runs.items()}
    wanted = [
        (case, family)
        for case, family in order.jobs
        if order.usual is None
        or name == REFERENCE.name
        or _shown(runs[case.id, family]) != order.usual[case.id, family]
    ]
    live: dict[tuple[str, int], Result] = {}
    differing = wanted
    at_first = -1
    for at_once in _AT_ONCE:
        if not differing:
            break
        results = asyncio.run(
            judge_live(name, device, differing, order.catalogue, _OPTIONS, at_once)
        )
        live |= {(each.case, each.family): each for each in results}
        differing = [
            (case, family)
            for case, family in differing
            if live[case.id, family].verdict is not simulated[case.id, family].verdict
        ]
        at_first = len(differing) if at_first < 0 else at_first
    patient = _simulated(name, differing, order.catalogue, Impairment())
    return Comparison(
        stack=name,
        judged=len(simulated),
        compared=len(live),
        failed=_fails(simulated[key] for key in live),
        failed_live=_fails(live.values()),
        differences=tuple(
            Difference(
                simulated=simulated[key],
                live=live[key],
                by_repetition=run.results[0].verdict is live[key].verdict,
            )
            for key, run in patient.items()
        ),
        unsteady=max(0, at_first) - len(differing),
        seconds=time.perf_counter() - began,
    )


def _simulated(
    name: str, jobs: Sequence[Job], catalogue: Catalogue, path: Impairment | None = None
) -> dict[tuple[str, int], Run]:
    """A run for each job. path: one that could lose, on which cases are repeated as live."""
    return {
        (case.id, family): simulate(
            f"sim:{name}",
            [case],
            catalogue,
            dataclasses.replace(_OPTIONS, families=(family,), impairment=path),
        )
        for case, family in jobs
    }


def _shown(run: Run) -> tuple[Verdict, list[bytes]]:
    """What tells a stack from the reference: its application may, where its packets do not."""
    return run.results[0].verdict, [each.data for each in run.packets]


def _fails(results: Iterable[Result]) -> int:
    return sum(each.verdict is Verdict.FAIL for each in results)
