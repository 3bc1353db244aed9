"""Whole conversations: what they tell of wrong stacks, and of which legal ones they say nothing."""

from __future__ import annotations

from random import Random

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.exchanges import exchange
from scapy_tfo.program.program import Program, Send, check

FEW = 60


def rules(target: str, programs: int = FEW) -> set[str]:
    """What so many conversations break at a target."""
    made = ((number, exchange(Random(number))) for number in range(programs))
    return {
        each.rule
        for _, verdict in SimulatedBench(f"sim:{target}").run(made)
        for each in verdict.violations
    }


@pytest.mark.parametrize(
    "target",
    [
        "reference",
        "waits-for-push",
        "syn-ack-of-no-window",
        "probes-at-a-constant-rate",
        "variants-row-3",
        "variants-row-27",
    ],
)
def test_right_stacks_are_not_blamed(target: str) -> None:
    assert rules(target) <= {"repeated-option"}


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("takes-its-time", "ack-late"),
        ("gap-is-passed-over", "ack-beyond"),
        ("never-scales-windows", "no-text"),
    ],
)
def test_wrong_stacks_are_told(target: str, rule: str) -> None:
    assert rule in rules(target, 200)


def test_each_is_a_program_of_one_flow() -> None:
    for number in range(300):
        program = exchange(Random(number))
        check(program)
        assert isinstance(program, Program)
        assert len(program.flows) == 1


def test_text_comes_early_and_more_than_once_and_acknowledgements_are_of_less() -> None:
    early = again = less = 0
    for number in range(100):
        steps = [each for each in exchange(Random(number)).steps if isinstance(each, Send)]
        end = steps[0].size + 1
        for each in steps[1:]:
            early += bool(each.size) and each.seq > end
            again += bool(each.size) and each.seq < end
            less += each.ack != "all"
            if each.seq <= end:
                end = max(end, each.seq + each.size)
    assert min(early, again, less) > 50
