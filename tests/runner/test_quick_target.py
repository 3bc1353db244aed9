"""Silent cases at a target that answers soon cost no more time than they need."""

from __future__ import annotations

from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import Verdict

from .small_target import judge_small

CASES = list(select(all_cases(), ["OPT-3", "OPT-4", "OPT-7", "ACC-9", "AFT-2"]))


def test_a_fault_that_is_a_silence_takes_three_tries_and_few_seconds() -> None:
    """Controls are sooner had than a fourth try of each."""
    run, _ = judge_small(CASES, mutant="drops-ack-with-fin", per_second=3000, sockets=5000)
    failed = [each for each in run.results if each.verdict is Verdict.FAIL]
    assert failed
    assert {each.attempts for each in failed} == {3}
    assert not any("at a time at the least" in note for note in run.notes)
    assert run.seconds < 20
