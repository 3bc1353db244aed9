"""`scapy-tfo fuzz TARGET --scheduler ADDRESS`: the shards of a campaign on a Dask cluster."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from scapy_tfo.fuzz.cluster import Shard
    from scapy_tfo.fuzz.shard import Job

_SHARDS = "shards"
_DEFAULT_SECONDS = 60.0


def command(chosen: argparse.Namespace) -> int:
    """Run it; the exit status."""
    from scapy_tfo.fuzz.cluster import connected, run_on
    from scapy_tfo.fuzz_run_command import target_of
    from scapy_tfo.report.output import begin, check_writable, point_latest

    _check(chosen)
    job = _job(chosen, target_of(chosen))
    check_writable(chosen.out)
    with connected(chosen.scheduler) as client:
        shards = chosen.shards or len(client.ncores())
        out = begin(chosen.out, time.time())
        if chosen.out is None:
            point_latest(out)
        directory = out / _SHARDS
        try:
            directory.mkdir(exist_ok=True)
        except OSError as error:
            raise SetupError(f"cannot write into {out}: {error.strerror}") from error

        def tell(shard: Shard) -> None:
            if not chosen.quiet:
                print(f"shard {shard.number}/{shards} is back", flush=True)

        try:
            _, lost = run_on(client, job, shards, directory, tell)
        except KeyboardInterrupt:
            _joined(chosen, out, "interrupted")
            print("scapy-tfo: interrupted; what came back is kept", file=sys.stderr)
            return 130
        except TargetError as error:
            _joined(chosen, out, str(error))
            raise
    for each in lost:
        print(f"scapy-tfo: {each}", file=sys.stderr)
    status = _joined(chosen, out, f"{len(lost)} shards lost" if lost else "finished")
    if lost:
        raise TargetError(f"{len(lost)} of {shards} shards did not come back: {lost[0]}")
    return status


def _check(chosen: argparse.Namespace) -> None:
    """Raises SetupError for what only a campaign on one machine can do."""
    for name in ("resume", "shard", "store", "update_known"):
        if getattr(chosen, name):
            flag = name.replace("_", "-")
            raise SetupError(f"--{flag} is for a campaign on one machine, not for --scheduler")
    if chosen.target is None:
        raise SetupError("no target: give sim:NAME, lab:linux, ... ('scapy-tfo fuzz --help')")


def _job(chosen: argparse.Namespace, target: str) -> Job:
    from scapy_tfo.fuzz.plan import parse_duration
    from scapy_tfo.fuzz.shard import Job
    from scapy_tfo.fuzz_run_command import corpus_of

    seconds = parse_duration(chosen.duration) if chosen.duration else None
    if seconds is None and chosen.programs is None:
        seconds = _DEFAULT_SECONDS
    return Job(
        target=target,
        profile=chosen.profile,
        rate=chosen.rate,
        seed=chosen.seed or 0,
        programs=chosen.programs,
        seconds=seconds,
        base=corpus_of(chosen),
    )


def _joined(chosen: argparse.Namespace, out: Path, ended: str) -> int:
    """Merge what came back, and report it; the exit status."""
    from scapy_tfo.fuzz.differing import DIFFERS
    from scapy_tfo.fuzz.known import load_known, new_ones
    from scapy_tfo.fuzz.merge import merge
    from scapy_tfo.fuzz_run_command import STORE, write_artefacts
    from scapy_tfo.report.fuzz_report import figures_of, line_of, summary, write_figures

    paths = sorted((out / _SHARDS).glob("*.sqlite"))
    if not paths:
        print("scapy-tfo: no shard came back", file=sys.stderr)
        return 0
    known = load_known(chosen.known) if chosen.known is not None else ()
    with closing(merge(out / STORE, paths)) as store:
        findings = store.findings()
        new = new_ones(findings, known)
        figures = figures_of(store, new={each.id for each in new}, ended=ended)
    for path in (out / "results.json", chosen.json):
        if path is not None:
            write_figures(figures, path)
    print(summary(figures))
    for each in findings:
        print(line_of(each, mark="NEW" if each in new else ""))
    for problem in write_artefacts(findings, out / "findings"):
        print(problem)
    print(f"Findings and store: {out}")
    return 1 if any(chosen.strict or each.requirement != DIFFERS for each in new) else 0
