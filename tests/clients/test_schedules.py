"""Schedules of clients: right ones come through each, wrong ones do not; a line is a schedule."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from scapy_tfo import spec
from scapy_tfo.cli import main
from scapy_tfo.client_laws.schedules import plan
from scapy_tfo.client_laws.schedules.context import CONTEXT
from scapy_tfo.client_laws.schedules.runs import Bounds, explore_simulated
from scapy_tfo.client_laws.schedules.schedule import Fault, Schedule, schedule_of
from scapy_tfo.clients.judge import Options
from scapy_tfo.covering import combinations, wanted
from scapy_tfo.errors import SetupError
from scapy_tfo.suite.result import Run, Verdict

ORDER = (True, False, True, True, False)


def explored(client: str, *, seed: int = 0, times: int | None = None, line: str = "") -> Run:
    bounds = Bounds(600.0, times, seed, schedule_of(line) if line else None)
    return explore_simulated(f"sim:{client}", spec.load(), Options(families=(4,)), bounds)


def failures(run: Run) -> list[tuple[str, str]]:
    found = [each for each in run.results if each.verdict is Verdict.FAIL and each.level.fails_run]
    return [(each.title, each.reason) for each in found] + [
        (each.rule, each.actual) for each in run.breaches
    ]


# == What there is ==


def test_a_line_is_a_schedule() -> None:
    dice = random.Random(1)
    some = dict.fromkeys(plan.cells(), ORDER)
    every = [*some, *islice(plan.further(some, dice), 300)]
    assert [each for each in every if schedule_of(str(each)) != each] == []
    assert {plan.stage_of(each) for each in every} == {
        *(plan.CELLS, plan.FAULT, plan.CONTEXTS, plan.BOTH, plan.TWO)
    }


@pytest.mark.parametrize(
    "line",
    [
        "",
        "fast",
        "fast, at-once",
        "quick, at-once, 100",
        "fast, sleeps, 100",
        "fast, at-once, 100 {mss 12}",
        "fast, at-once, 100; c0:eaten",
        "fast, at-once, 100; x0:lost",
    ],
)
def test_what_is_no_schedule_is_refused(line: str) -> None:
    with pytest.raises(SetupError, match="is no schedule"):
        schedule_of(line)


def test_each_packet_meets_each_fault() -> None:
    made = {str(each.faults[0]) for each in plan.with_a_fault(Schedule(), ORDER)}
    assert len(made) == 5 * len(ORDER)
    assert {"c0:lost", "s1:corrupted", "c2:swapped"} <= made
    assert "s2:lost" not in made


def test_any_two_levels_of_a_context_meet() -> None:
    levels = [list(each) for each in CONTEXT.values()]
    rows = [tuple(dict(row).get(name, next(iter(CONTEXT[name]))) for name in CONTEXT)
            for row in ((), *plan.rows())]  # fmt: skip
    numbers = [
        tuple(some.index(level) for some, level in zip(levels, row, strict=True)) for row in rows
    ]
    met = {each for row in numbers for each in combinations(row, 2)}
    assert not set(wanted([len(each) for each in levels], 2)) - met


# == Legal clients ==


@pytest.mark.parametrize(
    "client", ["reference", "nagle", "remembers-four-servers", "client-row-7", "client-row-12"]
)
def test_a_legal_client_comes_through(client: str) -> None:
    run = explored(client, seed=len(client), times=80)
    assert failures(run) == []
    assert not any("breaks" in each for each in run.notes)
    played = Counter[str]()
    for each in run.results:
        played.update({name: int(count) for name, count in each.observed.items()})
    assert played["pass"] > 40


def test_a_seed_is_the_same_exploration_each_time() -> None:
    one, two = (explored("reference", seed=5, times=40) for _ in range(2))
    assert [each.observed for each in one.results] == [each.observed for each in two.results]


# == Wrong ones ==


@pytest.mark.parametrize(
    ("client", "line"),
    [
        ("lost-syn-loses-its-data", "fast, at-once, 100; c0:lost"),
        ("acceptance-loses-the-rest", "fast, at-once, 3000"),
        ("fast-open-is-not-repeated", "fast, at-once, 100; s0:lost"),
    ],
)
def test_a_wrong_client_does_not(client: str, line: str) -> None:
    assert failures(explored(client, line=line))
    assert not failures(explored("reference", line=line))


def test_a_cause_is_told_by_its_smallest_schedule() -> None:
    run = explored("acceptance-loses-the-rest", times=80)
    found = next(each for each in run.results if each.verdict is Verdict.FAIL)
    smallest = schedule_of(found.title)
    assert not smallest.faults
    assert not smallest.context
    assert int(found.observed["schedules that showed it"]) > 2
    again = explored("acceptance-loses-the-rest", line=found.title)
    assert (found.title, found.reason) in failures(again)


def test_a_simpler_schedule_lacks_one_thing() -> None:
    whole = Schedule("fast", "think:20", 3000, (("mss", "536"),), (Fault(True, 0, "lost"),))
    made = whole.simpler()
    assert replace(whole, faults=()) in made
    assert replace(whole, context=()) in made
    assert len(made) == 4


# == The command ==


def test_the_command_explores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["client", "sim:reference", "-4", "--explore", "--times", "30", "--out", str(tmp_path)]
    assert main(words) == 0
    assert "0 fail" in capsys.readouterr().out or (tmp_path / "results.json").exists()


@pytest.mark.parametrize(
    "more",
    [
        ["--explore", "--only", "CLI-1"],
        ["--for", "3s"],
        ["--schedule", "nonsense"],
        ["--explore", "--behind", "nat"],
    ],
)
def test_what_does_not_go_together_is_refused(more: list[str]) -> None:
    assert main(["client", "sim:reference", *more]) == 2
