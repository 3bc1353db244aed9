"""Programs of the fuzzer at stacks that have lived: behind explored schedules, in their worlds."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.explore.campaign.regression import broken_by
from scapy_tfo.explore.conversation.judge import is_advice, judged
from scapy_tfo.explore.conversation.schedule import Deed, Schedule, from_json, to_json
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.judging.clauses import clause_of
from scapy_tfo.explore.judging.corpus import corpus
from scapy_tfo.explore.programs import PER_BATCH, PORTS, played, programs
from scapy_tfo.variants.registry import named

LIVED = (
    Schedule("good", "late-close:50", "write:4000", deeds=(Deed("narrow", 4),)),
    Schedule("refused", "think:300", "write-abort:100"),
)
"""What a world has behind it: a client that left, and one whose path is narrow."""


def lived_in(name: str) -> World:
    world = World(named(name), SimulatedBench(f"sim:{name}").profile)
    for each in LIVED:
        played(world, each)
    return world


def blamed(name: str, count: int) -> dict[str, list[str]]:
    """Programs that break what must be, by the name of the rule."""
    world, found = lived_in(name), {}
    for number in range(count):
        for problem in judged(played(world, Schedule(f"program:{number}"))):
            if not is_advice(problem.rule):
                found.setdefault(problem.rule, []).append(f"program:{number}")
    return found


@pytest.mark.parametrize(
    "name",
    [
        "reference",
        "cookie-on-every-syn-ack",
        "mss-of-the-path",
        "sixty-four-connections",
        "variants-row-4",
        "variants-row-37",
    ],
)
def test_a_legal_stack_that_has_lived_is_not_blamed(name: str) -> None:
    assert blamed(name, 150) == {}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("ignores-the-limit", "LIM-1 takes-text"),
        ("never-sends-the-syn-ack-again", "AFT-3 no-repeat"),
        ("repeats-the-cookie", "ACC-8 repeated-option"),
    ],
)
def test_a_wrong_stack_is_found(name: str, rule: str) -> None:
    world, numbers = lived_in(name), itertools.count()
    found = (
        problem.rule
        for each in itertools.chain.from_iterable(programs(numbers) for _ in range(40))
        for problem in judged(played(world, each))
    )
    assert rule in found


def test_they_follow_the_schedules_of_each_world() -> None:
    explorer = Explorer("reference", stop=lambda: explorer.result.total >= 140)
    result = explorer.explore()
    assert result.played["the fuzzer's programs"] == 2 * PER_BATCH
    assert result.found == {}


def test_a_corpus_is_played_without_them() -> None:
    result = Explorer("reference").explore_these(corpus()[:20])
    assert set(result.played) & {"the fuzzer's programs"} == set()


def test_nothing_of_a_program_is_left() -> None:
    world = lived_in("sixty-four-connections")
    for number in range(40):
        played(world, Schedule(f"program:{number}"))
    left = [ends for ends in world.stack.connections if PORTS["main"] in str(ends)]
    assert left == []


def test_a_finding_can_be_played_again() -> None:
    explorer = Explorer("halves-add-up", stop=lambda: explorer.result.failed)
    (rule, found), *_ = explorer.explore().found.items()
    assert (rule, clause_of(rule)) == ("OPT-8 takes-text", "OPT-8")
    assert from_json(to_json(found.schedule)) == found.schedule
    run, problems = Explorer("halves-add-up").replay(found.schedule, ())
    assert rule in {each.rule for each in problems}
    assert run.trace[0].to_target
    text = str(to_json(found.schedule)).replace("'", '"').replace("None", "null")
    assert broken_by(text, rule, "sim:halves-add-up")
    assert broken_by(text, rule, "sim:reference") == []


def test_on_the_wire_the_fuzzer_plays_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path), "--jobs", "1"]
    assert main(["explore", "sim:halves-add-up", "--first", "--for", "5m", *out]) == 1
    finding = str(tmp_path / "opt-8-takes-text.json")
    capsys.readouterr()
    assert main(["explore", "replay", finding, "--target", "lab:reference"]) == 2
    assert "scapy-tfo fuzz" in capsys.readouterr().err


def test_programs_alone_are_audited_too() -> None:
    result = Explorer("reference").explore_these(Schedule(f"program:{each}") for each in (11, 12))
    assert (result.total, result.audits, result.found) == (2, 1, {})


def test_whole_conversations_are_among_them() -> None:
    world = lived_in("drops-what-was-overtaken")
    problems = judged(played(world, Schedule("program:11")))
    assert [each.rule for each in problems] == ["ACC-11 no-ack"]
