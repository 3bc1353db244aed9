"""docs/generated/oracle.md: each watched rule has its row."""

from __future__ import annotations

import re
from pathlib import Path

from scapy_tfo import tcp_rules
from scapy_tfo.oracle import registry
from scapy_tfo.report.tables.watched import watched_markdown

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = tcp_rules.load(ROOT / "specs")


NAMES = list(registry.every())


def rows(page: str) -> list[str]:
    return re.findall(r"^\| ([a-z-]+) \| (?:TCP-|robust)", page, re.MULTILINE)


def test_each_rule_has_a_row() -> None:
    page = (ROOT / "docs" / "generated" / "oracle.md").read_text(encoding="utf-8")
    # Their order is that in which modules were imported.
    assert sorted(rows(page)) == sorted(NAMES), "run `make watched`"


def test_a_rule_that_never_applied_is_named() -> None:
    counts = dict.fromkeys(NAMES[1:], 1)
    page = watched_markdown(CATALOGUE, {"sim:reference": counts}, ())
    assert f"Never exercised: {NAMES[0]}." in page


def test_the_catalogue_names_each_rule_that_is_watched() -> None:
    named = {name for each in CATALOGUE.values() for name in each.rule}
    assert {
        name for name, each in registry.every().items() if each.requirement != "robust"
    } <= named


def test_each_rule_of_traffic_names_what_breaks_it() -> None:
    page = watched_markdown(CATALOGUE, {"sim:reference": {}}, ())
    (row,) = (each for each in page.splitlines() if each.startswith("| ack-late |"))
    assert "`takes-its-time`" in row
    assert "RFC 9293 section 3.8.6.3" in row
