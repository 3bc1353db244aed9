"""A campaign: batch after batch, kept as they end, and what they showed made into findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scapy_tfo.errors import TargetError
from scapy_tfo.fuzz.batches import Batch, Kind, Maker
from scapy_tfo.fuzz.bench import Bench
from scapy_tfo.fuzz.findings import ALIVE, ROBUST, Finding, Status
from scapy_tfo.fuzz.liveness import AFTER, NONE, Patient, culprit, unexplained
from scapy_tfo.fuzz.resolve import given_up, resolve
from scapy_tfo.fuzz.store import Store
from scapy_tfo.fuzz.verdict import Violation

MOST_DEATHS = 8
"""Of a target in one batch; then there is no use in going on."""

_SUSPECTS = 256
"""Programs before a death of which one may be to blame."""

_OF_DEATH: Kind = (ROBUST, ALIVE, AFTER, NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign is.

    programs, probes, seconds: all its runs together, seconds those of sending; probes are
    segments. probes_a_second, programs_a_second: in this run, while it sent. wanted: programs
    that this shard will have sent, None where only time ends it. left: seconds, None where
    nothing tells. findings: confirmed ones.
    """

    programs: int
    probes: int
    seconds: float
    probes_a_second: float
    programs_a_second: float
    wanted: int | None
    left: float | None
    findings: int


class Campaign:
    """store: to go on with. make: the grammar. bench: the target; reopen makes another of it where
    that dies. programs: of the whole campaign, all shards together; seconds: all runs together;
    None for no limit. on_progress: called after each batch; on_finding: with each new finding."""

    def __init__(
        self,
        store: Store,
        make: Maker,
        bench: Bench,
        reopen: Callable[[], Bench],
        *,
        programs: int | None = None,
        seconds: float | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        on_finding: Callable[[Finding], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._plan = store.plan
        self._make = make
        self._patient = Patient(reopen, bench)
        self._programs = programs
        self._seconds = seconds
        self._on_progress = on_progress
        self._on_finding = on_finding
        self._before = store.totals()
        self._began = time.monotonic()
        self._sending = 0.0
        self._programs_sent = 0
        self._probes_sent = 0
        self._of_deaths: list[Finding] = []

    @property
    def bench(self) -> Bench:
        """The target as it is now; the caller closes it."""
        return self._patient.bench

    def run(self) -> None:
        """Send what is left to send. What ends it early (Ctrl-C, a full disk, a target that has
        gone) is raised when all that was finished is kept. Raises SetupError and TargetError."""
        ill = self._patient.ails()
        if ill:
            raise TargetError(f"{self.bench.name} cannot be judged: {ill}")
        self._began = time.monotonic()
        corpus = self._store.base()
        finished = self._store.finished()
        self._settle()
        for number, numbers in self._plan.batches(self._programs):
            if finished.get(number, 0) >= len(numbers):
                continue
            if self._is_over():
                break
            self._send(number, Batch(self._plan, numbers, self._make, corpus), numbers)
            self._settle()

    def _send(self, number: int, batch: Batch, numbers: range) -> None:
        """One batch, kept in any case."""
        began = time.monotonic()
        before = self._counters()
        try:
            deaths = 0
            while not batch.is_done and not self._is_over():
                ill = self._sent_until_ill(batch)
                if ill:
                    deaths += 1
                    self._mourn(batch, numbers, ill)
                if deaths > MOST_DEATHS:
                    raise TargetError(f"{self.bench.name} dies again and again: {ill}")
        except (KeyboardInterrupt, TargetError):
            # It counts, but it is not whole: a resumed run sends it again.
            self._keep(number, batch, began, before, complete=False)
            raise
        self._keep(number, batch, began, before, complete=batch.is_done)

    def _keep(
        self,
        number: int,
        batch: Batch,
        began: float,
        before: Mapping[str, int],
        *,
        complete: bool,
    ) -> None:
        seconds = time.monotonic() - began
        after = self._counters()
        self._store.commit(
            number,
            batch,
            seconds=seconds,
            complete=complete,
            counters={
                name: after[name] - old
                for name, old in before.items()
                if after.get(name, -1) >= old
            },
        )
        self._sending += seconds
        self._programs_sent += batch.tally.programs
        self._probes_sent += batch.tally.probes
        for finding in self._of_deaths:
            self._store.settle(_OF_DEATH, finding)
            self._on_finding(finding)
        self._of_deaths.clear()
        self._on_progress(self.progress())

    def _sent_until_ill(self, batch: Batch) -> str:
        try:
            batch.run(self.bench, self._is_over)
        except TargetError as error:
            return str(error)
        return self._patient.ails()

    def _mourn(self, batch: Batch, numbers: range, ill: str) -> None:
        """A target that died: bring it back, and find out of what it did, the first time."""
        sent = range(max(numbers.start, batch.next - _SUSPECTS), batch.next)
        if not sent:
            raise TargetError(f"{self.bench.name} is gone: {ill}")
        suspects = [(each, batch.program(each)) for each in sent]
        violation = Violation(*_OF_DEATH, flow=0, step=0, expected=ALIVE, actual=ill)
        batch.tally.note(sent[-1], violation)
        known = any(each.rule == ALIVE for each in self._store.findings())
        try:
            self._patient.revive()
            if not known:
                self._of_deaths.append(culprit(self._patient, self._plan, suspects, ill))
        except TargetError:
            self._of_deaths.append(unexplained(self._plan, suspects[-1], ill))
            raise

    def _settle(self) -> None:
        """Make findings of what was seen and not tried yet."""
        for seen in self._store.open_sightings():
            if seen.kind == _OF_DEATH:
                suspects = [(seen.number, seen.program)]
                finding = culprit(self._patient, self._plan, suspects, seen.actual)
            else:
                try:
                    finding = resolve(self.bench, self._plan, seen)
                except TargetError:
                    self._patient.revive()
                    finding = given_up(self._plan, seen)
            if self._store.settle(seen.kind, finding):
                self._on_finding(finding)
            self._on_progress(self.progress())

    def progress(self) -> Progress:
        """How far it is now."""
        sending = max(self._sending, 1e-9)
        programs = self._before.programs + self._programs_sent
        wanted = None
        if self._programs is not None:
            wanted = sum(len(numbers) for _, numbers in self._plan.batches(self._programs))
        lefts = []
        if wanted is not None and self._programs_sent:
            lefts.append(max(wanted - programs, 0) * sending / self._programs_sent)
        if self._seconds is not None:
            lefts.append(max(self._seconds - self._spent(), 0.0))
        found = [each for each in self._store.findings() if each.status is Status.CONFIRMED]
        return Progress(
            programs=programs,
            probes=self._before.probes + self._probes_sent,
            seconds=self._before.seconds + self._sending,
            probes_a_second=self._probes_sent / sending,
            programs_a_second=self._programs_sent / sending,
            wanted=wanted,
            left=min(lefts, default=None),
            findings=len(found),
        )

    def _spent(self) -> float:
        """Seconds, all runs together; of this one also those that findings took."""
        return self._before.seconds + time.monotonic() - self._began

    def _is_over(self) -> bool:
        return self._seconds is not None and self._spent() >= self._seconds

    def _counters(self) -> dict[str, int]:
        try:
            return self.bench.counters()
        except TargetError:
            return {}
