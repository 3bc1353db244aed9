"""Campaigns on several processors: what they send, find and keep is what one process does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import TargetError
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.campaign.jobs import ParallelCampaign, jobs_for
from scapy_tfo.fuzz.campaign.relay import share_of
from scapy_tfo.fuzz.findings.finding import ALIVE, Status
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.program import splice
from scapy_tfo.program.program import Program, Wait
from tests.fuzz.command_line import MUTANT, complaint, results
from tests.fuzz.fakes import FakeBench, Fault, make, plan, sends

PROGRAMS = 64 * 9
RESETS = Fault(lambda program: any("R" in each.flags and each.size for each in sends(program)))


def parallel(
    store: Store, reopen: Callable[[], FakeBench], jobs: int, **limits: float
) -> ParallelCampaign:
    limits = {"programs": PROGRAMS} | limits
    return ParallelCampaign(store, make, reopen(), reopen, jobs=jobs, **limits)


@pytest.mark.parametrize("jobs", [2, 3])
def test_they_send_and_find_what_one_does(tmp_path: Path, jobs: int) -> None:
    def reopen() -> FakeBench:
        return FakeBench([RESETS])

    with (
        closing(Store.create(tmp_path / "one.sqlite", plan())) as one,
        closing(Store.create(tmp_path / "many.sqlite", plan())) as many,
    ):
        Campaign(one, make, reopen(), reopen, programs=PROGRAMS).run()
        parallel(many, reopen, jobs).run()
        ours, theirs = many.totals(), one.totals()
        assert (ours.seeded, ours.mutated) == (theirs.seeded, theirs.mutated)
        assert (ours.programs, ours.probes, ours.heard) == (
            *(theirs.programs, theirs.probes, theirs.heard),
        )
        assert many.finished() == one.finished()
        assert many.coverage() == one.coverage()
        assert [each.id for each in many.findings()] == [each.id for each in one.findings()]
        assert many.findings()[0].count == one.findings()[0].count
        assert sum(many.counters().values()) >= PROGRAMS


def test_what_was_put_off_is_sent_in_the_end(tmp_path: Path) -> None:
    def slow(seed: int, themes: str) -> Program:
        program = make(seed, themes)
        return splice.with_steps(program, (*program.steps, Wait(30.0 if seed % 8 == 0 else 0.5)))

    live = plan(live=True, mutate=False)
    with closing(Store.create(tmp_path / "a.sqlite", live)) as store:
        ParallelCampaign(store, slow, FakeBench(), FakeBench, jobs=2, programs=256).run()
        assert store.totals().programs == 256
        assert store.late_ones() == 0


def test_a_shard_is_divided_further() -> None:
    held = plan(shard=(2, 3))
    whole = [number for number, _ in held.batches(64 * 40)]
    parts = [[n for n, _ in share_of(held, each, 4).batches(64 * 40)] for each in range(4)]
    assert sorted(number for part in parts for number in part) == whole
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_campaign_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(Store.create(path, plan())) as store:
        parallel(store, FakeBench, 3, programs=200).run()
    with closing(Store.open(path, to_write=True)) as store:
        parallel(store, FakeBench, 2).run()
        Campaign(store, make, FakeBench(), FakeBench, programs=PROGRAMS + 64).run()
    with closing(Store.create(tmp_path / "one.sqlite", plan())) as one:
        Campaign(one, make, FakeBench(), FakeBench, programs=PROGRAMS + 64).run()
        with closing(Store.open(path)) as store:
            assert store.totals().seeded == one.totals().seeded
            assert store.totals().mutated == one.totals().mutated


class Slow(FakeBench):
    """Takes a moment for each program."""

    def judge(self, program: Program) -> Verdict:
        time.sleep(0.001)
        return super().judge(program)


def test_ctrl_c_keeps_what_was_finished_and_ends_all(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(Store.create(path, plan())) as store:
        campaign = ParallelCampaign(store, make, Slow(), Slow, jobs=2)
        campaign.on_progress = lambda progress: (
            os.kill(os.getpid(), signal.SIGINT) if progress.programs > 64 else None
        )
        with pytest.raises(KeyboardInterrupt):
            campaign.run()
        assert store.totals().programs > 64
        assert store.finished()
    with closing(Store.open(path, to_write=True)) as store:
        parallel(store, FakeBench, 2).run()
        assert set(range(9)) <= set(store.finished())


def test_a_target_that_dies_is_one_finding_with_the_program_that_killed_it(tmp_path: Path) -> None:
    def deadly(program: Program) -> bool:
        return sum(each.flags == "F." and each.size == 300 for each in sends(program)) >= 2

    def reopen() -> FakeBench:
        return FakeBench(kills=deadly)

    with closing(Store.create(tmp_path / "a.sqlite", plan())) as store:
        parallel(store, reopen, 2).run()
        (finding,) = store.findings()
        assert (finding.rule, finding.status) == (ALIVE, Status.CONFIRMED)
        assert deadly(finding.reduced)
        assert store.totals().batches == 9


def test_a_target_that_stays_dead_ends_the_campaign(tmp_path: Path) -> None:
    bench = FakeBench(kills=lambda program: len(program.steps) == 8)
    with closing(Store.create(tmp_path / "a.sqlite", plan())) as store:
        with pytest.raises(TargetError, match="does not recover"):
            parallel(store, lambda: bench, 2).run()
        assert [each.status for each in store.findings()] == [Status.FLAKY]


def test_a_process_that_is_killed_is_told(tmp_path: Path) -> None:
    class Mortal(FakeBench):
        def judge(self, program: Program) -> Verdict:
            if len(self.log) == 100:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().judge(program)

    with (
        closing(Store.create(tmp_path / "a.sqlite", plan())) as store,
        pytest.raises(RuntimeError, match="died, with status -9"),
    ):
        parallel(store, Mortal, 2).run()


@pytest.mark.parametrize(
    ("target", "wanted", "programs", "jobs"),
    [
        ("sim:reference", 2, None, 2),
        ("sim:reference", 4, 64 * 2 + 1, 3),
        ("sim:reference", 4, 10, 1),
        ("lab:linux against sim:reference", 2, None, 2),
        ("192.0.2.1:7", 2, None, 1),
        ("lab:linux against 192.0.2.1:7", 2, None, 1),
    ],
)
def test_no_more_are_started_than_are_of_use(
    target: str, wanted: int, programs: int | None, jobs: int
) -> None:
    assert jobs_for(plan(target=target), wanted, programs) == jobs


def test_the_command_says_the_same_for_any_number(tmp_path: Path) -> None:
    found = []
    for jobs in ("1", "2"):
        out = tmp_path / jobs
        given = ["--programs", "600", "--quiet", "--jobs", jobs, "--out", str(out)]
        assert main(["fuzz", MUTANT, *given]) == 1
        figures = results(out / "results.json")
        found.append((figures["fingerprints"], figures["sequences"], figures["probes"]))
    assert found[0] == found[1]


def test_a_target_that_is_there_once_has_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "127.0.0.1:7", "--jobs", "2"]) == 2
    assert "it goes with sim: and lab:" in complaint(capsys)
