"""Runs the shards of a campaign as tasks of an existing Dask scheduler.

A shard sends the same programs wherever it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.cluster.tasks import Heard, Place, run_parts
from scapy_tfo.cluster.together import Together
from scapy_tfo.errors import SetupError
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.campaign.campaign import Progress
from scapy_tfo.fuzz.campaign.shard import Job, run_shard

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True)
class Shard:
    """One that came back. number: from 1. path: its store."""

    number: int
    path: Path


def run_on(
    client: Client,
    job: Job,
    shards: int,
    directory: Path,
    on_shard: Callable[[Shard], None] = lambda _: None,
    on_progress: Callable[[Together[Progress]], None] = lambda _: None,
) -> tuple[list[Shard], list[str]]:
    """Run a job in so many shards, and keep the store of each in a directory; returns those, and
    of each that did not come back why.

    on_progress: called, in a thread of the client's, with each word of a worker.

    Ctrl-C ends the shards after the batches they are at; then KeyboardInterrupt is raised, with
    the stores of all that came back in the directory. Raises SetupError and TargetError where no
    shard could be run.
    """
    kept: list[Shard] = []
    lost: list[str] = []
    together: Together[Progress] = Together(shards)

    def came(number: int, store: bytes) -> None:
        together.end(number)
        kept.append(_keep(directory, number, store))
        on_shard(kept[-1])

    def is_lost(number: int, why: str) -> None:
        together.end(number)
        lost.append(f"shard {number}/{shards}: {why}")

    def word(number: int, progress: dict[str, Any]) -> None:
        together.tell(number, Progress(**progress))
        on_progress(together)

    work = functools.partial(_shard, job, shards)
    run_parts(client, work, range(1, shards + 1), Heard(came, is_lost, word))
    return kept, lost


def _shard(job: Job, shards: int, place: Place[dict[str, Any]]) -> bytes:
    """What a worker does."""

    def is_over(progress: Progress) -> bool:
        return place.is_over(lambda: asdict(progress))

    return run_shard(job, (place.number, shards), is_over, place.directory)


def _keep(directory: Path, number: int, store: bytes) -> Shard:
    path = directory / f"shard-{number:03}.sqlite"
    try:
        put(path, store)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
    return Shard(number, path)
