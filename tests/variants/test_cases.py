"""Variants that ask much of the cases: none is blamed, and the cases still judge it."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.runner import simulation
from scapy_tfo.runner.runner import Options
from scapy_tfo.suite.registry import all_cases, select
from scapy_tfo.suite.result import Verdict
from scapy_tfo.trust.legal import tried
from scapy_tfo.variants.registry import all_variants, joined

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


TOGETHER = [
    ("answers-after-the-handshake takes-syn-fin", "ACC-12"),
    ("answers-after-the-handshake isn-near-the-wrap", "ACC-10"),
    ("answers-in-the-syn-ack syn-ack-of-no-window", "DUP-1"),
    ("aborts-without-ack syn-ack-waits", "AFT-3"),
    ("syn-cookies-when-full keeps-the-data-of-a-plain-syn", "OPT-7 OPT-13"),
    ("takes-any-rst-in-the-window syn-ack-of-no-window", "AFT-9"),
    (
        "holds-sixteen-half-open drops-the-oldest-half-open keeps-the-data-of-a-plain-syn"
        " syn-ack-waits",
        "OPT-7 OPT-13",
    ),
    ("half-open-for-three-minutes rto-of-three-seconds", "AFT-10"),
    ("scales-by-fourteen window-of-1111 gathers-writes", "AFT-7"),
    ("segments-of256 syn-ack-of-no-window window-shrinks window-of-1460", "ACC-10"),
]


@pytest.mark.parametrize(("names", "chosen"), TOGETHER, ids=[each[0] for each in TOGETHER])
def test_no_case_blames_what_they_make_together(
    names: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [each for each in all_variants() if each.name in names.split()]
    assert len(parts) == len(names.split())
    both = joined("together", parts)
    monkeypatch.setattr(simulation, "named", lambda _: both)
    options = Options(slow=True, intrusive=True, capture=False, families=(4,))
    cases = select(all_cases(), chosen.split())
    found = simulation.simulate("sim:together", cases, spec.load(), options).results
    wrong = [each for each in found if each.verdict is Verdict.FAIL and each.level.fails_run]
    assert not [f"{each.case}: {each.reason}" for each in wrong]
