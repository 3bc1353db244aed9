"""The effect of a verdict on its run."""

from __future__ import annotations

import pytest

from scapy_tfo.report.outline import LIST_IS_WRONG, Outline
from scapy_tfo.suite.result import Level, Result, Run, Standing, Verdict, exit_status, standing

from .sample import result

CASES = [
    # verdict, level, known, standing, standing with strict
    (Verdict.PASS, Level.MUST, "", Standing.PASS, Standing.PASS),
    (Verdict.PASS, Level.MUST, "ticket", Standing.FIXED, Standing.FIXED),
    (Verdict.FAIL, Level.MUST, "", Standing.FAIL, Standing.FAIL),
    (Verdict.FAIL, Level.STEP, "", Standing.FAIL, Standing.FAIL),
    (Verdict.FAIL, Level.ROBUST, "", Standing.FAIL, Standing.FAIL),
    (Verdict.FAIL, Level.SHOULD, "", Standing.WARNING, Standing.FAIL),
    (Verdict.FAIL, Level.MAY, "", Standing.WARNING, Standing.WARNING),
    (Verdict.FAIL, Level.DESIGN, "", Standing.WARNING, Standing.WARNING),
    (Verdict.FAIL, Level.MUST, "ticket", Standing.KNOWN, Standing.KNOWN),
    (Verdict.INCONCLUSIVE, Level.MUST, "", Standing.INCONCLUSIVE, Standing.INCONCLUSIVE),
    (Verdict.INCONCLUSIVE, Level.MUST, "ticket", Standing.INCONCLUSIVE, Standing.INCONCLUSIVE),
    (Verdict.UNSUPPORTED, Level.MUST, "", Standing.UNSUPPORTED, Standing.UNSUPPORTED),
    (Verdict.SKIPPED, Level.MUST, "", Standing.SKIPPED, Standing.SKIPPED),
]


@pytest.mark.parametrize(("verdict", "level", "known", "plain", "strict"), CASES)
def test_standing_and_exit_status(
    verdict: Verdict, level: Level, known: str, plain: Standing, strict: Standing
) -> None:
    result = Result(
        case="X", title="", family=4, requirements=(), level=level, verdict=verdict, known=known
    )
    run = Run(target="", tool="", started=0.0, seconds=0.0, results=(result,))
    assert standing(result) is plain
    assert standing(result, strict=True) is strict
    assert exit_status(run) == int(plain.fails_run)
    assert exit_status(run, strict=True) == int(strict.fails_run)


def test_a_run_without_cases_did_not_fail() -> None:
    assert exit_status(Run(target="", tool="", started=0.0, seconds=0.0, results=())) == 0


@pytest.mark.parametrize(("others", "why"), [(0, LIST_IS_WRONG), (1, "a requirement failed")])
def test_a_list_that_is_wrong_is_no_failed_requirement(others: int, why: str) -> None:
    listed = result("ACC-2-a", Verdict.PASS, known="ticket 12")
    failed = [result("ACC-2-b", Verdict.FAIL, level=Level.MUST)] * others
    results = (listed, *failed)
    run = Run(target="sim:reference", tool="", started=0.0, seconds=1.0, results=results)
    assert Outline(run).verdict_line().endswith(f" - exit 1: {why}")
