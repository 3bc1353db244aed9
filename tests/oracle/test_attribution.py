"""The features of a program name the requirement."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.oracle.parts import attribution
from scapy_tfo.oracle.parts.attribution import clause_of

GROUPS = attribution._GROUPS
CASES = [
    ("stream", set(), "ACC-9"),
    ("stream", {"icmp"}, "AFT-8"),
    ("stream", {"other-icmp"}, "AFT-8"),
    ("stream", {"bad-checksum", "icmp"}, "ACC-14"),
    ("stream", {"syn-when-open", "fin"}, "DUP-2"),
    ("stream", {"lost", "fin"}, "AFT-11"),
    ("stream", {"fin"}, "AFT-2"),
    ("reset", {"fin"}, "ACC-9"),
    ("reset", {"rst"}, "AFT-9"),
    ("opening", {"duplicate-syn"}, "ACC-9"),
    ("opening", {"odd-syn"}, "ACC-12"),
    ("resend", {"lost-handshake"}, "ACC-9"),
    ("unasked", {"option-elsewhere"}, "OPT-4"),
    ("blocks", {"bad-ack"}, "AFT-4"),
    ("number", {"wraps"}, "ACC-11"),
    ("", {"icmp", "rst"}, "ACC-9"),
]


@pytest.mark.parametrize(("group", "features", "clause"), CASES)
def test_features_name_the_clause(group: str, features: set[str], clause: str) -> None:
    assert clause_of(group, features, "ACC-9") == clause


@pytest.mark.parametrize("group", GROUPS)
def test_the_first_feature_of_a_table_counts(group: str) -> None:
    table = GROUPS[group]
    for at, (_, requirement) in enumerate(table):
        assert clause_of(group, {feature for feature, _ in table[at:]}, "none") == requirement


@pytest.mark.parametrize("group", GROUPS)
def test_tables_name_requirements_that_are_there(group: str) -> None:
    assert {requirement for _, requirement in GROUPS[group]} <= set(spec.load())
    features = [feature for feature, _ in GROUPS[group]]
    assert len(features) == len(set(features))
