"""`scapy-tfo soak`: the same run many times, and how far its verdicts can be trusted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.arguments import count
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from rich.console import Console

    from scapy_tfo.lab.path import Impairment
    from scapy_tfo.suite.session import Request
    from scapy_tfo.suite.soak import Soak, Trial

SUMMARY = "judge a target many times and count the verdicts that change"
DESCRIPTION = """Run the same cases many times and count what changes.

TARGET as for 'scapy-tfo test'. Simulated runs differ in their seed, from --seed on, and go side
by side; live ones go one after another.

A flake is a case that gave, at one address, another verdict than it mostly does. A contradiction
is a flake in which both verdicts claim to know: loss explains none. Rates come with their 95 %
confidence interval (Wilson).

With --from, figures kept by --json are shown again as a table. --markdown writes that table into
a file, between the lines '<!-- soak: begin -->' and '<!-- soak: end -->'."""

IMPAIR_HELP = (
    "impair the path to sim:NAME or lab:reference, in both directions: loss, duplicate, reorder, "
    "corrupt (5%%), delay, jitter, hold (50ms), as in loss=5%%,delay=50ms"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="what to judge")
    add("--runs", type=count, default=10, metavar="N", help="default: 10")
    add("--impair", metavar="SPEC", help=IMPAIR_HELP)
    add("--seed", type=int, default=0, metavar="N", help="of the first run (default: 0)")
    add("--slow", action="store_true", help="also cases that wait for long timers")
    add("--app", choices=("echo", "http", "none"), help="what listens at HOST (default: none)")
    add("--jobs", type=count, metavar="N", help="simulated runs at a time (default: processors)")
    add("--json", type=Path, metavar="FILE", help="keep the figures as JSON")
    add(
        "--from",
        dest="kept",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="figures kept by --json before, instead of a TARGET",
    )
    add("--markdown", type=Path, metavar="FILE", help="write the table into this file")
    add("--quiet", action="store_true", help="no progress, only the figures")


def command(chosen: argparse.Namespace) -> int:
    """Run it; the exit status."""
    from scapy_tfo.front import make_console
    from scapy_tfo.report import soak_report

    if bool(chosen.target) == bool(chosen.kept):
        raise SetupError("give either a TARGET or, with --from, figures that were kept")
    for path in (chosen.json, chosen.markdown):
        if path is not None and not path.parent.is_dir():
            raise SetupError(f"cannot write {path}: there is no directory {path.parent}")
    console, status = make_console("auto"), 0
    if chosen.kept:
        figures = [soak_report.read_figures(path) for path in chosen.kept]
        if chosen.markdown is None:
            print(soak_report.markdown(figures), end="")
        status = soak_report.status_of(figures)
    else:
        found = _soaked(chosen, console)
        figures, status = [soak_report.figures_of(found)], found.exit_status
        print("\n".join(soak_report.told(found)))
        if chosen.json is not None:
            soak_report.write_figures(figures[0], chosen.json)
    if chosen.markdown is not None:
        soak_report.write_section(chosen.markdown, soak_report.markdown(figures))
    return status


def impairment(text: str | None) -> Impairment | None:
    """What --impair asks for. Raises SetupError where it is none."""
    from scapy_tfo.lab.path import Impairment

    return Impairment.parse(text) if text else None


def _soaked(chosen: argparse.Namespace, console: Console) -> Soak:
    from scapy_tfo.suite.runner import Options
    from scapy_tfo.suite.session import Request
    from scapy_tfo.suite.soak import soak

    request = Request(
        target=chosen.target,
        app=chosen.app,
        only=chosen.only,
        exclude=chosen.exclude,
        options=Options(
            slow=chosen.slow,
            seed=chosen.seed,
            impairment=impairment(chosen.impair),
        ),
    )
    if chosen.quiet or not console.is_terminal:
        return soak(request, chosen.runs, jobs=chosen.jobs)
    return _with_progress(request, chosen, console)


def _with_progress(request: Request, chosen: argparse.Namespace, console: Console) -> Soak:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from scapy_tfo.suite.result import Verdict
    from scapy_tfo.suite.soak import soak

    columns = (
        TextColumn("soaking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[fails]} FAIL"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("soaking", total=chosen.runs, fails=0)
        fails = 0

        def show(trial: Trial) -> None:
            nonlocal fails
            for each in trial.case_runs:
                if each.verdict is Verdict.FAIL:
                    fails += 1
                    where = f"{each.case} [ipv{each.family}] (seed {trial.seed})"
                    progress.console.print(f"FAIL {where}: {each.reason}", style="bold red")
            progress.update(task, advance=1, fails=fails)

        return soak(request, chosen.runs, jobs=chosen.jobs, on_trial=show)
