"""What changed from run to run of one stack."""

from __future__ import annotations

import json
from pathlib import Path

from scapy_tfo.cli import main
from scapy_tfo.report.runs.grid import Column, Grid
from scapy_tfo.report.runs.grid_html import grid_html
from scapy_tfo.report.runs.grid_markdown import grid_markdown
from scapy_tfo.report.runs.history import changes, newest_of_each
from scapy_tfo.suite.result import Level, Verdict

from ..sample import STARTED, result
from .test_grid import column

P, F, I = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE  # noqa: E741
DAY = 86400.0
ROW = {"ACC-2": Level.STEP}


def of(verdict: Verdict, day: int, target: str = "192.0.2.7:80") -> Column:
    return column(result("ACC-2.x", verdict), started=STARTED + day * DAY, target=target)


def states(*columns: Column) -> list[tuple[str, str]]:
    return [(each.before.state, each.after.state) for each in changes(Grid(columns, ROW))]


def test_changes_come_in_the_order_of_time_the_latest_first() -> None:
    assert states(of(P, 3), of(F, 2), of(P, 1)) == [("fail", "pass"), ("pass", "fail")]
    assert states(of(P, 1), of(P, 2)) == []


def test_what_could_not_be_judged_changes_nothing() -> None:
    assert states(of(P, 1), of(I, 2), of(P, 3)) == []
    assert states(of(P, 1), of(I, 2), of(F, 3)) == [("pass", "fail")]


def test_another_stack_is_no_change() -> None:
    assert states(of(P, 1), of(F, 2, target="192.0.2.8:80")) == []


def test_the_newest_of_each_name_in_the_order_given() -> None:
    old, other, new = of(P, 1), of(F, 5, target="192.0.2.8:80"), of(F, 2)
    assert newest_of_each([new, other, old]) == [new, other]


def test_it_is_told_on_both_pages() -> None:
    grid = Grid([of(P, 1), of(F, 2)], ROW)
    history = changes(grid)
    text, page = grid_markdown(grid, {}, history), grid_html(grid, {}, history)
    assert "## What changed" in text
    assert f"| ACC-2 | pass | {grid.columns[0].date} | fail |" in text
    assert "What changed" in page
    assert "What changed" not in grid_markdown(grid, {})


def test_from_the_command_line(tmp_path: Path) -> None:
    """Two runs of a stack that was mended: one column, and what changed."""
    paths = []
    for number, target in enumerate(("sim:accepts-any-cookie", "sim:reference")):
        out = tmp_path / str(number)
        main(
            [
                "test",
                target,
                "-4",
                "--only",
                "ACC-3.wrong-cookie-acknowledges-the-syn-only",
                "--label",
                "mine",
                "--out",
                str(out),
            ]
        )
        paths.append(str(out / "results.json"))
    page = tmp_path / "matrix.md"
    assert main(["matrix", *paths, "--newest", "--markdown", str(page)]) == 0
    text = page.read_text()
    assert text.count("| mine |") == 3, text  # the run, the head of the column, the change
    assert "| ACC-3 |" in text
    assert json.loads(Path(paths[0]).read_text())["label"] == "mine"
