"""Variants that ask much of the cases: none is blamed, and the cases still judge it."""

from __future__ import annotations

import pytest

from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.trust.legal import tried

# Variant, cases ("" for all), and how many of them may leave the question open, of one family.
TRIALS = [
    ("takes-ten-bytes-of-a-syn", "", 6),
    ("waits-for-push", "", 6),
    ("answers-slowly", "", 9),
    ("empty-cookies-will-do", "OPT-8 ACC-4", 99),
    ("grants-one-a-second", "OPT-5 OPT-7 OPT-10 REL", 0),
    ("at-most-sixteen-pending", "LIM-1", 0),
    ("sixteen-for-each-client", "LIM-1", 0),
    ("syn-cookies-when-full", "LIM-1", 0),
    ("holds-sixteen-half-open", "LIM-1 OPT-9", 0),
    ("syn-ack-waits", "AFT-3", 1),
    ("ports-rest", "OPT-4", 1),
    ("drops-rst-with-text", "AFT-9", 0),
    ("segments-of256", "AFT-8", 1),
]


@pytest.mark.parametrize(("name", "chosen", "left"), TRIALS, ids=[each[0] for each in TRIALS])
def test_no_case_blames_it(name: str, chosen: str, left: int) -> None:
    cases = select(all_cases(), chosen.split()) if chosen else all_cases()
    trial = tried(name, programs=0, cases=cases, families=(6,))
    assert trial.blames == ()
    assert set(trial.verdicts) <= {"pass", "unsupported"}
    assert trial.verdicts.get("unsupported", 0) <= left
