"""Shows the progress of a run on a terminal, then its summary, and writes its reports."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from scapy_tfo.commands.console import PlainColumn, make_console
from scapy_tfo.commands.output import check_out
from scapy_tfo.errors import SetupError
from scapy_tfo.report.commands import Commands
from scapy_tfo.report.escape import visible
from scapy_tfo.report.exchange.sarif import write_sarif
from scapy_tfo.report.exchange.tap import tap, write_tap
from scapy_tfo.report.journal import Journal
from scapy_tfo.report.json_report import record_of, write_json
from scapy_tfo.report.junit import write_junit
from scapy_tfo.report.output import CAPTURE, begin, check_file, point_latest, write_all
from scapy_tfo.report.text import print_summary
from scapy_tfo.runner.record import BrokenOffError
from scapy_tfo.runner.session import Request, judge_once, run
from scapy_tfo.runner.side_by_side import side_by_side
from scapy_tfo.suite.result import Result, Run, Verdict, exit_status
from scapy_tfo.vary.run import Vary, judge_in

STDOUT = Path("-")
"""As the file of TAP: standard output."""

_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNSUPPORTED: "cyan",
    Verdict.SKIPPED: "dim",
}


def judge_and_report(
    request: Request,
    *,
    vary: Vary | None = None,
    schedules: bool = False,
    reports: Reports | None = None,
    quiet: bool = False,
    color: str = "auto",
) -> int:
    """Judge what is asked for, show it, write the reports; the exit status. vary: the contexts in
    which each case is run, None for the usual one. schedules: play those of the corpus, too.

    Raises SetupError and TargetError as the run does, before any report is written.
    """
    reports = reports or Reports()
    # Who reads TAP from standard output reads nothing else there.
    console = make_console(color, stderr=reports.is_tap_printed)
    quiet = quiet or reports.is_tap_printed
    reports.check()
    try:
        done = _judge(request, vary, console, reports, schedules=schedules, quiet=quiet)
    except BrokenOffError as broken:
        done = broken.run
    return reports.write(done, console)


class Reports:
    """Where the reports of a run go. out: a directory, None for a new one. json, junit, tap, sarif:
    files besides; STDOUT only for tap. strict: a SHOULD that is not met fails the run."""

    def __init__(
        self,
        *,
        strict: bool = False,
        json: Path | None = None,
        junit: Path | None = None,
        tap: Path | None = None,
        sarif: Path | None = None,
        out: Path | None = None,
    ) -> None:
        self._strict, self._json, self._junit, self._out = strict, json, junit, out
        self.is_tap_printed = tap == STDOUT
        self._tap, self._sarif = None if self.is_tap_printed else tap, sarif
        self._began = time.time()
        self._directory: Path | None = None
        self._journal = Journal(self._place)

    def check(self) -> None:
        """Raises SetupError where they cannot be written, before anything is judged."""
        for path in filter(None, (self._json, self._junit, self._tap, self._sarif)):
            check_file(path)
        check_out(self._out)

    def keep(self, result: Result) -> None:
        """Keep a result of a run that has not ended."""
        self._journal.add(record_of(result))

    def write(self, done: Run, console: Console) -> int:
        """Show the summary, and write the reports; the exit status.

        The summary comes first: it is there even if the reports cannot be written. They are
        written even if nobody reads it to its end.
        """
        commands, trouble = None, None
        try:
            commands = Commands(done.packets, self._place() / CAPTURE)
        except SetupError as error:
            trouble = error
        try:
            print_summary(done, console, strict=self._strict, commands=commands)
        except KeyboardInterrupt:
            where = trouble or f"the reports are in {self._written(done)}"
            raise KeyboardInterrupt(f"interrupted; {where}") from None
        except OSError:
            if trouble is None:
                self._written(done)
            raise
        if trouble is not None:
            raise trouble
        if self.is_tap_printed:
            print(tap(done, strict=self._strict), end="", flush=True)
        console.print(f"Reports and capture: {self._written(done)}", soft_wrap=True)
        if done.interrupted:
            print(f"scapy-tfo: {'; '.join(done.notes)}", file=sys.stderr)
        return exit_status(done, strict=self._strict)

    def _written(self, done: Run) -> Path:
        """Write the files; the directory of most of them. Raises SetupError."""
        strict = self._strict
        directory = write_all(done, self._place(), strict=strict)
        if self._out is None:
            point_latest(directory)
        if self._json is not None:
            write_json(done, self._json, strict=strict)
        if self._junit is not None:
            write_junit(done, self._junit, strict=strict)
        if self._tap is not None:
            write_tap(done, self._tap, strict=strict)
        if self._sarif is not None:
            write_sarif(done, self._sarif, strict=strict)
        self._journal.close(drop=True)
        return directory

    def _place(self) -> Path:
        """The directory, which is made when it is first needed. Raises SetupError."""
        if self._directory is None:
            self._directory = begin(self._out, self._began)
        return self._directory


def demonstrate(*, color: str = "auto") -> int:
    """The main job on targets of our own: this kernel, then the reference implementation."""
    console = make_console(color)
    worst = 0
    for target in ("lab:linux", "lab:reference"):
        console.rule(f"scapy-tfo test {target}")
        try:
            worst = max(worst, judge_and_report(Request(target=target), color=color, quiet=True))
        except SetupError as error:
            if target == "lab:reference":
                raise
            print(f"scapy-tfo: {target} is skipped: {error}", file=sys.stderr)
    return worst


def _judge(
    request: Request,
    vary: Vary | None,
    console: Console,
    reports: Reports,
    *,
    schedules: bool,
    quiet: bool,
) -> Run:
    with progress(console, reports.keep, quiet=quiet) as (plan, show):

        def tell(line: str) -> None:
            if not quiet:
                console.print(Text(visible(line)), soft_wrap=True)

        options = replace(request.options, on_plan=plan, on_result=show, on_note=tell)
        request = replace(request, options=options)
        judge = side_by_side(judge_once) if vary is None else judge_in(replace(vary, tell=tell))
        if schedules:
            # Not at the top: it takes a while to import.
            from scapy_tfo.explore.judging.run import with_schedules

            judge = with_schedules(judge)
        return run(request, judge)


@contextmanager
def progress(
    console: Console, keep: Callable[[Result], None], *, quiet: bool
) -> Iterator[tuple[Callable[[int], None], Callable[[Result], None]]]:
    """Something to call with the number of results to come, and something for each result: a live
    bar on a terminal, a line in a pipe. keep: called with each result first.

    On a terminal the first failure with a symptom stands for all that show the same: the summary
    groups them.
    """
    if quiet:
        yield (lambda _total: None), keep
    elif not console.is_terminal:

        def tell(result: Result) -> None:
            keep(result)
            print(_line(result), flush=True)

        yield (lambda _total: None), tell
    else:
        with Progress(
            PlainColumn("judging"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            # The name gives way where the line is full: it is the longest, and matters least.
            PlainColumn(
                "{task.fields[last]}",
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=console,
            expand=True,
            transient=True,
        ) as progress:
            task = progress.add_task("judging", total=None, last="")
            symptoms: set[str] = set()

            def show(result: Result) -> None:
                keep(result)
                progress.update(task, advance=1, last=result.case)
                if result.verdict is Verdict.FAIL and result.symptom not in symptoms:
                    progress.console.print(Text(_line(result), _STYLES[result.verdict]))
                    symptoms.update({result.symptom} - {""})

            yield (lambda total: progress.update(task, total=total)), show


def _line(result: Result) -> str:
    text = f"{result.verdict.value:<12} {result.case} [ipv{result.family}]"
    return visible(f"{text}: {result.reason}" if result.reason else text)
