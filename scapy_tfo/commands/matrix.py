"""`scapy-tfo spec --matrix`: run every case against every mutant, and show which caught which."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from scapy_tfo import spec
from scapy_tfo.commands.console import PlainColumn, make_console
from scapy_tfo.errors import SetupError
from scapy_tfo.report.tables.matrix import COMMAND, TITLE, matrix_markdown
from scapy_tfo.trust.coverage import Coverage, cover
from scapy_tfo.trust.matrix import SERVERS, Arena, Kills, hunt


def make_matrix(
    arena: Arena = SERVERS,
    *,
    title: str = TITLE,
    command: str = COMMAND,
    processes: int | None = None,
) -> tuple[str, Coverage]:
    """Run everything and return the document and what it rests on.

    title: of the document. command: which makes it. processes: how many mutants are hunted at a
    time, by default one for each processor.
    """
    cases, mutants = arena.cases(), arena.mutants()
    # Drawn by this thread alone: processes are forked beneath it.
    columns = (
        PlainColumn("{task.description}"),
        *(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()),
    )
    with Progress(
        *columns, console=make_console(stderr=True), transient=True, auto_refresh=False
    ) as progress:
        task = progress.add_task("testing mutants", total=len(mutants))

        def seen(kills: Kills) -> None:
            progress.update(task, advance=1, description=f"testing {kills.mutant}", refresh=True)

        kills = hunt(cases, mutants, arena=arena, processes=processes, on_kills=seen)
    coverage = cover(spec.load(), cases, mutants, kills, arena)
    return matrix_markdown(coverage, cases, mutants, title=title, command=command), coverage


def show_matrix(
    arena: Arena = SERVERS,
    *,
    title: str = TITLE,
    command: str = COMMAND,
    write: Path | None,
    kills: Path | None,
    processes: int | None,
) -> int:
    """Print the matrix; 1 where something is unchecked, idle or survives.

    write: write it to this file instead, and its witnesses to the one beside it in JSON. kills:
    write every case that caught a mutant to this file, in JSON.
    """
    for file in (write, kills):
        if file is not None and not file.parent.is_dir():
            raise SetupError(f"cannot write {file}: there is no directory {file.parent}")
    document, coverage = make_matrix(arena, title=title, command=command, processes=processes)
    if write is None:
        print(document, end="")
    else:
        write.write_text(document, encoding="utf-8")
        kept = {**coverage.witnesses(), "concerns": coverage.concerns, "left": coverage.left}
        write.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if kills is not None:
        kills.write_text(json.dumps(coverage.kills, indent=0) + "\n", encoding="utf-8")
    for problem in coverage.problems:
        print(problem, file=sys.stderr)
    return int(bool(coverage.problems))
