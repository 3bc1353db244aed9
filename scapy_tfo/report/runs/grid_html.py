"""The grid of runs and requirements as one HTML page; see `report.page` for what it may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scapy_tfo.report.outline import Requirements
from scapy_tfo.report.page import SEARCH, cited, head, safe, tail
from scapy_tfo.report.runs.grid import LEGEND, Cell, Column, Grid
from scapy_tfo.report.runs.grid_markdown import TITLE
from scapy_tfo.report.runs.history import Change


def grid_html(grid: Grid, requirements: Requirements, history: Sequence[Change] = ()) -> str:
    """The whole page; every string of a run is escaped."""
    return "\n".join(_parts(grid, requirements, history)) + "\n"


def _parts(grid: Grid, requirements: Requirements, history: Sequence[Change]) -> Iterator[str]:
    yield from head(TITLE, script=True)
    yield f"<h1>{TITLE}</h1>"
    yield from _stacks(grid)
    yield "<h2>By requirement</h2>"
    yield SEARCH
    heads = "".join(f"<th>{safe(each.name)}</th>" for each in grid.columns)
    yield f'<div class="wide"><table><thead><tr><th>requirement</th>{heads}</tr></thead>'
    for name, cells in grid.rows.items():
        told = "".join(map(_cell, cells))
        yield f'<tr class="f"><td>{_requirement(name, grid, requirements)}</td>{told}</tr>'
    yield "</table></div>"
    used = {cell.state for cells in grid.rows.values() for cell in cells}
    items = (f"<li>{safe(state)}: {LEGEND[state]}</li>" for state in LEGEND if state in used)
    yield f"<ul>{''.join(items)}</ul>"
    yield from _history(history)
    yield tail(script=True)


def _history(history: Sequence[Change]) -> Iterator[str]:
    if not history:
        return
    yield '<h2>What changed</h2><div class="wide"><table><tr><th>run</th><th>date (UTC)</th>'
    yield "<th>requirement</th><th>before</th><th>since</th><th>now</th></tr>"
    for each in history:
        old, new = each.before.column, each.after.column
        yield (
            f'<tr><td>{safe(new.name)}</td><td class="k">{new.date}</td>'
            f"<td>{safe(each.requirement)}</td>{_cell(each.before)}"
            f'<td class="k">{old.date}</td>{_cell(each.after)}</tr>'
        )
    yield "</table></div>"


def _stacks(grid: Grid) -> Iterator[str]:
    yield '<div class="wide"><table><tr><th>run</th><th>target</th><th>date (UTC)</th>'
    yield '<th>tool</th><th class="n">results</th><th>notes</th></tr>'
    yield from map(_stack, grid.columns)
    yield "</table></div>"


def _stack(column: Column) -> str:
    run = column.run
    capture = f' <a href="{safe(column.capture)}">capture</a>' if column.capture else ""
    notes = "<br>".join(map(safe, filter(None, [column.state, *run.notes])))
    return (
        f"<tr><td>{safe(column.name)}{capture}</td><td>{safe(run.target)}</td>"
        f'<td class="k">{column.date}</td><td>{safe(run.tool)}</td>'
        f'<td class="n">{len(run.results)}</td><td class="t">{notes}</td></tr>'
    )


def _requirement(name: str, grid: Grid, requirements: Requirements) -> str:
    known = requirements.get(name)
    summary = f'{safe(name)} <span class="dim">{safe(grid.level(name))}</span>'
    if known is None:
        return summary
    sources = ", ".join(map(cited, known.source))
    return (
        f"<details><summary>{summary}</summary><p>{safe(known.statement)}</p>"
        f'<p class="dim">{sources}</p></details>'
    )


def _cell(cell: Cell) -> str:
    state = safe(cell.text)
    if cell.link:
        state = f'<a href="{safe(cell.link)}">{state}</a>'
    told = f'<span class="v">{state}</span>'
    kind = cell.state if cell.lead is not None else "skipped"
    if not cell.reason or cell.lead is None:
        return f'<td class="{kind}">{told}</td>'
    at = ", ".join(map(str, cell.lead.packets))
    packets = f'<p class="dim">packets {at}</p>' if at else ""
    return (
        f'<td class="{kind}">{told}<details><summary>why</summary>'
        f"<p>{safe(cell.reason)}</p>{packets}</details></td>"
    )
