"""Runs the shards of a campaign as tasks of an existing Dask scheduler.

If a worker is lost, only its own work is lost: Dask gives its shards to others, and a shard sends
the same programs wherever it runs.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.files.writing import put
from scapy_tfo.fuzz.campaign.shard import Job, run_shard

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECTING = 10.0
_FINISHING = 15.0
"""Seconds for shards that are told to end: about a batch."""

_ASK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Shard:
    """One that came back. number: from 1. path: its store."""

    number: int
    path: Path


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address. Raises SetupError, and TargetError where the
    connection to it is lost."""
    try:
        from distributed import Client
    except ImportError as error:
        raise SetupError(
            "--scheduler needs Dask, which is not installed: pip install 'scapy-tfo[cluster]'"
        ) from error
    try:
        client = Client(address, timeout=_CONNECTING)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SetupError(
            f"no Dask scheduler answers at {address} ({why}): start one with 'dask scheduler', and"
            " give its address as tcp://HOST:8786"
        ) from error
    try:
        _wait_for_workers(client, address)
        yield client
    except OSError as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise TargetError(f"the Dask scheduler at {address} was lost ({why})") from error
    finally:
        # Nothing depends on a farewell that the scheduler hears.
        with suppress(OSError):
            client.close()


def _wait_for_workers(client: Client, address: str) -> None:
    """One that was lost may be about to come back. Raises SetupError."""
    try:
        client.wait_for_workers(1, timeout=_CONNECTING)
    except TimeoutError:
        raise SetupError(
            f"the Dask scheduler at {address} has no workers: start at least one"
        ) from None


def run_on(
    client: Client,
    job: Job,
    shards: int,
    directory: Path,
    on_shard: Callable[[Shard], None] = lambda _: None,
) -> tuple[list[Shard], list[str]]:
    """Run a job in so many shards, and keep the store of each in a directory; returns those, and
    of each that did not come back why.

    Ctrl-C ends the shards after the batches they are at; then KeyboardInterrupt is raised, with
    the stores of all that came back in the directory. Raises SetupError and TargetError where no
    shard could be run.
    """
    from distributed import Event, as_completed

    name = f"scapy-tfo-{uuid.uuid4().hex}"
    over = Event(name, client=client)
    futures: dict[Future, int] = {}
    for number in range(1, shards + 1):
        key = f"{name}-{number}"
        futures[client.submit(_task, job, (number, shards), name, key=key, pure=False)] = number
    kept: list[Shard] = []
    lost: list[str] = []
    try:
        for future in as_completed(list(futures)):
            number = futures[future]
            try:
                store = future.result()
            except Exception as error:
                lost.append(f"shard {number}/{shards}: {_told(error)}")
                _give_up_early(error, kept)
                continue
            kept.append(_keep(directory, number, store))
            future.release()
            on_shard(kept[-1])
    except BaseException:
        over.set()
        _collect(futures, {each.number for each in kept}, directory)
        raise
    finally:
        if unfinished := [each for each in futures if not each.done()]:
            with suppress(OSError):
                client.cancel(unfinished)
    return kept, lost


def _give_up_early(error: Exception, kept: list[Shard]) -> None:
    """What is wrong with the first one is wrong with all: they have the same job."""
    if isinstance(error, SetupError | TargetError) and not kept:
        raise error


def _keep(directory: Path, number: int, store: bytes) -> Shard:
    path = directory / f"shard-{number:03}.sqlite"
    try:
        put(path, store)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
    return Shard(number, path)


def _collect(futures: dict[Future, int], kept: set[int], directory: Path) -> None:
    """Keep what still comes back in time."""
    from distributed import wait

    left = {future: number for future, number in futures.items() if number not in kept}
    with suppress(Exception):
        wait(list(left), timeout=_FINISHING)
    for future, number in left.items():
        if future.done() and future.status == "finished":
            with suppress(Exception):
                _keep(directory, number, future.result())


def _told(error: Exception) -> str:
    if type(error).__name__ == "KilledWorker":
        return "every worker that had it was lost"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _task(job: Job, shard: tuple[int, int], name: str) -> bytes:
    """What a worker runs. name: of the event that ends it early."""
    from distributed import Event, get_worker

    over = Event(name)
    asked = time.monotonic()

    def is_over() -> bool:
        nonlocal asked
        if time.monotonic() - asked < _ASK_EVERY:
            return False
        asked = time.monotonic()
        return bool(over.is_set())

    # Dask clears up behind a worker that was killed.
    return run_shard(job, shard, is_over, Path(get_worker().local_directory))
