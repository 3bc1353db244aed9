"""Sending besides the batches: programs that wait for long, and volleys of single SYNs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scapy_tfo.errors import TargetError
from scapy_tfo.executor.bench import VolleyResult
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.campaign import sender
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.findings.totals import Part
from scapy_tfo.fuzz.generation.batches import LONG
from scapy_tfo.program import splice
from scapy_tfo.program.program import Flow, Program, Send, Wait, waits
from tests.fuzz.fakes import FakeBench, Fault, make, plan, sends


def slow(seed: int, themes: str) -> Program:
    """Every eighth program waits for long."""
    program = make(seed, themes)
    return splice.with_steps(program, (*program.steps, Wait(30.0 if seed % 8 == 0 else 0.5)))


def run(path: Path, bench: FakeBench, programs: int = 256, **limits: float) -> Store:
    """The store of a campaign on a target in real time; the caller closes it."""
    changes = {"live": True, "mutate": False, "volleys": 2 if isinstance(bench, Gunner) else 0}
    store = (
        Store.open(path, to_write=True) if path.exists() else Store.create(path, plan(**changes))
    )
    try:
        with suppress(TargetError):
            Campaign(store, slow, bench, lambda: bench, programs=programs, **limits).run()
    except BaseException:
        store.close()
        raise
    return store


def test_programs_that_wait_for_long_are_sent_beside_the_others(tmp_path: Path) -> None:
    bench = FakeBench()
    with closing(run(tmp_path / "a.sqlite", bench)) as store:
        assert store.totals().programs == 256
        assert store.late_ones() == 0
    late = [number for number in bench.log if number % 8 == 0]
    assert len(late) == 32
    # Each goes out with those of its number, and none waits for the end of a batch.
    assert max(abs(bench.log.index(each) - each) for each in late) <= 16
    assert sorted(bench.log) == list(range(256))


def test_where_a_round_is_over_they_wait_for_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "LIVE_ROUND", 0.0)
    bench = FakeBench()
    run(tmp_path / "a.sqlite", bench).close()
    late = [at for at, number in enumerate(bench.log) if number % 8 == 0]
    assert late[0] > 64
    assert sorted(bench.log) == list(range(256))


def test_no_more_than_there_is_room_for_wait_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "MOST_LATE", 2)
    bench = FakeBench(window=200)
    with closing(run(tmp_path / "a.sqlite", bench)) as store:
        assert (store.totals().programs, store.late_ones()) == (256, 0)
    late = [at for at, number in enumerate(bench.log) if number % 8 == 0]
    assert late[2] > 128
    assert sorted(bench.log) == list(range(256))


def test_they_survive_a_run_that_ends_before_them(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(run(path, FakeBench(), 64, seconds=20.0)) as store:
        assert (store.totals().programs, store.late_ones()) == (56, 8)
        store.limit(64, None)
    bench = FakeBench([Fault(lambda program: waits(program) >= LONG)])
    with closing(run(path, bench, 64)) as store:
        assert store.totals().programs == 64
        (finding,) = store.findings()
        assert waits(finding.reduced) >= LONG
    assert bench.log[:8] == list(range(0, 64, 8))
    with (
        closing(run(tmp_path / "whole.sqlite", FakeBench(), 64)) as whole,
        closing(Store.open(path)) as again,
    ):
        assert whole.totals().seeded == again.totals().seeded


def test_those_for_which_there_is_no_time_stay_put_off(tmp_path: Path) -> None:
    with closing(run(tmp_path / "a.sqlite", FakeBench(), seconds=20.0)) as store:
        assert store.late_ones() == 32
        assert store.totals().programs == 256 - 32


@dataclass
class Gunner(FakeBench):
    """Can send volleys. fired: their seeds. fails_at: the volley at which the target dies once."""

    fired: list[int] = field(default_factory=list)
    fails_at: int = -1

    def volley(self, seed: int) -> VolleyResult:
        if len(self.fired) == self.fails_at:
            self.fails_at = -1
            raise TargetError("gone")
        self.fired.append(seed)
        suspect = Program((Flow(),), (Send(size=77), Wait()))
        return VolleyResult(sent=1000, heard=990, suspects=[(suspect, "no answer")])

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        assert not getattr(self, "is_running", False)
        self.is_running = True
        try:
            yield from super().run(programs)
        finally:
            self.is_running = False


def test_each_batch_has_its_volleys_and_suspects_are_judged_as_programs(tmp_path: Path) -> None:
    bench = Gunner([Fault(lambda program: any(each.size == 77 for each in sends(program)))])
    with closing(run(tmp_path / "a.sqlite", bench)) as store:
        assert sorted(bench.fired) == [0, 1, 64, 65, 128, 129, 192, 193]
        totals = store.totals()
        assert totals.singles == 8000
        assert totals.programs == 256
        (finding,) = store.findings()
        assert finding.count == 8
        assert sends(finding.program)[0].size == 77


def test_volleys_that_were_not_sent_are_sent_later(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    bench = Gunner(fails_at=3)
    run(path, bench, 128).close()
    with closing(run(path, bench, 128)) as store:
        assert store.finished(Part.VOLLEYS).keys() == {0, 1}
        assert store.totals().singles == 4000
    again = [each for each in bench.fired if bench.fired.count(each) > 1]
    assert set(again) <= {0, 1, 64, 65}


class SlowGunner(Gunner):
    """Takes its time for a volley."""

    def volley(self, seed: int) -> VolleyResult:
        time.sleep(1.8)
        return super().volley(seed)


def test_slow_volleys_end_soon_after_the_time_is_over(tmp_path: Path) -> None:
    bench = SlowGunner()
    run(tmp_path / "a.sqlite", bench, 256, seconds=3.0).close()
    # Those of one batch were under way; the others are sent when the campaign is resumed.
    assert 0 < len(bench.fired) <= 4
