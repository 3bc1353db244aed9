"""Campaigns that are killed, that kill their target, and whose findings come and go."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.verdict import NO_COOKIE, TracedPacket, Verdict
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.campaign.liveness import Patient
from scapy_tfo.fuzz.campaign.settling import Settling, extra_seconds
from scapy_tfo.fuzz.findings.finding import ALIVE, BALANCED, Finding, Status
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.batches import Tally
from scapy_tfo.oracle.counters import MISCOUNTS
from scapy_tfo.program.program import Flow, Program, Send, Wait
from scapy_tfo.report.fuzz_report import figures_of, summary, undecided
from tests.fuzz.fakes import FakeBench, Fault, make, plan, sends

ROOT = Path(__file__).resolve().parent.parent.parent
KILLS = 20

CHILD = """
import os, sys
from pathlib import Path
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.findings.database import is_empty
from scapy_tfo.report.fuzz_report import figures_of, summary
from tests.fuzz.fakes import FakeBench, Fault, make, plan, sends

path, programs, faults = Path(sys.argv[1]), int(sys.argv[2]), [
    Fault(lambda program: any("R" in each.flags and each.size for each in sends(program)))
]
for line in sys.stdin:
    # Each line is a life, in a process of its own, that ends at some system call or somewhere.
    if os.fork() == 0:
        import random, signal
        dice = random.Random(line)
        class Mortal(FakeBench):
            def judge(self, program):
                if dice.random() < 1 / 100:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().judge(program)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.001, 0.05) * (1 + int(line) / 20))
        store = Store.create(path, plan()) if is_empty(path) else Store.open(path, to_write=True)
        bench = Mortal(faults)
        Campaign(store, make, bench, lambda: bench, programs=programs).run()
        store.close()
        os._exit(0)
    _, status = os.wait()
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass
class Interrupted(FakeBench):
    """at: the program during which Ctrl-C is pressed."""

    at: int = 0

    def judge(self, program: Program) -> Verdict:
        if len(self.log) == self.at:
            raise KeyboardInterrupt
        return super().judge(program)


def run(
    path: Path,
    bench: FakeBench,
    programs: int = 128,
    *,
    reopen: Callable[[], FakeBench] | None = None,
    seconds: float | None = None,
) -> list[Finding]:
    """What a campaign finds, when it was new or as it goes on."""
    store = Store.open(path, to_write=True) if path.exists() else Store.create(path, plan())
    with closing(store):
        Campaign(
            store, make, bench, reopen or (lambda: bench), programs=programs, seconds=seconds
        ).run()
        return store.findings()


def test_killed_twenty_times_it_sends_what_an_uninterrupted_one_does(tmp_path: Path) -> None:
    programs = 64 * 12
    path = tmp_path / "killed.sqlite"
    lives = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(path), str(programs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert lives.stdin is not None
    assert lives.stdout is not None
    ends = []
    with lives:
        for life in range(400):
            lives.stdin.write(f"{life}\n")
            lives.stdin.flush()
            ends.append(int(lives.stdout.readline()))
            if ends[-1] == 0:
                break
    assert set(ends[:-1]) == {-9}
    assert ends[-1] == 0
    assert len(ends) > KILLS
    faults = [
        Fault(lambda program: any("R" in each.flags and each.size for each in sends(program)))
    ]
    whole = tmp_path / "whole.sqlite"
    run(whole, FakeBench(faults), programs)
    with closing(Store.open(path)) as killed, closing(Store.open(whole)) as expected:
        ours, theirs = killed.totals(), expected.totals()
        assert (ours.seeded, ours.mutated) == (theirs.seeded, theirs.mutated)
        assert (ours.programs, ours.probes) == (theirs.programs, theirs.probes)
        assert killed.coverage() == expected.coverage()
        assert [(each.id, each.count) for each in killed.findings()] == [
            (each.id, each.count) for each in expected.findings()
        ]


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with pytest.raises(KeyboardInterrupt):
        run(path, Interrupted(window=4, at=150), 256)
    with closing(Store.open(path)) as store:
        assert 0 in store.finished()
        assert 64 * len(store.finished()) < store.totals().programs < 150
    run(path, FakeBench(), 256)
    whole = tmp_path / "whole.sqlite"
    run(whole, FakeBench(), 256)
    with closing(Store.open(path)) as store, closing(Store.open(whole)) as expected:
        ours, theirs = store.totals(), expected.totals()
        assert (ours.programs, ours.seeded, ours.mutated) == (256, theirs.seeded, theirs.mutated)
        # What was broken off counts once, though it was sent twice.
        assert store.curve().programs == expected.curve().programs == 256
        store.close()
        with closing(Store.open(path)) as again:
            assert again.curve().programs == 256


def test_what_an_interrupted_run_has_not_tried_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with pytest.raises(KeyboardInterrupt):
        run(path, Interrupted([Fault(lambda _: True)], window=4, at=30))
    with closing(Store.open(path)) as store:
        assert store.findings() == []
        assert summary(figures_of(store)).endswith("1 kind of violations not tried again yet")
    assert len(run(path, FakeBench([Fault(lambda _: True)]))) == 1
    with closing(Store.open(path)) as store:
        assert figures_of(store)["untried"] == 0


@dataclass
class Cookieless(FakeBench):
    """every: of so many programs one asks in vain."""

    every: int = 1

    def judge(self, program: Program) -> Verdict:
        verdict = super().judge(program)
        asked_in_vain = len(self.log) % self.every == 0
        return replace(verdict, unjudged=NO_COOKIE) if asked_in_vain else verdict


@pytest.mark.parametrize(("every", "without", "fails"), [(1, 64, True), (8, 8, False)])
def test_a_target_without_cookies_is_told(
    tmp_path: Path, every: int, without: int, fails: bool
) -> None:
    path = tmp_path / "a.sqlite"
    run(path, Cookieless(every=every), 64)
    with closing(Store.open(path)) as store:
        figures = figures_of(store)
        assert figures["unjudged"] == without
        assert figures["unjudged_because"] == {NO_COOKIE: without}
        told = f", {without} programs not judged (the target granted no cookie)"
        assert told in summary(figures)
        assert (f"granted no cookie in {without} of 64" in undecided(store)) is fails


@dataclass
class Dear(FakeBench):
    """cost: seconds that each program takes, by a clock that nothing else moves."""

    window: int = 0
    cost: float = 0.0
    now: float = 1000.0

    def judge(self, program: Program) -> Verdict:
        self.now += self.cost
        return super().judge(program)


@pytest.mark.parametrize(("cost", "found"), [(0.01, 1), (1.0, 1), (20.0, 0)])
@pytest.mark.parametrize("seconds", [10.0, 100.0])
def test_trying_ends_with_the_time_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cost: float, found: int, seconds: float
) -> None:
    bench = Dear([Fault(lambda _: True)], cost=cost)
    monkeypatch.setattr(time, "monotonic", lambda: bench.now)
    path = tmp_path / "a.sqlite"
    findings = run(path, bench, 10_000, seconds=seconds)
    assert len(findings) >= found
    assert all(each.packets for each in findings if each.status is Status.CONFIRMED)
    # What is under way when the time is over is finished.
    assert bench.now - 1000 <= seconds + extra_seconds(seconds) + 4 * cost
    with closing(Store.open(path)) as store:
        assert bool(undecided(store)) is (figures_of(store)["untried"] > 0)
        assert findings or "1 kind of violations not confirmed in time" in undecided(store)
    bench.cost = 0.01
    assert len(run(path, bench, 10_000, seconds=seconds)) == 1
    with closing(Store.open(path)) as store:
        assert undecided(store) == ""


def test_a_campaign_without_an_end_tries_for_as_long_as_it_takes() -> None:
    assert extra_seconds(None) == float("inf")


def test_a_campaign_that_is_extended_sends_its_last_batch_again(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    run(path, FakeBench(), 100)
    bench = FakeBench()
    run(path, bench, 200)
    assert sorted(bench.log) == list(range(64, 200))


def test_no_time_is_no_programs(tmp_path: Path) -> None:
    bench = FakeBench()
    run(tmp_path / "a.sqlite", bench, seconds=1e-9)
    assert bench.log == []


def test_what_a_broken_off_batch_showed_is_tried(tmp_path: Path) -> None:
    class Slow(FakeBench):
        """Takes long for its tenth program, and is then over its time."""

        def judge(self, program: Program) -> Verdict:
            if len(self.log) == 10:
                time.sleep(0.2)
            return super().judge(program)

    path = tmp_path / "a.sqlite"
    (finding,) = run(path, Slow([Fault(lambda _: True)], window=4), seconds=0.1)
    assert finding.status is Status.CONFIRMED
    with closing(Store.open(path)) as store:
        assert not store.finished()


def test_violations_with_one_cause_are_one_finding(tmp_path: Path) -> None:
    def has_reset(program: Program) -> bool:
        return any(each.flags == "R" for each in sends(program))

    class Talkative(FakeBench):
        """Calls the same thing by another state when there are many steps."""

        def judge(self, program: Program) -> Verdict:
            state = "OPEN" if len(program.steps) > 4 else "LISTEN"
            self.faults = [Fault(has_reset, state=state)]
            return super().judge(program)

    (finding,) = run(tmp_path / "a.sqlite", Talkative())
    assert finding.state == "LISTEN"
    assert len(finding.reduced.steps) == 1


def test_what_no_program_shows_alone_is_flaky_however_many_show_it(tmp_path: Path) -> None:
    def has_reset(program: Program) -> bool:
        return any(each.flags == "R" for each in sends(program))

    class Crowded(FakeBench):
        def judge(self, program: Program) -> Verdict:
            state = "OPEN" if len(program.steps) > 4 else "LISTEN"
            self.faults = [Fault(has_reset, state=state)]
            return super().judge(program)

        def trace(self, _: Program) -> tuple[Verdict, tuple[TracedPacket, ...]]:
            return Verdict(), ()

    findings = run(tmp_path / "a.sqlite", Crowded())
    assert [each.status for each in findings] == [Status.FLAKY]


def test_what_does_not_come_each_time_is_kept_apart(tmp_path: Path) -> None:
    dice = random.Random(1)
    fault = Fault(lambda _: dice.random() < 0.1)
    findings = run(tmp_path / "a.sqlite", FakeBench([fault]), 640)
    assert [each.status for each in findings] == [Status.FLAKY]
    assert findings[0].count > 10


def test_a_flaky_one_is_tried_again_and_then_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    bench = FakeBench()
    always = Fault(lambda program: "S" in [each.flags for each in sends(program)])

    class Hesitant(FakeBench):
        def trace(self, _: Program) -> tuple[Verdict, tuple[TracedPacket, ...]]:
            return Verdict(), ()

    assert [each.status for each in run(path, Hesitant([always]), 64)] == [Status.FLAKY]
    bench.faults = [always]
    (finding,) = run(path, bench, 128)
    assert finding.status is Status.CONFIRMED
    assert finding.packets


def _deadly(program: Program) -> bool:
    return sum(each.flags == "F." and each.size == 300 for each in sends(program)) >= 2


def test_a_target_that_dies_is_a_finding_with_the_program_that_killed_it(tmp_path: Path) -> None:
    def reopen() -> FakeBench:
        return FakeBench(kills=_deadly)

    findings = run(tmp_path / "a.sqlite", reopen(), 320, reopen=reopen)
    (finding,) = findings
    assert (finding.requirement, finding.rule, finding.status) == (
        "robust",
        ALIVE,
        Status.CONFIRMED,
    )
    assert len(finding.reduced.steps) == 2
    assert _deadly(finding.reduced)
    assert "dead" in finding.actual or "no answer" in finding.actual
    with closing(Store.open(tmp_path / "a.sqlite")) as store:
        assert store.totals().batches == 5


def test_a_target_that_miscounts_is_a_finding_of_its_own(tmp_path: Path) -> None:
    class Miscounts(FakeBench):
        def alive(self) -> str:
            return f"{MISCOUNTS}: 3 for 2" if self.is_dead else ""

    def reopen() -> FakeBench:
        return Miscounts(kills=_deadly)

    (finding,) = run(tmp_path / "a.sqlite", reopen(), 320, reopen=reopen)
    assert (finding.rule, finding.reply) == (BALANCED, "counters")
    assert finding.status is Status.CONFIRMED


def test_a_target_that_stays_dead_ends_the_campaign(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    bench = FakeBench(kills=lambda program: len(program.steps) == 8)
    with pytest.raises(TargetError, match="does not recover"):
        run(path, bench, 640)
    with closing(Store.open(path)) as store:
        (finding,) = store.findings()
        assert finding.status is Status.FLAKY
        assert "does not come back" in finding.actual


def test_a_target_that_dies_of_everything_ends_the_campaign(tmp_path: Path) -> None:
    def reopen() -> FakeBench:
        return FakeBench(kills=lambda _: True)

    with pytest.raises(TargetError, match="keeps failing"):
        run(tmp_path / "a.sqlite", reopen(), reopen=reopen)


def test_a_target_that_is_dead_from_the_start_is_not_judged(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be judged: no answer"):
        run(tmp_path / "a.sqlite", FakeBench(is_dead=True))


@pytest.mark.parametrize(("seconds", "tried"), [(1.0, True), (70.0, False)])
def test_what_waits_for_long_is_tried_behind_all(
    tmp_path: Path, seconds: float, tried: bool
) -> None:
    """Results of others would not be saved meanwhile."""
    fault = Fault(lambda program: bool(program.sends), requirement="AFT-11")
    bench, tally, found = FakeBench([fault]), Tally(), list[Finding]()
    program = Program((Flow(),), (Send(0, "S"), Wait(seconds)), "finish")
    tally.note(0, fault.violation, program)
    with closing(Store.create(tmp_path / "campaign.sqlite", plan(live=True))) as store:
        store.commit_volleys(0, tally, seconds=0.0)

        def keep(finding: Finding, *, is_new: bool) -> None:
            if is_new:
                found.append(finding)

        settling = Settling(store, Patient(lambda: bench, bench), 60.0, lambda: 30.0, keep)
        settling.settle(sending=True)
        assert bool(found) is tried
        settling.settle()
        assert [each.requirement for each in found] == ["AFT-11"]
