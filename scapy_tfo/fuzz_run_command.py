"""A run of `scapy-tfo fuzz TARGET`: the campaign, its progress, and what is left behind."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from rich.console import Console

    from scapy_tfo.fuzz.benches import ProfiledBench
    from scapy_tfo.fuzz.campaign import Campaign, Progress
    from scapy_tfo.fuzz.findings import Finding
    from scapy_tfo.fuzz.known import Known
    from scapy_tfo.fuzz.program import Program
    from scapy_tfo.fuzz.store import Store

STORE = "campaign.sqlite"
"""Name of a store that was not told where to be."""

PROFILES = ("auto", "linux", "rfc", "off")
"""What the model allows: as the target shows it, or as it is known."""

_DEFAULT_SECONDS = 60.0
_LINES_EVERY = 10.0


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What the arguments come to. seconds: of --for. shard: None for what the store has, or all.
    base: programs of --corpus, by what they reached. known: findings that are no news."""

    seconds: float | None
    shard: tuple[int, int] | None
    base: dict[str, Program]
    known: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """A campaign with its place."""

    store: Store
    out: Path
    known: tuple[Known, ...]


def command(chosen: argparse.Namespace) -> int:
    """Run it; the exit status."""
    from scapy_tfo.front import make_console
    from scapy_tfo.fuzz.benches import open_bench

    if chosen.target is None:
        raise SetupError("no target: give sim:NAME, lab:linux, ... ('scapy-tfo fuzz --help')")
    chosen.target = target_of(chosen)
    _check_files(chosen)
    wishes = _wishes(chosen)

    def reopen() -> ProfiledBench:
        return open_bench(chosen.target, profile=chosen.profile, rate=chosen.rate)

    bench = reopen()
    try:
        run = _prepared(chosen, bench, wishes)
    except BaseException:
        bench.close()
        raise
    with closing(run.store):
        return _campaigned(chosen, run, bench, reopen, make_console("auto"))


def target_of(chosen: argparse.Namespace) -> str:
    """The target, or both that are compared, by one name."""
    from scapy_tfo.fuzz.addressed import Way, spelled
    from scapy_tfo.fuzz.pair import AGAINST

    named = {"plain": chosen.plain_port, "second": chosen.second_port}
    ports = tuple((name, port) for name, port in named.items() if port is not None)
    way = Way(str(chosen.target), chosen.iface, tuple(chosen.source), ports)
    if way != Way(way.endpoint) and way.endpoint.startswith(("sim:", "lab:")):
        raise SetupError(
            "--iface, --source, --plain-port, --second-port: for a target of yours; "
            f"{way.endpoint} brings its own"
        )
    chosen.target = spelled(way)
    if chosen.against is None:
        if chosen.strict:
            raise SetupError("--strict is about what differs: give the other target with --against")
        return str(chosen.target)
    return f"{chosen.target}{AGAINST}{chosen.against}"


def _check_files(chosen: argparse.Namespace) -> None:
    """Find out before a long run whether its results can be written."""
    from scapy_tfo.report.output import check_writable

    for path in (chosen.json, chosen.known if chosen.update_known else None, chosen.store):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise SetupError(f"cannot write {path}: there is no directory {path.parent}")
        if path.is_dir():
            raise SetupError(f"cannot write {path}: it is a directory")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise SetupError(f"cannot write {path}: no permission")
    check_writable(chosen.out)


def _known(chosen: argparse.Namespace) -> tuple[Known, ...]:
    from scapy_tfo.fuzz.known import load_known

    if chosen.update_known and chosen.known is None:
        raise SetupError("--update-known writes the file of --known: give it")
    if chosen.known is None or (chosen.update_known and not chosen.known.exists()):
        return ()
    return load_known(chosen.known)


def _wishes(chosen: argparse.Namespace) -> _Wishes:
    """All that can be wrong with the arguments, before anything is made."""
    from scapy_tfo.fuzz.plan import parse_duration, parse_shard

    seconds = parse_duration(chosen.duration) if chosen.duration else None
    shard = parse_shard(chosen.shard) if chosen.shard else None
    known = _known(chosen)
    return _Wishes(seconds, shard, corpus_of(chosen), known)


def corpus_of(chosen: argparse.Namespace) -> dict[str, Program]:
    """The programs of --corpus, a store or a directory, by what they reached."""
    from scapy_tfo.fuzz.program_files import read_directory
    from scapy_tfo.fuzz.store import Store

    if chosen.corpus is None:
        return {}
    if chosen.corpus.is_dir():
        return read_directory(chosen.corpus)
    with closing(Store.open(chosen.corpus)) as earlier:
        return earlier.corpus()


def _prepared(chosen: argparse.Namespace, bench: ProfiledBench, wishes: _Wishes) -> _Run:
    """The store, new or as it was left, and the directory of this run."""
    from scapy_tfo.fuzz.store_file import is_empty
    from scapy_tfo.report.output import BASE, LATEST, begin, point_latest

    out = chosen.out
    if chosen.resume and chosen.store is None and out is None:
        out = (BASE / LATEST).resolve()
    path = chosen.store or (None if out is None else out / STORE)
    if chosen.resume and path is not None and not is_empty(path):
        store = _resumed(chosen, path, bench, wishes)
        place = begin(out, time.time())
    else:
        place = begin(out, time.time())
        store = _created(chosen, path or place / STORE, bench, wishes)
    try:
        store.limit(*_limits(chosen, store, wishes))
        if out is None:
            point_latest(place)
    except BaseException:
        store.close()
        raise
    return _Run(store, place, wishes.known)


def _created(
    chosen: argparse.Namespace, path: Path, bench: ProfiledBench, wishes: _Wishes
) -> Store:
    from scapy_tfo.fuzz.shard import Job
    from scapy_tfo.fuzz.store import Store

    job = Job(target=chosen.target, seed=chosen.seed or 0, base=wishes.base)
    return Store.create(path, job.plan(bench, wishes.shard or (1, 1)), wishes.base)


def _resumed(
    chosen: argparse.Namespace, path: Path, bench: ProfiledBench, wishes: _Wishes
) -> Store:
    from scapy_tfo.fuzz.grammar import VERSION
    from scapy_tfo.fuzz.store import Store

    store = Store.open(path, to_write=True)
    try:
        held = store.plan
        wanted = replace(
            held,
            target=chosen.target,
            profile=bench.profile.name,
            live=not bench.profile.fresh,
            grammar=str(VERSION),
            seed=held.seed if chosen.seed is None else chosen.seed,
            shard=wishes.shard or held.shard,
        )
        differs = wanted.difference(held)
        if differs:
            raise SetupError(f"{path} is of another campaign: {differs}; begin a new one")
    except BaseException:
        store.close()
        raise
    return store


def _limits(
    chosen: argparse.Namespace, store: Store, wishes: _Wishes
) -> tuple[int | None, float | None]:
    """Programs and seconds: those given, else those of the run before, else a minute."""
    if chosen.programs is not None or wishes.seconds is not None:
        return chosen.programs, wishes.seconds
    programs, seconds = store.limits
    return programs, _DEFAULT_SECONDS if programs is None and seconds is None else seconds


def _campaigned(
    chosen: argparse.Namespace,
    run: _Run,
    bench: ProfiledBench,
    reopen: Callable[[], ProfiledBench],
    console: Console,
) -> int:
    """Run it, and report whatever came, however it ended."""
    from scapy_tfo.fuzz.campaign import Campaign
    from scapy_tfo.fuzz.grammar import program_for

    programs, seconds = run.store.limits
    trouble: BaseException | None = None
    with _shown(console, quiet=chosen.quiet) as (on_progress, on_finding):
        campaign = Campaign(
            run.store,
            program_for,
            bench,
            reopen,
            programs=programs,
            seconds=seconds,
            on_progress=on_progress,
            on_finding=on_finding,
        )
        try:
            campaign.run()
        except (TargetError, KeyboardInterrupt) as error:
            trouble = error
        except BaseException:
            campaign.bench.close()
            raise
    with closing(campaign.bench):
        status = _report(chosen, run, campaign, console, trouble)
    if isinstance(trouble, KeyboardInterrupt):
        print("scapy-tfo: interrupted; --resume goes on where this stopped", file=sys.stderr)
        return 130
    if trouble is not None:
        raise trouble
    return status


def _report(
    chosen: argparse.Namespace,
    run: _Run,
    campaign: Campaign,
    console: Console,
    trouble: BaseException | None,
) -> int:
    from scapy_tfo.fuzz.differing import DIFFERS
    from scapy_tfo.fuzz.findings import Status
    from scapy_tfo.fuzz.known import new_ones, updated, write_known
    from scapy_tfo.report.fuzz_report import figures_of, line_of, summary, write_figures

    findings = run.store.findings()
    new = new_ones(findings, run.known)
    gone = _gone(run, campaign, findings) if trouble is None else []
    ids = {each.id for each in new}
    ended = "finished" if trouble is None else str(trouble) or "interrupted"
    figures = figures_of(run.store, new=ids, gone=[each.id for each in gone], ended=ended)
    write_figures(figures, run.out / "results.json")
    if chosen.json is not None:
        write_figures(figures, chosen.json)
    problems = write_artefacts(findings, run.out / "findings")
    if chosen.update_known:
        write_known(chosen.known, updated(run.known, gone, new))
    console.print(summary(figures), soft_wrap=True)
    slowed = float(getattr(campaign.bench, "slowed", 0.0))
    if slowed >= 1.0:
        console.print(
            f"Held back for {slowed:.0f} s by the target's lag, or --rate", soft_wrap=True
        )
    for each in findings:
        mark = "NEW" if each.id in ids else "known" if each.status is Status.CONFIRMED else "flaky"
        style = "bold red" if mark == "NEW" else "dim"
        console.print(line_of(each, mark=mark), style=style, soft_wrap=True, markup=False)
    for problem in problems:
        console.print(problem, style="dim", soft_wrap=True, markup=False)
    for entry in gone:
        print(
            f"scapy-tfo: known finding {entry.id} is gone: drop it from the list", file=sys.stderr
        )
    console.print(f"Findings and store: {run.out}", soft_wrap=True)
    return 1 if any(chosen.strict or each.requirement != DIFFERS for each in new) else 0


def _gone(run: _Run, campaign: Campaign, findings: Sequence[Finding]) -> list[Known]:
    """Known findings that this campaign has not come across, and that do not happen if tried."""
    from scapy_tfo.fuzz.known import unseen
    from scapy_tfo.fuzz.resolve import happens

    return [
        each
        for each in unseen(findings, run.known)
        if not happens(campaign.bench, each.program, (each.rule, each.signature[2]))
    ]


def write_artefacts(findings: Sequence[Finding], directory: Path) -> list[str]:
    """The files of findings; what could not be made, in words. Raises SetupError."""
    from scapy_tfo.fuzz.artefacts import write_all

    if not findings:
        return []
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"cannot write into {directory}: {error.strerror}") from error
    return [problem for each in findings for problem in write_all(each, directory)]


Shown = tuple[Callable[["Progress"], None], Callable[["Finding"], None]]


@contextmanager
def _shown(console: Console, *, quiet: bool) -> Iterator[Shown]:
    """What to call with progress and findings: a live line on a terminal, some lines in a pipe."""
    from scapy_tfo.report.fuzz_report import line_of

    if quiet:
        yield lambda _progress: None, lambda _finding: None
        return
    if console.is_terminal:
        with _live(console) as shown:
            yield shown
        return
    last = time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINES_EVERY:
            last = time.monotonic()
            print(_rates(progress), flush=True)

    yield say, lambda finding: print(line_of(finding), flush=True)


@contextmanager
def _live(console: Console) -> Iterator[Shown]:
    from rich import progress as bars

    from scapy_tfo.report.fuzz_report import line_of

    columns = (
        bars.TextColumn("fuzzing"),
        bars.BarColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.fields[rates]}"),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("fuzzing", total=None, rates="")
        began = time.monotonic()

        def show(progress: Progress) -> None:
            spent = time.monotonic() - began
            total = None if progress.left is None else spent + progress.left
            bar.update(task, completed=spent, total=total, rates=_rates(progress))

        def announce(finding: Finding) -> None:
            bar.console.print(line_of(finding), style="bold red", markup=False)

        yield show, announce


def _rates(progress: Progress) -> str:
    left = "" if progress.left is None else f", {_clock(progress.left)} left"
    return (
        f"{progress.programs:,} programs, {progress.probes_a_second:,.0f} segments/s,"
        f" {progress.programs_a_second:,.0f} sequences/s, {progress.findings} findings{left}"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
