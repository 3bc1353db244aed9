"""Each rule of TCP in the oracle is broken by a mutant, which passes once it is left out; of rules
that are none of traffic something else tells, or their entries say why nothing does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scapy_tfo import tcp_rules
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.mutants.registry import (
    REFERENCE,
    Mutant,
    all_context_mutants,
    all_mutants,
    all_rule_mutants,
    all_tcp_mutants,
)
from scapy_tfo.oracle import registry
from scapy_tfo.oracle.conduct.conduct import RULES
from scapy_tfo.program.program import from_json
from scapy_tfo.report.tables.rule_mutants import rule_mutants_markdown
from scapy_tfo.suite.registry import all_conversations
from scapy_tfo.trust.rule_checks import (
    OF_MODEL,
    breaking,
    holds,
    telling,
    tells_of_its_mutant,
    told_by_schedule,
    untold,
)
from scapy_tfo.variants.registry import all_variants

MUTANTS = all_tcp_mutants()
TOLD = tcp_rules.load()
TABLES = Path(__file__).resolve().parents[2] / "docs" / "generated"
PAGE = TABLES / "rules-left-out.md"
PROOFS = json.loads((TABLES / "rule-mutants.json").read_text(encoding="utf-8"))


def test_each_rule_has_a_mutant() -> None:
    assert {each.breaks for each in MUTANTS} == {each.name for each in RULES}


def test_each_names_a_conversation_that_there_is() -> None:
    assert {each.shown_by for each in MUTANTS} <= {each.id for each in all_conversations()}


def test_no_name_is_taken_twice() -> None:
    kinds = MUTANTS, all_rule_mutants(), all_context_mutants(), all_mutants(), all_variants()
    names = [each.name for kind in kinds for each in kind]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("each", [*MUTANTS, *all_rule_mutants()], ids=lambda each: each.name)
def test_each_says_in_one_sentence_what_is_wrong(each: Mutant) -> None:
    assert re.fullmatch(r"[A-Z0-9].*[^.]\.", each.description), each.description
    assert ". " not in each.description


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: each.name)
def test_its_rule_tells_of_it_and_nothing_else_does(each: Mutant) -> None:
    told = telling(each.name)
    assert told.is_told
    assert told.left == ()


def test_the_page_names_each_of_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [each.name for each in MUTANTS if f"`{each.name}`" not in page]
    assert not missing, "run `make left-out`"


def test_the_reference_is_no_mutant_of_tcp() -> None:
    assert REFERENCE.name not in {each.name for each in MUTANTS}


# Rules of which no rule of traffic tells


def test_each_rule_is_judged_or_shown_or_says_why_nothing_tells() -> None:
    traffic = {each.name for each in RULES}
    left = [each for each in TOLD.values() if not traffic & set(each.rule)]
    assert [each.id for each in left if each.shown is None] == [each.id for each in untold(TOLD)]


def test_each_mutant_is_made_for_the_rule_that_names_it() -> None:
    named = {each.shown.mutant: each.id for each in TOLD.values() if each.shown is not None}
    assert {each.name: each.breaks for each in all_rule_mutants()}.items() <= named.items()


def test_each_rule_that_is_shown_has_a_proof() -> None:
    shown = [(each.id, each.shown.mutant) for each in TOLD.values() if each.shown is not None]
    assert [(each["rule"], each["mutant"]) for each in PROOFS] == shown, "run `make rule-mutants`"


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof["rule"])
def test_what_tells_of_a_mutant_tells_again(proof: dict[str, str]) -> None:
    assert holds(proof, TOLD[proof["rule"]])


def test_no_program_that_tells_of_one_minds_the_reference() -> None:
    bench = SimulatedBench("sim:reference")
    programs = [from_json(each["program"]) for each in PROOFS if "program" in each]
    verdicts = [verdict for _, verdict in bench.run(enumerate(programs))]
    assert len(verdicts) > 40
    assert [each.violations for each in verdicts if each.violations] == []


def test_no_schedule_that_tells_of_one_minds_the_reference() -> None:
    schedules = [each["schedule"] for each in PROOFS if "schedule" in each]
    assert schedules
    assert [told_by_schedule("reference", each) for each in schedules] == [""] * len(schedules)


def test_the_page_of_proofs_is_that_of_the_proofs() -> None:
    page = (TABLES / "rule-mutants.md").read_text(encoding="utf-8")
    assert page == rule_mutants_markdown(PROOFS, untold(TOLD)), "run `make rule-mutants`"


@pytest.mark.parametrize("rule", OF_MODEL)
def test_a_rule_of_the_model_tells_of_its_mutant(rule: str) -> None:
    assert tells_of_its_mutant(rule)


def test_each_rule_of_the_model_has_a_mutant() -> None:
    """But for that of the counters of a kernel."""
    model = [each.id for each in registry.every().values() if not each.of_traffic]
    assert [each for each in model if not breaking(each, PROOFS)] == ["counters-balance"]
    assert not OF_MODEL.keys() & {each["told"] for each in PROOFS}
