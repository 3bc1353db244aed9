"""Runs a campaign in rounds: sends programs, then turns their violations into findings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import Bench
from scapy_tfo.fuzz.campaign.liveness import Patient, culprit, unexplained
from scapy_tfo.fuzz.campaign.sender import Sender
from scapy_tfo.fuzz.campaign.settling import OF_DEATH, Settling
from scapy_tfo.fuzz.findings.finding import ALIVE, BALANCED, Finding
from scapy_tfo.fuzz.findings.keeper import Keeper
from scapy_tfo.fuzz.generation.batches import Maker
from scapy_tfo.oracle.counters import MISCOUNTS

MOST_DEATHS = 8
"""Of a target without a whole batch in between; then there is no use in going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a campaign is.

    programs, probes, seconds: all its runs together, seconds those of sending; probes are
    segments. probes_a_second, programs_a_second: in this run, while it sent. wanted: programs
    that this shard will have sent, None where only time ends it. left: seconds, None where
    nothing tells. findings: confirmed ones. quiet: seconds since something new was
    reached. slowest: seconds and number of the slowest programs of this run.
    """

    programs: int
    probes: int
    seconds: float
    probes_a_second: float
    programs_a_second: float
    wanted: int | None
    left: float | None
    findings: int
    quiet: float
    slowest: tuple[tuple[float, int], ...] = ()


class Campaign:
    """store: to go on with. make: the grammar. bench: the target; reopen makes another of it where
    that dies. programs: of the whole campaign, all shards together; seconds: all runs together;
    None for no limit. on_progress: called after each batch; on_finding: with each new finding.
    """

    def __init__(
        self,
        store: Keeper,
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
        self._patient = Patient(reopen, bench)
        self._seconds = seconds
        self.on_progress = on_progress
        self.on_finding = on_finding
        self._before = store.totals()
        self._began = time.monotonic()
        self._wanted = None
        if programs is not None:
            self._wanted = sum(len(numbers) for _, numbers in self._plan.batches(programs))
        self._sender = Sender(store, make, programs, self._left, self._tell)
        self._settling = Settling(store, self._patient, seconds, self._left, self._found)
        self._deaths = 0

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
        self._settling.settle()
        while self._left() > 0 and self._sender.has_more:
            try:
                self._round()
            except (KeyboardInterrupt, TargetError):
                self._sender.break_off()
                raise
            self._settling.settle(sending=True)
        self._sender.break_off()
        # What the time did not suffice for has shown something, too.
        self._settling.settle()

    def _round(self) -> None:
        before, whole = self._counters(), self._sender.whole
        trouble = self._sender.round(self.bench)
        ill = self._patient.ails()
        if self._sender.whole > whole:
            self._deaths = 0
        if trouble and not ill:
            self._sender.trust_silence()
        if trouble or ill:
            self._begin_again(ill or trouble, is_dead=bool(ill))
            return
        try:
            self._sender.fire(self.bench)
        except TargetError as error:
            self._begin_again(str(error), is_dead=True)
            return
        after = self._counters()
        self._store.count({name: max(after[name] - before.get(name, 0), 0) for name in after})

    def _begin_again(self, ill: str, *, is_dead: bool) -> None:
        """After a round that was broken off."""
        if is_dead:
            self._deaths += 1
            self._mourn(ill)
        # A program that kills it each time is left behind at the second death.
        if self._deaths > 1:
            self._sender.go_on()
        else:
            self._sender.begin_anew()
        if self._deaths > MOST_DEATHS:
            raise TargetError(f"{self.bench.name} keeps failing: {ill}")

    def _mourn(self, ill: str) -> None:
        """Bring a target back, and find out of what it died, the first time."""
        suspects = list(self._sender.last)
        if not suspects:
            raise TargetError(f"{self.bench.name} has failed: {ill}")
        self._store.witness(OF_DEATH, *suspects[-1], ALIVE, ill)
        rule = BALANCED if ill.startswith(MISCOUNTS) else ALIVE
        known = any(each.rule == rule for each in self._store.findings())
        try:
            self._patient.revive()
            if not known:
                self._settling.keep(OF_DEATH, culprit(self._patient, self._plan, suspects, ill))
        except TargetError:
            self._settling.keep(OF_DEATH, unexplained(self._plan, suspects[-1], ill))
            raise

    def progress(self) -> Progress:
        """How far it is now."""
        sender = self._sender
        seconds = max(sender.seconds, 1e-9)
        programs = self._before.programs + sender.sent
        left = self._left()
        if self._wanted is not None and sender.sent:
            left = min(left, max(self._wanted - programs, 0) * seconds / sender.sent)
        return Progress(
            programs=programs,
            probes=self._before.probes + sender.probes,
            seconds=self._before.seconds + sender.seconds,
            probes_a_second=sender.probes / seconds,
            programs_a_second=sender.sent / seconds,
            wanted=self._wanted,
            left=None if math.isinf(left) else max(left, 0.0),
            findings=len(self._settling.signatures),
            quiet=self._store.quiet(),
            slowest=tuple(sender.slowest),
        )

    @property
    def slowed(self) -> float:
        """Seconds for which the target's lag, or the rate, has held sending back."""
        return float(getattr(self.bench, "slowed", 0.0))

    def _found(self, finding: Finding, *, is_new: bool) -> None:
        if is_new:
            self.on_finding(finding)
        self._tell()

    def _tell(self) -> None:
        self.on_progress(self.progress())

    def _left(self) -> float:
        """Seconds until it is over: all runs together, of this one also what findings took."""
        if self._seconds is None:
            return math.inf
        return self._seconds - self._before.seconds - (time.monotonic() - self._began)

    def _counters(self) -> dict[str, int]:
        try:
            return self.bench.counters()
        except TargetError:
            return {}
