"""What README and docs/ say of the suite's own parts is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scapy_tfo import tcp_rules
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.clients.registry import all_cases as all_client_cases
from scapy_tfo.explore.conversation.deeds import KINDS
from scapy_tfo.explore.stages.deeds import PAIRS
from scapy_tfo.mutants.registry import all_mutants
from scapy_tfo.pkt.library import own_directory
from scapy_tfo.runner.judging.verdicts import case_ids
from scapy_tfo.suite.registry import all_cases
from scapy_tfo.variants.registry import all_variants

ROOT = Path(__file__).parents[1]
CASE = re.compile(r"\b(?:TCP-)?[A-Z]{3}-\d+[a-z]?\.[a-z][a-z0-9]*(?:-[a-z0-9]+)+\b")
README = (ROOT / "README.md").read_text("utf-8")


def number(words: str) -> int:
    """The number in front of these words in README."""
    (found,) = re.findall(rf"([\d,]+) {words}", README)
    return int(found.replace(",", ""))


@pytest.mark.parametrize(
    "document",
    [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))],
    ids=lambda each: each.name,
)
def test_each_case_that_a_document_names_exists(document: Path) -> None:
    exist = {each.id for each in (*all_cases(), *all_client_cases())}
    exist |= {name for rule in tcp_rules.load().values() for name in case_ids(rule)}
    assert set(CASE.findall(document.read_text("utf-8"))) - exist == set()


def test_readme_counts_the_wrong_stacks_and_the_right_ones() -> None:
    right = len(all_variants()) + len(all_client_variants())
    assert number("stacks that are wrong on purpose") == len(all_mutants())
    assert number("stacks that are right in another way") == right


def test_readme_claims_no_more_scripts_than_there_are() -> None:
    there = len(list(own_directory().rglob("*.pkt")))
    assert number("scripts, by requirement") < there < 1.1 * number("scripts, by requirement")


@pytest.mark.parametrize(
    "document",
    [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))],
    ids=lambda each: each.name,
)
def test_no_document_counts_the_cases_which_a_command_does(document: Path) -> None:
    """Such a figure is wrong with the next case; `scapy-tfo list` is asked instead."""
    assert re.findall(r"\b\d{3,} cases\b", document.read_text("utf-8")) == []


def test_the_page_on_exploring_names_and_counts_all_legal_deeds() -> None:
    text = (ROOT / "docs/explore.md").read_text("utf-8")
    told = set(re.findall(r"`([a-z-]+)`", text))
    assert set(KINDS) - told == set()
    assert f"Each two of these {len(KINDS)}, which are {len(PAIRS)} pairs" in text


@pytest.mark.parametrize(
    "document",
    [
        *(
            ROOT / name
            for name in ("README.md", "CONTRIBUTING.md", "examples/python-stack/README.md")
        ),
        *sorted((ROOT / "docs").glob("*.md")),
    ],
    ids=lambda each: each.name,
)
def test_nothing_is_installed_from_an_index_that_does_not_have_it(document: Path) -> None:
    text = document.read_text("utf-8")
    assert re.findall(r"pip install (?:\S+ )*scapy-tfo(?![\w@ ]*@| *\[|/)", text) == []
