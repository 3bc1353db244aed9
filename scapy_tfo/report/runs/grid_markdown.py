"""The grid of runs and requirements as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scapy_tfo.report.escape import in_markdown
from scapy_tfo.report.runs.grid import ABSENT, LEGEND, Cell, Grid
from scapy_tfo.report.runs.history import Change
from scapy_tfo.suite.result import Standing

TITLE = "TCP Fast Open: stacks and requirements"
_CALM = (ABSENT, Standing.PASS)


def grid_markdown(grid: Grid, titles: Mapping[str, str], history: Sequence[Change] = ()) -> str:
    """The tables, with a list of reasons below. titles: what each requirement says, by id."""
    return "\n".join(_lines(grid, titles, history)) + "\n"


def _lines(grid: Grid, titles: Mapping[str, str], history: Sequence[Change]) -> Iterator[str]:
    yield f"# {TITLE}\n"
    yield from _stacks(grid)
    heads = [in_markdown(each.name) for each in grid.columns]
    yield ""
    yield f"| requirement | level | {' | '.join(heads)} |"
    yield "|---|---|" + "---|" * len(heads)
    for name, cells in grid.rows.items():
        told = " | ".join(map(_cell, cells))
        yield f"| {in_markdown(name)} | {grid.level(name)} | {told} |"
    used = {cell.state for cells in grid.rows.values() for cell in cells}
    yield ""
    yield "\n".join(f"- {state}: {LEGEND[state]}" for state in LEGEND if state in used)
    yield from _history(history)
    yield from _reasons(grid, titles)


def _history(history: Sequence[Change]) -> Iterator[str]:
    if not history:
        return
    yield "\n## What changed\n"
    yield "| run | date (UTC) | requirement | before | since | now |"
    yield "|---|---|---|---|---|---|"
    for each in history:
        old, new = each.before.column, each.after.column
        named = (new.name, new.date, each.requirement)
        cells = [*map(in_markdown, named), _cell(each.before), old.date, _cell(each.after)]
        yield f"| {' | '.join(cells)} |"


def _stacks(grid: Grid) -> Iterator[str]:
    yield "| run | target | date (UTC) | tool | results | notes |"
    yield "|---|---|---|---|---|---|"
    for each in grid.columns:
        run = each.run
        notes = "; ".join(filter(None, [each.state, *run.notes]))
        cells = [each.name, run.target, each.date, run.tool, str(len(run.results)), notes]
        yield f"| {' | '.join(map(in_markdown, cells))} |"


def _reasons(grid: Grid, titles: Mapping[str, str]) -> Iterator[str]:
    for name, cells in grid.rows.items():
        told = [cell for cell in cells if cell.state not in _CALM]
        if not told:
            continue
        yield f"\n## {in_markdown(name)}\n"
        if name in titles:
            yield f"{in_markdown(titles[name])}\n"
        for cell in told:
            packets = ", ".join(map(str, cell.lead.packets)) if cell.lead else ""
            at = f" (packets {packets})" if packets else ""
            stack = in_markdown(cell.column.name)
            yield f"- {stack}: {_cell(cell)}: {in_markdown(cell.reason)}{at}"


def _cell(cell: Cell) -> str:
    return f"[{cell.text}]({cell.link})" if cell.link else cell.text
