"""docs/generated/rules.md: current, whole, and sound as a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scapy_tfo import tcp_rules
from scapy_tfo.report.tables.rules import names_of_states, rules_markdown

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "generated" / "rules.md"
RULES = tcp_rules.load(ROOT / "specs")


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == rules_markdown(RULES), "run `make rules`"


def test_each_rule_has_a_row_and_each_row_its_cells() -> None:
    page = rules_markdown(RULES)
    assert re.findall(r"^\| (TCP-[A-Z]+-[0-9]+)<br>", page, re.MULTILINE) == list(RULES)
    tables = re.split(r"\n\n", page)
    for table in tables:
        rows = [line for line in table.splitlines() if line.startswith("|")]
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
        assert len(cells) <= 1, rows[:1]


def test_each_row_of_appendix_b_without_a_rule_has_its_reason() -> None:
    page = rules_markdown(RULES)
    for row in RULES.unjudged:
        assert f"| {', '.join(row.reqid)} | {row.reason} |" in page


@pytest.mark.parametrize(
    ("rule", "states"),
    [
        ("TCP-HDR-1", "any state"),
        ("TCP-SEQ-1", "synchronized"),
        ("TCP-ACK-1", "SYN-RECEIVED, synchronized"),
        ("TCP-TW-1", "TIME-WAIT"),
    ],
)
def test_many_states_have_one_name(rule: str, states: str) -> None:
    assert names_of_states(RULES[rule]) == states
