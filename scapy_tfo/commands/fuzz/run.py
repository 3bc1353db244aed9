"""`scapy-tfo fuzz TARGET`: run a campaign, show its progress, and write its results."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from rich.console import Console

    from scapy_tfo.fuzz.campaign.campaign import Campaign
    from scapy_tfo.fuzz.campaign.jobs import ParallelCampaign
    from scapy_tfo.fuzz.findings.finding import Finding
    from scapy_tfo.fuzz.findings.known import Known
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.fuzz.generation.plan import Plan
    from scapy_tfo.program.program import Program
    from scapy_tfo.targets.benches import ProfiledBench

STORE = "campaign.sqlite"
"""Default name of the store."""

PROFILES = ("auto", "linux", "rfc", "off")
"""What the model allows: as the target shows it, or as it is known."""

_DEFAULT_SECONDS = 60.0


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
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.fuzz.campaign.jobs import is_multiple
    from scapy_tfo.fuzz.generation.plan import TARGET
    from scapy_tfo.targets.benches import open_bench
    from scapy_tfo.targets.mapped import MappedBench, why_unmapped

    if chosen.target is None:
        raise SetupError("no target: give sim:NAME, lab:linux, ... ('scapy-tfo fuzz --help')")
    chosen.target = target_of(chosen)
    if (chosen.jobs or 1) > 1 and not is_multiple(chosen.target):
        raise SetupError(
            f"--jobs {chosen.jobs} needs a target for each process: it goes with sim: and lab:"
        )
    _check_files(chosen)
    wishes = _wishes(chosen)

    def reopen() -> ProfiledBench:
        return open_bench(chosen.target, profile=chosen.profile, rate=chosen.rate)

    bench = reopen()
    try:
        if chosen.coverage == TARGET and not isinstance(bench, MappedBench):
            raise SetupError(f"--coverage {TARGET}: {why_unmapped(chosen.target)}")
        run = _prepared(chosen, bench, wishes)
    except BaseException:
        bench.close()
        raise
    with closing(run.store):
        return _campaigned(chosen, run, bench, reopen, make_console("auto"))


def target_of(chosen: argparse.Namespace) -> str:
    """The target, or both that are compared, by one name."""
    from scapy_tfo.executor.pair import AGAINST
    from scapy_tfo.stacks.file import is_target_file
    from scapy_tfo.targets.by_address import Way, spelled

    named = {"plain": chosen.plain_port, "second": chosen.second_port}
    ports = tuple((name, port) for name, port in named.items() if port is not None)
    way = Way(str(chosen.target), chosen.iface, tuple(chosen.source), ports)
    brings_its_own = way.endpoint.startswith(("sim:", "lab:")) or is_target_file(way.endpoint)
    if way != Way(way.endpoint) and brings_its_own:
        raise SetupError(
            "--iface, --source, --plain-port and --second-port cannot be given for "
            f"{way.endpoint}, which brings its own"
        )
    chosen.target = spelled(way)
    if chosen.against is None:
        if chosen.strict:
            raise SetupError("--strict needs --against: it makes differences between targets fail")
        return str(chosen.target)
    return f"{chosen.target}{AGAINST}{chosen.against}"


def _check_files(chosen: argparse.Namespace) -> None:
    """Find out before a long run whether its results can be written."""
    from scapy_tfo.commands.output import check_out
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
    # A campaign that is resumed goes on with its own reports.
    (check_writable if chosen.resume else check_out)(chosen.out)


def _known(chosen: argparse.Namespace) -> tuple[Known, ...]:
    from scapy_tfo.fuzz.findings.known import load_known

    if chosen.update_known and chosen.known is None:
        raise SetupError("--update-known needs --known: it updates that file")
    if chosen.known is None or (chosen.update_known and not chosen.known.exists()):
        return ()
    return load_known(chosen.known)


def _wishes(chosen: argparse.Namespace) -> _Wishes:
    """All that can be wrong with the arguments, before anything is made."""
    from scapy_tfo.fuzz.generation.plan import parse_duration, parse_shard

    seconds = parse_duration(chosen.duration) if chosen.duration else None
    shard = parse_shard(chosen.shard) if chosen.shard else None
    known = _known(chosen)
    return _Wishes(seconds, shard, corpus_of(chosen), known)


def corpus_of(chosen: argparse.Namespace) -> dict[str, Program]:
    """The programs of --corpus, by what they reached."""
    return {} if chosen.corpus is None else programs_of(chosen.corpus)


def programs_of(corpus: Path) -> dict[str, Program]:
    """Those of a store or a directory, by what they reached. Raises SetupError."""
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.program.files import read_directory

    if corpus.is_dir():
        return read_directory(corpus)
    with closing(Store.open(corpus)) as earlier:
        return earlier.corpus()


def _prepared(chosen: argparse.Namespace, bench: ProfiledBench, wishes: _Wishes) -> _Run:
    """The store, new or as it was left, and the directory of this run."""
    from scapy_tfo.fuzz.findings.database import is_empty, refuse
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.report.output import BASE, LATEST, begin, point_latest

    out = chosen.out
    if chosen.resume and chosen.store is None and out is None:
        out = (BASE / LATEST).resolve()
    path = chosen.store or (None if out is None else out / STORE)
    if chosen.resume and path is not None and not is_empty(path):
        store = _resumed(chosen, path, bench, wishes)
        place = begin(out, time.time())
    else:
        plan = _planned(chosen, bench, wishes)
        if path is not None:
            refuse(path)
        place = begin(out, time.time())
        store = Store.create(path or place / STORE, plan, wishes.base)
    try:
        store.limit(*_limits(chosen, store, wishes))
        if out is None:
            point_latest(place)
    except BaseException:
        store.close()
        raise
    return _Run(store, place, wishes.known)


def _planned(chosen: argparse.Namespace, bench: ProfiledBench, wishes: _Wishes) -> Plan:
    from scapy_tfo.fuzz.campaign.shard import Job

    job = Job(
        target=chosen.target, seed=chosen.seed or 0, base=wishes.base, coverage=chosen.coverage
    )
    plan = job.plan(bench, wishes.shard or (1, 1))
    if next(plan.batches(chosen.programs), None) is None:
        raise SetupError(
            f"--shard {plan.shard_text} has none of {chosen.programs} programs, as each batch has"
            f" {plan.batch}: give more --programs, or fewer shards"
        )
    return plan


def _resumed(
    chosen: argparse.Namespace, path: Path, bench: ProfiledBench, wishes: _Wishes
) -> Store:
    from scapy_tfo.fuzz.findings.store import Store
    from scapy_tfo.fuzz.generation.grammar import VERSION

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
            raise SetupError(f"{path} belongs to another campaign: {differs}; start a new one")
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
    from scapy_tfo.commands.fuzz.dashboard import Dashboard
    from scapy_tfo.commands.fuzz.progress import both, shown
    from scapy_tfo.report.fuzz_report import undecided

    trouble: BaseException | None = None
    # Before the progress is shown, which takes threads: processes are made with one thread only.
    campaign = _made(chosen, run, bench, reopen)
    clock, cpu = time.monotonic(), _cpu()
    page = Dashboard(run.store, run.out)
    with shown(console, quiet=chosen.quiet) as (on_progress, on_finding):
        campaign.on_progress, campaign.on_finding = on_progress, on_finding
        if chosen.dashboard:
            console.print(f"Dashboard: {page.path}", soft_wrap=True)
            campaign.on_progress = both(page.show, on_progress)
        try:
            campaign.run()
        except (TargetError, KeyboardInterrupt) as error:
            trouble = error
        except BaseException:
            campaign.bench.close()
            raise
    page.end("finished" if trouble is None else str(trouble) or "interrupted")
    run.store.spend(time.monotonic() - clock, _cpu() - cpu)
    with closing(campaign.bench):
        status = _report(chosen, run, campaign, console, trouble)
    if isinstance(trouble, KeyboardInterrupt):
        print("scapy-tfo: interrupted; --resume continues this campaign", file=sys.stderr)
        return 130
    if trouble is not None:
        raise trouble
    why = undecided(run.store)
    if why and not status:
        raise TargetError(why)
    return status


def _cpu() -> float:
    """Seconds of CPU that this process has taken, and those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _made(
    chosen: argparse.Namespace,
    run: _Run,
    bench: ProfiledBench,
    reopen: Callable[[], ProfiledBench],
) -> Campaign | ParallelCampaign:
    """The campaign, on as many processors as are of use."""
    from scapy_tfo.fuzz.campaign.campaign import Campaign
    from scapy_tfo.fuzz.campaign.jobs import ParallelCampaign, jobs_for
    from scapy_tfo.fuzz.generation.grammar import sent_for
    from scapy_tfo.targets.benches import open_bench

    programs, seconds = run.store.limits
    jobs = jobs_for(run.store.plan, chosen.jobs or len(os.sched_getaffinity(0)), programs)
    if jobs == 1:
        return Campaign(run.store, sent_for, bench, reopen, programs=programs, seconds=seconds)
    rate = None if chosen.rate is None else max(chosen.rate // jobs, 1)

    def another() -> ProfiledBench:
        return open_bench(chosen.target, profile=chosen.profile, rate=rate)

    return ParallelCampaign(
        run.store, sent_for, bench, another, jobs=jobs, programs=programs, seconds=seconds
    )


def _report(
    chosen: argparse.Namespace,
    run: _Run,
    campaign: Campaign | ParallelCampaign,
    console: Console,
    trouble: BaseException | None,
) -> int:
    from scapy_tfo.executor.differences import DIFFERS
    from scapy_tfo.fuzz.export.export import write_artefacts
    from scapy_tfo.fuzz.findings.causes import leads
    from scapy_tfo.fuzz.findings.finding import Status
    from scapy_tfo.fuzz.findings.known import new_ones, updated, write_known
    from scapy_tfo.report import fuzz_report as report

    findings = run.store.findings()
    new = new_ones(findings, run.known)
    gone = _gone(run, campaign, findings) if trouble is None else []
    ids = {each.id for each in new}
    ended = "finished" if trouble is None else str(trouble) or "interrupted"
    figures = report.figures_of(run.store, new=ids, gone=[each.id for each in gone], ended=ended)
    report.keep_figures(figures, run.out)
    if chosen.json is not None:
        report.write_figures(figures, chosen.json)
    problems = write_artefacts(findings, run.out / "findings")
    if chosen.update_known:
        write_known(chosen.known, updated(run.known, gone, new))
    for line in (report.summary(figures), report.told_rates(figures)):
        console.print(line, soft_wrap=True)
    for line in [] if chosen.quiet else report.told_curve(figures["curve"]):
        console.print(line, style="dim", soft_wrap=True)
    for line in _held_back(campaign):
        console.print(line, soft_wrap=True)
    first = leads(findings)
    for each in report.by_weight(findings):
        mark = "NEW" if each.id in ids else "known" if each.status is Status.CONFIRMED else "flaky"
        style = "bold red" if mark == "NEW" else "dim"
        console.print(
            report.line_of(each, mark=mark, lead=first[each.id]), style=style, soft_wrap=True
        )
    for problem in problems:
        console.print(problem, style="dim", soft_wrap=True)
    what = "it is no longer in the list" if chosen.update_known else "remove it from the list"
    for entry in gone:
        print(f"scapy-tfo: known finding {entry.id} no longer occurs: {what}", file=sys.stderr)
    console.print(f"Findings and store: {run.out}", soft_wrap=True)
    console.print(report.last_word(figures), soft_wrap=True)
    return 1 if any(chosen.strict or each.requirement != DIFFERS for each in new) else 0


def _held_back(campaign: Campaign | ParallelCampaign) -> list[str]:
    """What slowed the sending."""
    slowed = campaign.slowed
    told = f"Sending was held back for {slowed:.0f} s by the target's lag, or by --rate"
    bore = str(getattr(campaign.bench, "bore", ""))
    return [line for line, is_true in ((told, slowed >= 1.0), (bore, bore)) if is_true]


def _gone(
    run: _Run, campaign: Campaign | ParallelCampaign, findings: Sequence[Finding]
) -> list[Known]:
    """Known findings that this campaign has not come across, and that do not happen if tried."""
    from scapy_tfo.fuzz.campaign.triage import happens
    from scapy_tfo.fuzz.findings.known import unseen

    return [
        each
        for each in unseen(findings, run.known)
        if not happens(campaign.bench, each.program, (each.rule, each.signature[2]))
    ]
