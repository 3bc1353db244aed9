"""Runs a campaign on several processors: processes send, this one keeps, confirms and reduces.

Each process has its own instance of the target, and every so manieth batch. A batch depends on
nothing but its number and the corpus that the campaign began with, so the same programs are sent
whatever their number.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import Bench
from scapy_tfo.executor.pair import AGAINST
from scapy_tfo.fuzz.campaign.campaign import Progress
from scapy_tfo.fuzz.campaign.liveness import Patient
from scapy_tfo.fuzz.campaign.relay import Message, Relay, finding_in, kept, share_of
from scapy_tfo.fuzz.campaign.settling import Settling
from scapy_tfo.fuzz.campaign.worker import Ended, Worker
from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.batches import Maker, slowest_of
from scapy_tfo.fuzz.generation.plan import Plan

_OURS = ("sim:", "lab:")

_ASK_EVERY = 2.0
"""Seconds between two looks at the violations that are to be tried: a round of a campaign on one
processor."""

_FINISHING = 20.0
"""Seconds for processes that are told to stop: a batch, and the end of a target."""


def jobs_for(plan: Plan, wanted: int, programs: int | None) -> int:
    """How many processes are of use: no more than there are batches, and one where the target
    is not ours to start several of."""
    if not is_multiple(plan.target) or programs is None:
        return wanted if is_multiple(plan.target) else 1
    batches = sum(1 for _, _ in zip(plan.batches(programs), range(wanted), strict=False))
    return max(min(wanted, batches), 1)


def is_multiple(target: str) -> bool:
    """Whether there can be several of a target at a time, by its name."""
    return all(each.startswith(_OURS) for each in target.split(AGAINST))


class ParallelCampaign:
    """See `Campaign`. jobs: processes that send; they are started at once.

    reopen: for those; it opens a target with their part of the rate.
    """

    def __init__(
        self,
        store: Store,
        make: Maker,
        bench: Bench,
        reopen: Callable[[], Bench],
        *,
        jobs: int,
        programs: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self._store = store
        self._seconds = seconds
        self._before = store.totals()
        self._began = time.monotonic()
        self._patient = Patient(reopen, bench)
        self._settling = Settling(store, self._patient, seconds, self._left, self._found)
        self._wanted = None
        if programs is not None:
            self._wanted = sum(len(numbers) for _, numbers in store.plan.batches(programs))
        self._programs = self._probes = 0
        self._slowest: list[tuple[float, int]] = []
        self._began_sending = self._began
        self._sending = 0.0
        self._words: list[Ended] = []
        self._inbox = queue.SimpleQueue[Message | Ended]()
        self.on_progress: Callable[[Progress], None] = lambda _: None
        self.on_finding: Callable[[Finding], None] = lambda _: None
        self._workers = [
            Worker(index, Relay(store, share_of(store.plan, index, jobs)), make, reopen, programs)
            for index in range(jobs)
        ]

    @property
    def bench(self) -> Bench:
        """The target on which violations are confirmed; the caller closes it."""
        return self._patient.bench

    @property
    def slowed(self) -> float:
        """As that of a `Campaign`, of the processes on average."""
        return sum(each.slowed for each in self._words) / len(self._workers)

    def run(self) -> None:
        """As that of a `Campaign`."""
        self._began = time.monotonic()
        try:
            ill = self._patient.ails()
            if ill:
                raise TargetError(f"{self.bench.name} cannot be judged: {ill}")
            self._settling.settle()
            self._begin()
            try:
                self._attend()
            except BaseException:
                self._drain()
                raise
            self._raise_errors()
            self._settling.settle()
        finally:
            for each in self._workers:
                each.stop()
            for each in self._workers:
                each.end()

    def _begin(self) -> None:
        self._began_sending = time.monotonic()
        left = None if self._seconds is None else self._left()
        for each in self._workers:
            threading.Thread(target=self._listen, args=(each,), daemon=True).start()
            each.begin(left)

    def _listen(self, worker: Worker) -> None:
        """In a thread of its own, so that none has to wait for its pipe while this process tries
        violations."""
        for message in worker.messages():
            self._inbox.put(message)

    def _attend(self) -> None:
        """Keep what comes until all have ended, and try what it shows."""
        while len(self._words) < len(self._workers):
            until = time.monotonic() + _ASK_EVERY
            while len(self._words) < len(self._workers):
                with suppress(queue.Empty):
                    self._take(self._inbox.get(timeout=max(until - time.monotonic(), 0.0)))
                if time.monotonic() >= until and self._inbox.empty():
                    break
            self._sending = time.monotonic() - self._began_sending
            if any(each.error or each.report for each in self._words):
                self._drain()
            elif self._left() > 0:
                self._settling.settle(sending=True)

    def _drain(self) -> None:
        """Have all stop, and keep what they have finished."""
        for each in self._workers:
            each.stop()
        until = time.monotonic() + _FINISHING
        while len(self._words) < len(self._workers) and time.monotonic() < until:
            with suppress(queue.Empty):
                self._take(self._inbox.get(timeout=_ASK_EVERY))

    def _raise_errors(self) -> None:
        for each in self._words:
            if each.report:
                raise RuntimeError(each.report)
            if each.error is not None:
                raise each.error

    def _take(self, message: Message | Ended) -> None:
        if isinstance(message, Ended):
            self._words.append(message)
            return
        settled = finding_in(message)
        if settled is not None:
            self._settling.keep(*settled)
            return
        tally = kept(self._store, message, len(self._workers))
        if tally is not None:
            self._programs += tally.programs
            self._probes += tally.probes
            self._slowest = slowest_of([*self._slowest, *tally.slowest])
            self.on_progress(self.progress())

    def _found(self, finding: Finding, *, is_new: bool) -> None:
        if is_new:
            self.on_finding(finding)
        self.on_progress(self.progress())

    def progress(self) -> Progress:
        """How far it is now."""
        sending = self._sending or time.monotonic() - self._began_sending
        sending = max(sending, 1e-9)
        programs = self._before.programs + self._programs
        left = self._left()
        if self._wanted is not None and self._programs:
            left = min(left, max(self._wanted - programs, 0) * sending / self._programs)
        return Progress(
            programs=programs,
            probes=self._before.probes + self._probes,
            seconds=self._before.seconds + sending,
            probes_a_second=self._probes / sending,
            programs_a_second=self._programs / sending,
            wanted=self._wanted,
            left=None if math.isinf(left) else max(left, 0.0),
            findings=len(self._settling.signatures),
            quiet=self._store.quiet(),
            slowest=tuple(self._slowest),
        )

    def _left(self) -> float:
        if self._seconds is None:
            return math.inf
        return self._seconds - self._before.seconds - (time.monotonic() - self._began)
