"""`scapy-tfo explore TARGET --scheduler ADDRESS`: explore with the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.explore.campaign.cluster import Outcome
    from scapy_tfo.explore.campaign.jobs import Request

_LINES_EVERY = 10.0
"""Seconds between two lines in a pipe."""

_INTERRUPTED = 130
_OWN = ("sim:", "lab:")


def add_cluster(run: argparse.ArgumentParser) -> None:
    """What says where the workers are."""
    add = run.add_argument
    add("--scheduler", metavar="ADDRESS", help="Dask scheduler; each worker has its own target")
    add(
        "--shards",
        type=count,
        metavar="N",
        help="number of parts for the workers (default: one for each; 64 with --all or --store)",
    )


def check_cluster(chosen: argparse.Namespace) -> None:
    """Raises SetupError for options that do not go together."""
    if chosen.scheduler is None:
        if chosen.shards is not None:
            raise SetupError("--shards needs --scheduler; --shard I/N explores one on this machine")
        return
    if not chosen.target.startswith(_OWN):
        raise SetupError(
            f"--scheduler: each worker opens a target of its own, as sim:reference or lab:linux;"
            f" {chosen.target} is one for all"
        )
    for name in ("jobs", "shard", "plan", "life", "rate"):
        if getattr(chosen, name):
            raise SetupError(f"--{name} does not go with --scheduler: it is for one machine")
    if chosen.store is not None and chosen.shards is not None:
        raise SetupError("--shards does not go with --store, which has parts of its own")


def explored_on_cluster(chosen: argparse.Namespace, request: Request) -> tuple[Outcome, int]:
    """Explore; what came of it, and the exit status of what ended it early, 0 for nothing.

    Raises SetupError and TargetError.
    """
    from scapy_tfo.cluster.connection import connected
    from scapy_tfo.explore.campaign.cluster import Outcome, empty, explore_on, parts_of

    outcome = Outcome(empty(chosen.target, request))
    with connected(chosen.scheduler) as client, _shown() as show:
        parts = parts_of(request, len(client.ncores()), chosen.shards)
        try:
            explore_on(client, chosen.target, request, parts, outcome, show)
        except KeyboardInterrupt:
            outcome.result.complete = False
            print("scapy-tfo: interrupted; what came back is told", file=sys.stderr)
            return outcome, _INTERRUPTED
    for each in outcome.lost:
        print(f"scapy-tfo: {each}", file=sys.stderr)
    return outcome, 0


@contextmanager
def _shown() -> Iterator[Callable[[str], None]]:
    """What to call with a line on how far it is: it is kept up to date on a terminal, and printed
    now and then in a pipe."""
    from rich.text import Text

    from scapy_tfo.commands.console import make_console

    console = make_console()
    if console.is_terminal:
        with console.status("exploring") as status:
            yield lambda line: status.update(Text(f"exploring: {line}"))
        return
    last = time.monotonic()

    def say(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINES_EVERY:
            last = time.monotonic()
            print(line, flush=True)

    yield say
