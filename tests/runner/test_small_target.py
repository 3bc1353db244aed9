"""A slow target with little room: it is not overrun, not blamed, and its faults are still found."""

from __future__ import annotations

from collections import Counter

import pytest

from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import Verdict

from .small_target import judge_small

CASES = list(select(all_cases(), ["OPT", "ACC", "AFT-2", "AFT-8", "LIM-1", "DUP"]))
QUICK = list(select(all_cases(), ["OPT-3", "OPT-7", "ACC-9", "AFT-2"]))


@pytest.mark.parametrize("per_second", [60, 300])
def test_one_core_and_64_sockets_are_enough_for_every_case(per_second: float) -> None:
    run, _ = judge_small(CASES, per_second=per_second)
    verdicts = Counter(each.verdict for each in run.results)
    assert not verdicts[Verdict.FAIL]
    assert not verdicts[Verdict.INCONCLUSIVE]
    assert not run.gone
    assert any("at a time at the least" in note for note in run.notes)


def test_a_case_that_fills_the_backlog_spoils_no_other_verdict() -> None:
    cases = list(select(CASES, ["LIM-1", "OPT-3"]))
    run, small = judge_small(cases, mutant="drops-syns-of-length5", intrusive=True, sockets=1000)
    assert small.dropped
    by_name = {each.case: each for each in run.results}
    filling = by_name["LIM-1.limit-is-found-and-kept-where-it-is-not-known"]
    assert (filling.verdict, filling.attempts) == (Verdict.INCONCLUSIVE, 1)
    assert "too little room" in filling.reason
    assert by_name["OPT-3.length-5-is-ignored"].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("mutant", "failing"),
    [
        ("drops-syns-of-length5", "OPT-3.length-5-is-ignored"),
        ("drops-ack-with-fin", "AFT-2.fin-before-the-ack"),
    ],
)
def test_a_fault_that_is_a_silence_is_found_though_some_controls_were_late(
    mutant: str, failing: str
) -> None:
    run, _ = judge_small(QUICK, mutant=mutant, per_second=150)
    result = next(each for each in run.results if each.case == failing)
    assert result.verdict is Verdict.FAIL
    assert "loss explains this with a probability below 1e-" in result.reason


@pytest.mark.parametrize("sockets", [3, 6])
def test_few_sockets_leave_cases_without_a_verdict_and_fail_none(sockets: float) -> None:
    run, small = judge_small(CASES, sockets=sockets)
    assert small.dropped
    assert not [each.case for each in run.results if each.verdict is Verdict.FAIL]
