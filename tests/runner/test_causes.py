"""One fault is reported once: failures are grouped by their cause."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest

from scapy_tfo.runner.judging.causes import explained
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, run
from scapy_tfo.spec import Level
from scapy_tfo.suite.outcome import Symptom
from scapy_tfo.suite.result import Result, Verdict

FAIL, PASS, INCONCLUSIVE = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE


def result(
    case: str,
    verdict: Verdict = FAIL,
    symptom: str = Symptom.TAKES_DATA,
    *,
    level: Level = Level.MUST,
    family: int = 4,
) -> Result:
    return Result(
        case=case,
        title=case,
        family=family,
        requirements=(case.partition(".")[0],),
        level=level,
        verdict=verdict,
        symptom=symptom if verdict is FAIL else "",
        refuted=frozenset({symptom} if verdict is PASS else ()),
    )


@functools.cache
def judged(name: str) -> tuple[Result, ...]:
    return run(Request(target=f"sim:{name}", options=Options(families=(4,)))).results


def brief(results: Sequence[Result]) -> list[tuple[str, str, str]]:
    return [(each.case, each.verdict.value, each.cause) for each in results]


def test_the_case_that_is_about_a_symptom_explains_the_others() -> None:
    found = explained([result("OPT-4.a"), result("ACC-3.b"), result("SRV-2.c", PASS)])
    assert brief(found) == [
        ("OPT-4.a", "inconclusive", "ACC-3.b"),
        ("ACC-3.b", "fail", ""),
        ("SRV-2.c", "pass", ""),
    ]
    assert "accepts SYN data without a valid cookie, see ACC-3.b" in found[0].reason


def test_a_fault_that_one_requirement_alone_shows_is_its_own() -> None:
    found = explained([result("OPT-4.a"), result("ACC-3.b", PASS)])
    assert brief(found) == [("OPT-4.a", "fail", ""), ("ACC-3.b", "pass", "")]


def test_two_faults_are_two_groups() -> None:
    found = explained([result("ACC-3.a"), result("AFT-2.b", symptom=Symptom.NEVER_CLOSES)])
    assert [each.cause for each in found] == ["", ""]


def test_failures_of_one_requirement_stay_failures() -> None:
    found = explained([result("ACC-3.a"), result("ACC-3.b")])
    assert brief(found) == [("ACC-3.a", "fail", ""), ("ACC-3.b", "fail", "ACC-3.a")]


def test_a_warning_takes_no_failure_from_the_run() -> None:
    """A failed SHOULD does not fail the run, so it must not turn a failed MUST into no verdict."""
    found = explained([result("ACC-3.a", level=Level.SHOULD), result("OPT-4.b")])
    assert brief(found) == [("ACC-3.a", "fail", ""), ("OPT-4.b", "fail", "ACC-3.a")]


def test_what_a_target_mostly_does_right_explains_no_other_failure() -> None:
    """A stack that loses data in a few situations is caught by each case that found one."""
    found = explained(
        [
            result("ACC-9.a", symptom=Symptom.SPOILS_DATA),
            result("AFT-2.b", symptom=Symptom.SPOILS_DATA),
            *(result(f"ACC-2.{each}", PASS, Symptom.SPOILS_DATA) for each in "cde"),
        ]
    )
    assert brief(found)[:2] == [("ACC-9.a", "fail", ""), ("AFT-2.b", "fail", "ACC-9.a")]


def test_what_half_of_the_cases_about_it_show_explains_the_others() -> None:
    found = explained(
        [
            result("ACC-9.a", symptom=Symptom.SPOILS_DATA),
            result("ACC-2.b", PASS),
            result("AFT-2.c", symptom=Symptom.SPOILS_DATA),
        ]
    )
    assert [each.verdict for each in found] == [FAIL, PASS, INCONCLUSIVE]


def test_a_case_that_did_not_ask_says_nothing_of_a_symptom() -> None:
    """Most cases about the close of a connection look at something else than whether it comes."""
    closes = Symptom.NEVER_CLOSES
    found = explained(
        [
            result("AFT-2.a", symptom=closes),
            *(result(f"AFT-2.{each}", PASS, "") for each in "bcd"),
            result("DUP-1.e", symptom=closes),
        ]
    )
    assert [found[0].verdict, found[-1].verdict] == [FAIL, INCONCLUSIVE]


@pytest.mark.parametrize("others", [0, 1, 2])
def test_what_is_lost_after_a_refusal_is_a_fault_of_its_own_where_little_else_is(
    others: int,
) -> None:
    """A stack that loses the same bytes everywhere has one fault, not two."""
    found = explained(
        [
            result("ACC-3.a", symptom=Symptom.SPOILS_REFUSED),
            result("OPT-8.b", symptom=Symptom.SPOILS_REFUSED),
            *(result(f"ACC-9.{each}", symptom=Symptom.SPOILS_DATA) for each in range(others)),
        ]
    )
    lead = "ACC-3.a" if others < 2 else "ACC-9.0"
    assert not next(each for each in found if each.case == lead).cause
    assert found[1].cause == lead
    assert "refused on the SYN" in found[1].reason or others == 2


def test_the_cases_of_a_run_say_what_they_could_have_found() -> None:
    options = Options(families=(4,))
    wanted = ["ACC-3.refused-data-is-delivered-once-when-resent", "ACC-9.all-syn-data-sent-again"]
    refused, taken = run(Request(target="sim:reference", only=wanted, options=options)).results
    assert {Symptom.TAKES_DATA, Symptom.SPOILS_REFUSED} <= refused.refuted
    assert Symptom.SPOILS_DATA not in refused.refuted
    assert {Symptom.REFUSES_COOKIE, Symptom.SPOILS_DATA} <= taken.refuted


def test_a_failure_over_one_family_explains_nothing_over_the_other() -> None:
    found = explained([result("ACC-3.a"), result("OPT-4.b", family=6)])
    assert [each.cause for each in found] == ["", ""]


def test_what_shows_no_symptom_is_explained_by_nothing_else() -> None:
    found = explained([result("ACC-3.a"), result("LIM-6.b", symptom="")])
    assert [each.cause for each in found] == ["", ""]


@pytest.mark.parametrize(
    ("name", "requirement"),
    [
        ("accepts-any-cookie", "ACC-3"),
        ("never-tells-the-end", "AFT-2"),
        ("first-byte-is-lost", "ACC-9"),
        ("drops-text-of-the-ack", "AFT-1"),
        ("wrong-cookie-resets", "ACC-3"),
        ("never-closes-after-its-peer", "AFT-2"),
        ("refused-data-has-its-place", "ACC-3"),
        ("new-cookie-ends-the-one-before", "SRV-3"),
        ("request-takes-the-data", "ACC-4"),
    ],
)
def test_a_wrong_stack_has_one_fault(name: str, requirement: str) -> None:
    """The leads of most failures are cases of one requirement, and no other fails beside it."""
    found = judged(name)
    failed = [each for each in found if each.verdict is FAIL]
    explained_by = [each for each in found if each.cause.startswith(requirement)]
    assert any(each.requirements[0] == requirement and not each.cause for each in failed)
    assert len(explained_by) >= len([each for each in found if each.cause]) * 0.8


@pytest.mark.parametrize(
    ("name", "requirement"),
    [("never-closes-after-its-peer", "AFT-2"), ("refused-data-has-its-place", "ACC-3")],
)
def test_what_one_fault_kept_from_being_judged_is_no_failure(name: str, requirement: str) -> None:
    found = judged(name)
    failed = [each for each in found if each.verdict is FAIL]
    # A rule of TCP that is broken by the way is told beneath the case that is about it.
    leads = [each for each in failed if not (each.cause and each.case.startswith("TCP-"))]
    assert {each.requirements[0] for each in leads} == {requirement}
    assert len([each for each in found if each.verdict is INCONCLUSIVE and each.cause]) > 10


def test_what_a_request_left_at_the_application_is_no_matter_of_accepted_data() -> None:
    only = ["ACC-2.application-has-the-data-before-our-ack", "ACC-4"]
    options = Options(families=(4,))
    found = run(Request(target="sim:request-takes-the-data", only=only, options=options)).results
    failed = {each.requirements[0] for each in found if each.verdict is FAIL}
    assert failed == {"ACC-4"}
