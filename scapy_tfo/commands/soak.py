"""`scapy-tfo soak`: repeat a run many times, and measure how far its verdicts can be trusted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from scapy_tfo.lab.links.impairment import Impairment
    from scapy_tfo.runner.session import Request
    from scapy_tfo.trust.soak import Soak, Trial

SUMMARY = "judge a target many times and count the verdicts that change"
DESCRIPTION = """Run the same cases many times and count the verdicts that change.

TARGET is as for 'scapy-tfo test'. Each simulated run has a seed of its own,
counted up from --seed, and several run at a time; live runs follow one another.

A flake is a case that gives another verdict than it mostly gives at the same
address. A contradiction is a flake in which both verdicts are conclusive
(pass, fail or unsupported): packet loss explains none. Rates are printed with
their 95 % confidence interval (Wilson).

With --from, figures that --json has saved are printed as a table. --markdown
writes this table into a file, between the lines '<!-- soak: begin -->' and
'<!-- soak: end -->'."""

IMPAIR_HELP = (
    "impair the path to sim:NAME, lab:reference or lab:NAME, in both directions, as in "
    "loss=5%%,delay=50ms: loss, duplicate, reorder and corrupt take a share, delay, jitter and "
    "hold a time"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="the target to judge")
    add("--runs", type=count, default=10, metavar="N", help="number of runs (default: 10)")
    add("--impair", metavar="SPEC", help=IMPAIR_HELP)
    add("--seed", type=int, default=0, metavar="N", help="seed of the first run (default: 0)")
    add("--slow", action="store_true", help="also run cases that wait for long timers")
    add("--app", choices=("echo", "http", "none"), help="application on HOST (default: none)")
    add(
        "--jobs",
        type=count,
        metavar="N",
        help="simulated runs at a time (default: one for each processor)",
    )
    add("--json", type=Path, metavar="FILE", help="save the figures as JSON")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="keep a line of JSON for each run in this directory, as soon as it has ended "
        "(default: tfo-results/<UTC time>)",
    )
    add(
        "--from",
        dest="kept",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="print figures that --json has saved, instead of judging a TARGET",
    )
    add("--markdown", type=Path, metavar="FILE", help="write the table into this file")
    add("--quiet", action="store_true", help="print only the figures, no progress")


def command(chosen: argparse.Namespace) -> int:
    """Run it; the exit status."""
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.report.tables import soak as soak_report

    if bool(chosen.target) == bool(chosen.kept):
        raise SetupError("give either a TARGET, or files with saved figures after --from")
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
        found = _kept_soak(chosen, console)
        figures, status = [soak_report.figures_of(found)], found.exit_status
    if chosen.markdown is not None:
        soak_report.write_section(chosen.markdown, soak_report.markdown(figures))
    return status


def impairment(text: str | None) -> Impairment | None:
    """What --impair asks for. Raises SetupError where it is none."""
    from scapy_tfo.lab.links.impairment import Impairment

    return Impairment.parse(text) if text else None


def _kept_soak(chosen: argparse.Namespace, console: Console) -> Soak:
    """Soak, with a journal of the runs in --out; print the figures of those that there are, and
    save them as JSON."""
    import sys
    import time

    from scapy_tfo.report.journal import Journal
    from scapy_tfo.report.output import begin, check_writable
    from scapy_tfo.report.tables import soak as soak_report

    check_writable(chosen.out)
    began = time.time()
    journal = Journal(lambda: begin(chosen.out, began))
    found = _soaked(chosen, console, lambda each: journal.add(soak_report.trial_record(each)))
    journal.close(drop=False)
    try:
        print("\n".join(soak_report.told(found)), flush=True)
    finally:
        # Also where nobody reads what is told.
        if chosen.json is not None:
            soak_report.write_figures(soak_report.figures_of(found), chosen.json)
    if found.left:
        left = f"{found.left} of {chosen.runs} runs are missing"
        print(f"scapy-tfo: interrupted: {left}", file=sys.stderr)
    return found


def _soaked(chosen: argparse.Namespace, console: Console, keep: Callable[[Trial], None]) -> Soak:
    from scapy_tfo.runner.runner import Options
    from scapy_tfo.runner.session import Request
    from scapy_tfo.trust.soak import soak

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
        return soak(request, chosen.runs, jobs=chosen.jobs, on_trial=keep)
    return _with_progress(request, chosen, console, keep)


def _with_progress(
    request: Request, chosen: argparse.Namespace, console: Console, keep: Callable[[Trial], None]
) -> Soak:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from scapy_tfo.commands.console import PlainColumn
    from scapy_tfo.suite.result import Verdict
    from scapy_tfo.trust.soak import soak

    columns = (
        PlainColumn("soaking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        PlainColumn("{task.fields[fails]} FAIL"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("soaking", total=chosen.runs, fails=0)
        fails = 0

        def show(trial: Trial) -> None:
            nonlocal fails
            keep(trial)
            for each in trial.case_runs:
                if each.verdict is Verdict.FAIL:
                    fails += 1
                    where = f"{each.case} [ipv{each.family}] (seed {trial.seed})"
                    progress.console.print(f"FAIL {where}: {each.reason}", style="bold red")
            progress.update(task, advance=1, fails=fails)

        return soak(request, chosen.runs, jobs=chosen.jobs, on_trial=show)
