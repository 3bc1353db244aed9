"""`scapy-tfo matrix`: puts runs beside each other, stack by requirement."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import add_families, described, listed
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.report.runs.grid import Grid
    from scapy_tfo.report.runs.history import Change

SUMMARY = "compare runs in a table of stacks and requirements, as Markdown and HTML"

_STATES = ("fail", "warning", "known", "fixed", "pass", "inconclusive", "unsupported", "skipped")

_MATRIX = """Compare runs in a table: a column for each run, a row for each requirement.

Each FILE is a results.json file of a run. A cell shows the worst result of the requirement's cases,
gives the reason, and links to the packets in the report of the same directory.
A cell is unsupported only if a case found this by the rules of its requirement; nothing is
inferred from other columns. The name of a column is the label, the stack, or the target. If runs
have the same name, a table lists the changes from one to the next, with their dates.

The matrix is printed as Markdown, unless --markdown or --html names a file.

exit status: 0 made, whatever the cells say, 2 wrong usage, or a file that cannot be read or
written"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`matrix`."""
    parser = described(commands, "matrix", SUMMARY, _MATRIX)
    parser.set_defaults(command=_matrix)
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="results.json of a run, or its directory",
    )
    add("--markdown", type=Path, metavar="FILE", help="write it as Markdown")
    add("--html", type=Path, metavar="FILE", help="write it as one HTML page")
    add(
        "--newest",
        action="store_true",
        help="a column only for the newest run of each name; the others are its history",
    )
    group = parser.add_argument_group("which rows and results")
    for flag, what in (("--only", "show only"), ("--exclude", "leave out")):
        group.add_argument(
            flag,
            action="extend",
            type=listed,
            default=[],
            metavar="ID",
            help=f"{what} these requirements: an id (ACC-2), a group (OPT) or a pattern",
        )
    group.add_argument(
        "--state",
        action="append",
        choices=_STATES,
        default=[],
        help="show only requirements with this state in some run; repeatable",
    )
    group.add_argument(
        "--differs", action="store_true", help="show only requirements in which the runs differ"
    )
    add_families(group)


def _matrix(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.listing import chosen_ids
    from scapy_tfo.report.outline import load_requirements
    from scapy_tfo.report.output import check_file
    from scapy_tfo.report.runs.grid import Column, Grid
    from scapy_tfo.report.runs.grid_html import grid_html
    from scapy_tfo.report.runs.grid_markdown import grid_markdown
    from scapy_tfo.report.runs.history import changes, newest_of_each
    from scapy_tfo.report.runs.reading import read_run

    for path in filter(None, (chosen.markdown, chosen.html)):
        check_file(path)
    runs = [read_run(each) for each in chosen.files]
    requirements = load_requirements()
    there = {each.requirements[0] for found in runs for each in found.run.results}
    names = [*requirements, *sorted(there - requirements.keys())]
    levels = {name: each.level for name, each in requirements.items()}
    wanted = {name: levels.get(name) for name in chosen_ids(names, chosen.only, chosen.exclude)}

    def grids(file: Path | None) -> tuple[Grid, list[Change]]:
        """What is shown, and the history of it."""
        here = file.parent if file else Path()
        columns = [Column(each, here) for each in runs]
        families = chosen.families or (4, 6)
        history = changes(Grid(columns, wanted, families=families))
        if chosen.newest:
            columns = newest_of_each(columns)
        keeps, differs = chosen.state, chosen.differs
        grid = Grid(columns, wanted, families=families, keeps=keeps, differs=differs)
        return grid, [each for each in history if each.requirement in grid.rows]

    titles = {name: each.statement for name, each in requirements.items()}
    if chosen.html is not None:
        grid, history = grids(chosen.html)
        _write(chosen.html, grid_html(grid, requirements, history))
    if chosen.markdown is not None or chosen.html is None:
        grid, history = grids(chosen.markdown)
        text = grid_markdown(grid, titles, history)
        if chosen.markdown is not None:
            _write(chosen.markdown, text)
        else:
            print(text, end="")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
