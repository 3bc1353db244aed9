"""The rules of plain TCP, held against every connection that a client opens."""

from __future__ import annotations

from collections import Counter

import pytest

from scapy_tfo import spec, tcp_rules
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.middleboxes.registry import boxes_named
from scapy_tfo.runner.judging.verdicts import with_breaches
from scapy_tfo.suite.registry import select
from scapy_tfo.suite.result import Run, Verdict

RULES = tcp_rules.load()


def judged(name: str, *only: str, boxes: str = "") -> Run:
    cases = select(all_cases(), only, ())
    options = Options(families=(4,))
    return simulate(f"sim:{name}", cases, spec.load(), options, boxes_named(boxes) if boxes else ())


def test_the_reference_breaks_nothing_and_many_rules_are_held_against_it() -> None:
    run = judged("reference")
    assert run.breaches == ()
    assert len(run.watched) >= 30
    assert with_breaches(run, RULES).results == run.results


@pytest.mark.parametrize("name", [each.name for each in all_client_variants()])
def test_no_variant_breaks_any(name: str) -> None:
    assert judged(name, "CLI-4a", "CLI-23").breaches == ()


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("refused-data-is-changed", "text-changes"),
        ("refusal-is-taken-for-loss", "fin-moves"),
        ("request-of-length-zero", "options-unsound"),
        ("sends-on-behind-the-syn", "no-ack-flag"),
        ("smaller-mss-is-exceeded", "over-the-mss"),
    ],
)
def test_a_wrong_client_breaks_its_rule_and_the_report_says_where(mutant: str, rule: str) -> None:
    run = judged(mutant, "CLI-4", "CLI-4a", "CLI-5", "CLI-6a", "CLI-1")
    assert Counter(each.rule for each in run.breaches)[rule]
    added = [each for each in with_breaches(run, RULES).results if each.case.endswith(f".{rule}")]
    assert [each.verdict for each in added] == [Verdict.FAIL]
    numbers = {each.number for each in run.packets}
    assert added[0].packets
    assert numbers.issuperset(added[0].packets)


def test_behind_a_box_nobody_is_blamed() -> None:
    run = judged("refused-data-is-changed", "CLI-6a", boxes="strips-option")
    assert run.breaches == ()
    assert run.watched == {}
