"""What a terminal shows of a run: progress while it goes on, then the reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scapy_tfo.errors import SetupError
from scapy_tfo.report.commands import Commands
from scapy_tfo.report.json_report import write_json
from scapy_tfo.report.junit import write_junit
from scapy_tfo.report.output import CAPTURE, check_file, check_writable, write_all
from scapy_tfo.report.text import print_summary
from scapy_tfo.suite.result import Result, Run, Verdict, exit_status
from scapy_tfo.suite.session import Request, chosen_cases, run

_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNSUPPORTED: "cyan",
    Verdict.SKIPPED: "dim",
}


def make_console(color: str) -> Console:
    """A console on standard output. color: auto (a terminal without NO_COLOR), always, never."""
    force = True if color == "always" else None
    return Console(force_terminal=force, no_color=color == "never" or None, highlight=False)


def judge_and_report(
    request: Request,
    *,
    strict: bool = False,
    json: Path | None = None,
    junit: Path | None = None,
    out: Path | None = None,
    quiet: bool = False,
    color: str = "auto",
) -> int:
    """Judge what is asked for, show it, write the reports; the exit status.

    Raises SetupError and TargetError as the run does, before anything is written.
    """
    console = make_console(color)
    reports = Reports(strict=strict, json=json, junit=junit, out=out)
    reports.check()
    return reports.write(_judge(request, console, quiet=quiet), console)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Where the reports of a run go. out: a directory, None for a new one. json, junit: files
    besides. strict: a SHOULD that is not met fails the run."""

    strict: bool = False
    json: Path | None = None
    junit: Path | None = None
    out: Path | None = None

    def check(self) -> None:
        """Raises SetupError where they cannot be written, before anything is judged."""
        for path in filter(None, (self.json, self.junit)):
            check_file(path)
        check_writable(self.out)

    def write(self, done: Run, console: Console) -> int:
        """Write them, and show the summary; the exit status."""
        directory = write_all(done, self.out, strict=self.strict)
        if self.json is not None:
            write_json(done, self.json, strict=self.strict)
        if self.junit is not None:
            write_junit(done, self.junit, strict=self.strict)
        commands = Commands(done.packets, directory / CAPTURE)
        print_summary(done, console, strict=self.strict, commands=commands)
        console.print(f"Reports and capture: {directory}", soft_wrap=True)
        return exit_status(done, strict=self.strict)


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
            print(f"{target} is left out: {error}", file=sys.stderr)
    return worst


def _judge(request: Request, console: Console, *, quiet: bool) -> Run:
    total = len(chosen_cases(request))
    with progress(console, total, quiet=quiet) as show:
        options = replace(request.options, on_result=show)
        return run(replace(request, options=options))


@contextmanager
def progress(console: Console, total: int, *, quiet: bool) -> Iterator[Callable[[Result], None]]:
    """Something to call with each result: a live bar on a terminal, a line in a pipe."""
    if quiet:
        yield lambda _result: None
    elif not console.is_terminal:
        yield lambda result: print(_line(result), flush=True)
    else:
        with Progress(
            TextColumn("judging"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}"),
            console=console,
            transient=True,
        ) as progress:
            task = progress.add_task("judging", total=None, last="")
            seen: dict[int, int] = {}

            def show(result: Result) -> None:
                seen[result.family] = seen.get(result.family, 0) + 1
                progress.update(task, advance=1, total=total * len(seen), last=result.case)
                if result.verdict is Verdict.FAIL:
                    progress.console.print(_line(result), style=_STYLES[result.verdict])

            yield show


def _line(result: Result) -> str:
    text = f"{result.verdict.value:<12} {result.case} [ipv{result.family}]"
    return f"{text}: {result.reason}" if result.reason else text
