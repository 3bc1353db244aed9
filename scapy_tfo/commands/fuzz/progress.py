"""Shows how far a campaign is, and each finding when it is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from scapy_tfo.fuzz.campaign.campaign import Progress
    from scapy_tfo.fuzz.findings.finding import Finding

_LINES_EVERY = 10.0
"""Seconds between two lines in a pipe."""

Shown = tuple[Callable[["Progress"], None], Callable[["Finding"], None]]


def both(
    first: Callable[[Progress], None], second: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """Calls one, then the other."""

    def call(progress: Progress) -> None:
        first(progress)
        second(progress)

    return call


@contextmanager
def shown(
    console: Console, *, quiet: bool, more: Callable[[], str] = lambda: ""
) -> Iterator[Shown]:
    """What to call with progress and findings: a live line on a terminal, some lines in a pipe.

    more: what is said besides of how far it is.
    """
    from scapy_tfo.report.fuzz_report import line_of

    if quiet:
        yield lambda _progress: None, lambda _finding: None
        return
    if console.is_terminal:
        with _live(console, more) as calls:
            yield calls
        return
    last = time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINES_EVERY:
            last = time.monotonic()
            print(_rates(progress) + more(), flush=True)

    yield say, lambda finding: print(line_of(finding), flush=True)


@contextmanager
def _live(console: Console, more: Callable[[], str]) -> Iterator[Shown]:
    from rich import progress as bars

    from scapy_tfo.commands.console import PlainColumn
    from scapy_tfo.report.fuzz_report import line_of

    columns = (
        PlainColumn("fuzzing"),
        bars.BarColumn(),
        bars.TimeElapsedColumn(),
        PlainColumn("{task.fields[rates]}"),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("fuzzing", total=None, rates="")
        began = time.monotonic()

        def show(progress: Progress) -> None:
            spent = time.monotonic() - began
            total = None if progress.left is None else spent + progress.left
            bar.update(task, completed=spent, total=total, rates=_rates(progress) + more())

        def announce(finding: Finding) -> None:
            bar.console.print(line_of(finding), style="bold red")

        yield show, announce


def _rates(progress: Progress) -> str:
    from scapy_tfo.report.fuzz_report import told_quiet

    left = "" if progress.left is None else f", {_clock(progress.left)} left"
    return (
        f"{progress.programs:,} programs, {progress.probes_a_second:,.0f} segments/s,"
        f" {progress.programs_a_second:,.0f} sequences/s, {progress.findings} findings"
        f"{told_quiet(progress.quiet)}{left}"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
