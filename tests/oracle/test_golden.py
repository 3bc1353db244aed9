"""What the oracle knows after each event of a program, and what it finds, stays the same."""

from __future__ import annotations

import pytest

from tests.oracle import golden


@pytest.mark.parametrize("target", golden.held())
def test_knowledge_and_violations_are_as_they_were(target: str) -> None:
    """`python -m tests.oracle.golden --show TARGET SEED` prints what a digest is made of."""
    made = {target: {"few": golden.few(target)}}
    assert golden.differences(made) == []


def test_the_targets_break_different_rules() -> None:
    rules = set()
    for target in golden.held():
        for _, program in golden.witness(target):
            recorded = golden.SimulatedBench(target).run([(0, program)])
            rules |= {each.rule for _, verdict in recorded for each in verdict.violations}
    assert len(rules) >= 30
