"""The registry of rules, and the counts of how often each was in force."""

from __future__ import annotations

import re

import pytest

from scapy_tfo import spec
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.oracle import counters
from scapy_tfo.oracle.parts import attribution
from scapy_tfo.oracle.parts.rules import RULES, TABLES, Held, Rule, duty, new_watch, rule, watched
from scapy_tfo.oracle.parts.watch import Watch
from scapy_tfo.oracle.replies import reset
from tests.oracle.conversations import GOOD, half_open, new, opened

SOURCE = re.compile(r"RFC \d+ section \d+(\.\d+)*")

SELDOM = {"closed", "no-probe", "syn-ack-when-open"}
"""Rules that a few programs at the reference need not exercise."""


def test_each_rule_is_applied() -> None:
    applied = {each.id for table in TABLES for each in table.rules}
    assert applied | {counters.BALANCED.id} == set(RULES)


@pytest.mark.parametrize("each", RULES.values(), ids=RULES)
def test_each_rule_names_its_source_and_a_requirement(each: Rule) -> None:
    assert SOURCE.fullmatch(each.source)
    assert each.requirement == "robust" or each.requirement in spec.load()
    assert each.group in {"", *attribution._GROUPS}
    assert list(RULES.values())[each.number] is each


@pytest.mark.parametrize("register", [rule, duty])
def test_an_id_is_taken_once(register: object) -> None:
    assert callable(register)
    with pytest.raises(ValueError, match="two rules reset"):
        register("reset", source="RFC 9293 section 3", requirement="ACC-9")(lambda *_: Held())
    assert RULES["reset"] is reset.reset


def counted(watch: Watch, rule_id: str) -> tuple[int, int, int]:
    found = watched(watch)[rule_id]
    return found.considered, found.in_force, found.broken


def test_a_rule_is_in_force_where_it_can_be_broken() -> None:
    it = half_open()
    assert counted(it.link.watch, "ack-beyond") == (0, 0, 0)
    assert counted(it.link.watch, "refuses-text") == (1, 1, 0)
    it.came(".", 1, 21)
    assert counted(it.link.watch, "ack-beyond") == (1, 1, 0)
    assert counted(it.link.watch, "text-place") == (0, 0, 0)
    it.came(".", 1, 22)
    assert counted(it.link.watch, "ack-beyond") == (2, 2, 1)
    # Who acknowledges too much is not asked whether it is less than before.
    assert counted(it.link.watch, "ack-back") == (2, 1, 0)


def test_rst_that_does_not_come_keeps_its_rule() -> None:
    assert counted(new().syn(options=GOOD).answered().link.watch, "syn-reset") == (1, 1, 0)
    assert counted(opened().link.watch, "reset") == (1, 1, 0)
    assert counted(opened().came("R", 1).link.watch, "reset") == (2, 2, 1)


def test_what_is_owed_is_in_force() -> None:
    it = opened()
    assert it.owed == ("no-text", "ACC-9")
    assert counted(it.link.watch, "no-text") == (1, 1, 0)
    assert counted(it.link.watch, "no-fin") == (1, 0, 0)
    it.at(30.0)
    assert it.overdue is None


def test_a_repetition_in_time_keeps_its_rule() -> None:
    it = half_open().at(2.0)
    assert it.overdue is None
    assert counted(it.link.watch, "no-repeat") == (1, 0, 0)
    it.answered(taken=20).at(3.0)
    assert it.overdue is None
    assert counted(it.link.watch, "no-repeat") == (2, 1, 0)


def test_counts_are_added_up() -> None:
    whole, part = new_watch(), opened().came("R", 1).link.watch
    whole.add(part)
    whole.add(part)
    assert counted(whole, "reset") == (4, 4, 2)


def test_programs_at_the_reference_exercise_the_rules() -> None:
    bench = SimulatedBench("sim:reference")
    assert sum(bench.counts.model.passes) == 0
    for _ in bench.run((seed, program_for(seed)) for seed in range(300)):
        pass
    found = watched(bench.counts.model)
    assert {name for name, each in found.items() if each.broken} == set()
    idle = {name for name, each in found.items() if not each.in_force}
    assert idle <= SELDOM | {counters.BALANCED.id}
