"""`scapy-tfo fuzz TARGET --scheduler ADDRESS`: run the shards of a campaign on a Dask cluster."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from distributed import Client

    from scapy_tfo.cluster.together import Together
    from scapy_tfo.fuzz.campaign.campaign import Progress
    from scapy_tfo.fuzz.campaign.cluster import Shard
    from scapy_tfo.fuzz.campaign.shard import Job

_SHARDS = "shards"
_DEFAULT_SECONDS = 60.0


def command(chosen: argparse.Namespace) -> int:
    """Run it; the exit status."""
    from scapy_tfo.cluster.connection import connected
    from scapy_tfo.commands.fuzz.run import target_of
    from scapy_tfo.commands.output import check_out
    from scapy_tfo.files.writing import make_directory
    from scapy_tfo.report.output import begin, point_latest

    _check(chosen)
    job = _job(chosen, target_of(chosen))
    check_out(chosen.out)
    with connected(chosen.scheduler) as client:
        shards = chosen.shards or len(client.ncores())
        out = begin(chosen.out, time.time())
        if chosen.out is None:
            point_latest(out)
        directory = out / _SHARDS
        try:
            make_directory(directory)
        except OSError as error:
            raise SetupError(f"cannot write into {out}: {error.strerror}") from error

        try:
            lost = _run(chosen, client, job, shards, directory)
        except KeyboardInterrupt:
            _joined(chosen, out, "interrupted")
            print("scapy-tfo: interrupted; finished shards are kept", file=sys.stderr)
            return 130
        except TargetError as error:
            _joined(chosen, out, str(error))
            raise
    for each in lost:
        print(f"scapy-tfo: {each}", file=sys.stderr)
    status = _joined(chosen, out, f"{len(lost)} shards lost" if lost else "finished")
    if lost:
        raise TargetError(f"{len(lost)} of {shards} shards did not finish: {lost[0]}")
    return status


def _run(
    chosen: argparse.Namespace, client: Client, job: Job, shards: int, directory: Path
) -> list[str]:
    """Run all shards, and show how far they are, in one line; why some were lost."""
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.commands.fuzz.progress import shown
    from scapy_tfo.fuzz.campaign.cluster import run_on
    from scapy_tfo.fuzz.campaign.together import summed

    console, newest = make_console(), ""

    def tell(shard: Shard) -> None:
        if not chosen.quiet:
            console.print(f"shard {shard.number}/{shards} has finished")

    with shown(console, quiet=chosen.quiet, more=lambda: newest) as (on_progress, _):

        def show(together: Together[Progress]) -> None:
            nonlocal newest
            newest = f"; {together}"
            on_progress(summed(together))

        return run_on(client, job, shards, directory, tell, show)[1]


def _check(chosen: argparse.Namespace) -> None:
    """Raises SetupError for what only a campaign on one machine can do."""
    for name in ("jobs", "resume", "shard", "store", "update_known", "dashboard"):
        if getattr(chosen, name):
            flag = name.replace("_", "-")
            raise SetupError(
                f"--{flag} does not go with --scheduler: it is for a campaign on one machine"
            )
    if chosen.target is None:
        raise SetupError("no target: give sim:NAME, lab:linux, ... ('scapy-tfo fuzz --help')")


def _job(chosen: argparse.Namespace, target: str) -> Job:
    from scapy_tfo.commands.fuzz.run import corpus_of
    from scapy_tfo.fuzz.campaign.shard import Job
    from scapy_tfo.fuzz.generation.plan import parse_duration

    seconds = parse_duration(chosen.duration) if chosen.duration else None
    if seconds is None and chosen.programs is None:
        seconds = _DEFAULT_SECONDS
    return Job(
        target=target,
        profile=chosen.profile,
        rate=chosen.rate,
        seed=chosen.seed or 0,
        programs=chosen.programs,
        coverage=chosen.coverage,
        seconds=seconds,
        base=corpus_of(chosen),
    )


def _joined(chosen: argparse.Namespace, out: Path, ended: str) -> int:
    """Merge the finished shards, and report them; the exit status."""
    from scapy_tfo.commands.fuzz.run import STORE
    from scapy_tfo.executor.differences import DIFFERS
    from scapy_tfo.fuzz.export.export import write_artefacts
    from scapy_tfo.fuzz.findings.known import load_known, new_ones
    from scapy_tfo.fuzz.findings.merge import merge
    from scapy_tfo.report.fuzz_report import (
        by_weight,
        figures_of,
        keep_figures,
        last_word,
        line_of,
        summary,
        write_figures,
    )

    paths = sorted((out / _SHARDS).glob("*.sqlite"))
    if not paths:
        print("scapy-tfo: no shard finished", file=sys.stderr)
        return 0
    known = load_known(chosen.known) if chosen.known is not None else ()
    with closing(merge(out / STORE, paths)) as store:
        findings = store.findings()
        new = new_ones(findings, known)
        figures = figures_of(store, new={each.id for each in new}, ended=ended)
    keep_figures(figures, out)
    if chosen.json is not None:
        write_figures(figures, chosen.json)
    print(summary(figures))
    for each in by_weight(findings):
        print(line_of(each, mark="NEW" if each in new else ""))
    for problem in write_artefacts(findings, out / "findings"):
        print(problem)
    print(f"Findings and store: {out}")
    print(last_word(figures))
    return 1 if any(chosen.strict or each.requirement != DIFFERS for each in new) else 0
