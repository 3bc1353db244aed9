"""Two runs compared: what is a new failure, and what is not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from scapy_tfo.report.runs.difference import Difference, Kind, lines, summary, to_json
from scapy_tfo.report.runs.reading import Recorded
from scapy_tfo.suite.result import Level, Result, Run, Verdict

from ..sample import HOSTILE, STARTED, result

P, F, I, S = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.SKIPPED  # noqa: E741


def recorded(*results: Result, strict: bool = False, **fields: object) -> Recorded:
    base = {"target": "192.0.2.7:80", "tool": "scapy-tfo 0.1.0", "started": STARTED, "seconds": 1.0}
    run = Run(results=results, **{**base, **fields})
    return Recorded(Path("results.json"), run, strict, 0)


def one(verdict: Verdict | None, **fields: object) -> list[Result]:
    return [] if verdict is None else [result("ACC-2.x", verdict, **fields)]


STEADY = result("ACC-1.steady", P)


@pytest.mark.parametrize(
    ("old", "new", "kind", "status"),
    [
        (P, P, None, 0),
        (F, F, None, 0),
        (S, I, None, 0),
        (P, F, Kind.BROKEN, 1),
        (I, F, Kind.BROKEN, 1),
        (S, F, Kind.BROKEN, 1),
        (None, F, Kind.BROKEN, 1),
        (F, P, Kind.MENDED, 0),
        (F, I, Kind.LOST, 0),
        (F, None, Kind.LOST, 0),
        (P, S, Kind.LOST, 0),
        (P, None, Kind.LOST, 0),
        (S, P, Kind.JUDGED, 0),
        (None, P, Kind.JUDGED, 0),
        (None, S, None, 0),
    ],
)
def test_what_became_of_a_case(
    old: Verdict | None, new: Verdict | None, kind: Kind | None, status: int
) -> None:
    found = Difference(recorded(STEADY, *one(old)), recorded(STEADY, *one(new)))
    assert [each.kind for each in found.changes] == ([kind] if kind else [])
    assert found.exit_status == status


@pytest.mark.parametrize(
    ("fields", "strict", "status"),
    [
        ({"level": Level.SHOULD}, False, 0),
        ({"level": Level.SHOULD}, True, 1),
        ({"level": Level.MAY}, True, 0),
        ({"known": "ticket 7"}, True, 0),
    ],
)
def test_what_does_not_fail_a_run_is_a_warning(
    fields: dict[str, object], strict: bool, status: int
) -> None:
    old, new = recorded(STEADY, *one(P)), recorded(STEADY, *one(F, **fields))
    assert Difference(old, new, strict=strict).exit_status == status
    assert Difference(old, dataclasses.replace(new, strict=strict)).exit_status == status


def test_a_known_failure_that_left_the_list_is_no_new_one() -> None:
    old, new = recorded(STEADY, *one(F, known="ticket")), recorded(STEADY, *one(F))
    assert Difference(old, new).exit_status == 0


def test_the_families_of_a_case_are_compared_apart() -> None:
    six = result("ACC-2.x", F, family=6)
    found = Difference(recorded(*one(P)), recorded(*one(P), six))
    assert [(each.kind, each.result.family) for each in found.changes] == [(Kind.BROKEN, 6)]


@pytest.mark.parametrize("fields", [{"gone": "it went"}, {"interrupted": True}])
def test_a_new_run_without_an_end_proves_nothing(fields: dict[str, object]) -> None:
    found = Difference(recorded(STEADY), recorded(STEADY, **fields))
    assert found.exit_status == 3
    assert found.doubts


def test_runs_without_a_common_case_prove_nothing() -> None:
    assert Difference(recorded(STEADY), recorded(*one(P))).exit_status == 3
    assert Difference(recorded(), recorded()).exit_status == 3


def test_the_text_goes_by_requirement() -> None:
    old = recorded(STEADY, *one(P))
    new = recorded(STEADY, *one(F, reason="no ack", cause="ACC-1.steady"), label="next")
    found = Difference(old, new)
    text = "\n".join(lines(found, {"ACC-2": "Data is taken."}))
    assert "NEW FAILURES (1)\n  ACC-2 (MUST)  Data is taken.\n" in text
    assert "    ACC-2.x [ipv4]: pass -> fail: no ack (explained by ACC-1.steady)" in text
    assert "new: next at 192.0.2.7:80" in text
    assert summary(found) == "1 new failure in 1 requirement, 1 the same"


def test_a_script_that_failed_once_has_failed() -> None:
    twice = recorded(*one(F), *one(P))
    assert Difference(recorded(*one(P)), twice).exit_status == 1


def test_other_tools_are_told() -> None:
    found = Difference(recorded(STEADY), recorded(STEADY, tool="scapy-tfo 9"))
    assert "whose cases may differ" in found.doubts[0]


def test_the_json_can_be_written_whatever_a_target_says(hostile_run: Run) -> None:
    hostile = Recorded(Path("x"), hostile_run, False, 0)
    written = to_json(Difference(recorded(), hostile))
    assert str(written).encode()
    assert HOSTILE not in str(written)
    assert {each["kind"] for each in written["changes"]} == {"broken"}
