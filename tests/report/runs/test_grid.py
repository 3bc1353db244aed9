"""Runs beside each other: what a cell says, why, and where it leads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from scapy_tfo.report.runs.grid import ABSENT, Cell, Column, Grid
from scapy_tfo.report.runs.grid_html import grid_html
from scapy_tfo.report.runs.grid_markdown import grid_markdown
from scapy_tfo.report.runs.reading import Recorded
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Level, Result, Run, Verdict

from ..sample import HOSTILE, STARTED, result

P, F, I = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE  # noqa: E741
U, S = Verdict.UNSUPPORTED, Verdict.SKIPPED

ROW = {"ACC-2": Level.STEP}


def column(*results: Result, path: Path = Path("results.json"), **fields: object) -> Column:
    base = {"target": "192.0.2.7:80", "tool": "scapy-tfo 0.1.0", "started": STARTED, "seconds": 1.0}
    run = Run(results=results, **{**base, **fields})
    return Column(Recorded(path, run, False, 0), Path())


def cell(*results: Result) -> Cell:
    return Grid([column(*results)], ROW).rows["ACC-2"][0]


def of(verdicts: Sequence[Verdict], **fields: object) -> list[Result]:
    return [result(f"ACC-2.x{at}", each, **fields) for at, each in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        ([P, P], "pass"),
        ([P, F, U], "fail 1/3"),
        ([P, U, I], "pass 1/3"),
        ([U, U], "unsupported"),
        ([I, U, S], "inconclusive 1/3"),
        ([U, S], "unsupported 1/2"),
        ([S], "skipped"),
    ],
)
def test_a_cell_has_the_worst_that_was_found(verdicts: list[Verdict], says: str) -> None:
    assert cell(*of(verdicts)).text == says


def test_a_failure_that_does_not_fail_the_run_is_none() -> None:
    assert cell(*of([F], level=Level.SHOULD)).state == "warning"
    assert cell(*of([F], known="ticket")).state == "known"


def test_what_fails_everywhere_fails_and_what_nobody_asked_is_absent() -> None:
    columns = [
        column(*of([F])),
        column(*of([F])),
        column(result("ACC-9.y", P, requirements=("ACC-9",))),
    ]
    (row,) = Grid(columns, ROW).rows.values()
    assert [each.text for each in row] == ["fail", "fail", ABSENT]


def test_a_fault_is_told_at_each_requirement_that_it_breaks() -> None:
    lead = result("ACC-2.x", F, reason="took it", concerns=("ACC-2", "SRV-2"))
    own = result("SRV-2.y", I, requirements=("SRV-2",), cause="ACC-2.x")
    grid = Grid([column(lead, own)], {"SRV-2": Level.SHOULD})
    (found,) = grid.rows["SRV-2"]
    assert (found.text, found.reason) == ("warning 1/2", "ACC-2.x [ipv4]: took it")
    assert grid.level("SRV-2") == "SHOULD"


def test_the_reason_is_that_of_the_failure_which_no_other_explains() -> None:
    follows = result("ACC-2.a", F, reason="follows", cause="ACC-2.b")
    found = cell(follows, result("ACC-2.b", F, reason="the cause"))
    assert found.reason == "ACC-2.b [ipv4]: the cause"


def test_a_cell_leads_to_the_report_or_else_to_the_capture(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    path = tmp_path / "a b" / "results.json"

    def link() -> str:
        recorded = Recorded(path, column(*of([F])).run, False, 0)
        return Grid([Column(recorded, tmp_path)], ROW).rows["ACC-2"][0].link

    assert link() == ""
    (path.parent / "capture.pcapng").touch()
    assert link() == "./a%20b/capture.pcapng"
    (path.parent / "report.html").touch()
    assert link() == "./a%20b/report.html#ACC-2.x0-ipv4"


def test_rows_can_be_chosen() -> None:
    six = result("ACC-9.y", F, requirements=("ACC-9",), family=6)
    columns = [column(*of([P]), six), column(*of([P]))]

    def rows(**how: object) -> list[str]:
        return list(Grid(columns, dict.fromkeys(["ACC-9", "ACC-2", "ACC-5"]), **how).rows)

    assert rows() == ["ACC-9", "ACC-2"]
    assert rows(differs=True) == ["ACC-9"]
    assert rows(keeps=["fail"]) == ["ACC-9"]
    assert rows(families=(4,)) == ["ACC-2"]


def test_a_run_that_did_not_reach_its_end_says_so() -> None:
    grid = Grid([column(*of([P]), gone="no answer any more")], ROW)
    assert "no answer any more" in grid_markdown(grid, {})
    assert "no answer any more" in grid_html(grid, {})


def test_both_forms_have_the_reason_and_the_packets(catalogue: dict[str, Requirement]) -> None:
    grid = Grid([column(*of([F], reason="no ack", packets=(3, 4)), label="next")], ROW)
    assert "- next: fail: ACC-2.x0 [ipv4]: no ack (packets 3, 4)".replace("[", "&#91;").replace(
        "]", "&#93;"
    ) in grid_markdown(grid, {})
    page = grid_html(grid, catalogue)
    assert "no ack" in page
    assert "packets 3, 4" in page
    assert "A valid cookie lets the SYN&#x27;s data in at once." in page


def test_nothing_of_a_target_becomes_markup() -> None:
    evil = column(*of([F], reason=HOSTILE + "|[a](b)"), label=HOSTILE + "|`x`\n# y")
    grid = Grid([evil], ROW)
    text, page = grid_markdown(grid, {}), grid_html(grid, {})
    assert "<script>alert" not in text + page
    assert not re.search(r"\[a\]\(b\)|`x`", text)
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        "# TCP Fast Open: stacks and requirements"
    ]
    assert len({line.count("|") for line in text.splitlines() if line.startswith("| ACC")}) == 1
