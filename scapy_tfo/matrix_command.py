"""`scapy-tfo spec --matrix`: hunt every mutant with every case, and show what caught what."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.report.matrix_table import COMMAND, TITLE, matrix_markdown
from scapy_tfo.suite.coverage import Coverage, cover
from scapy_tfo.suite.matrix import SERVERS, Arena, Kills, hunt


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
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task = progress.add_task("hunting mutants", total=len(mutants))

        def seen(kills: Kills) -> None:
            progress.update(task, advance=1, description=f"hunting {kills.mutant}", refresh=True)

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
        witnesses = json.dumps(coverage.witnesses(), indent=1) + "\n"
        write.with_suffix(".json").write_text(witnesses, encoding="utf-8")
    if kills is not None:
        kills.write_text(json.dumps(coverage.kills, indent=0) + "\n", encoding="utf-8")
    for problem in coverage.problems:
        print(problem, file=sys.stderr)
    return int(bool(coverage.problems))
