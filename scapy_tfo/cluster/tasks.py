"""Runs numbered parts as tasks of a Dask scheduler.

If a worker is lost, only its own work is lost: Dask gives its parts to others.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scapy_tfo.errors import SetupError, TargetError

if TYPE_CHECKING:
    from distributed import Client, Future

_FINISHING = 15.0
"""Seconds for parts that are told to end: about a batch of the fuzzer."""

_ASK_EVERY = 1.0

T = TypeVar("T")
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Place(Generic[W]):
    """Where a worker runs a part. number: of the part. directory: for its files, which Dask
    removes, also if the worker is killed.

    is_over: told how far the part is, by a function that is called once a second at most; True if
    the part is to end early.
    """

    number: int
    directory: Path
    is_over: Callable[[Callable[[], W]], bool]


@dataclass(frozen=True, slots=True)
class Heard(Generic[T, W]):
    """What is called with what workers say. came: with the number of a part and its result, in the
    thread that runs them all. lost: with the number of a part that nobody finished, and why. word:
    with the number of a part and how far it is, in a thread of Dask's. until: asked once a second;
    True ends all parts early."""

    came: Callable[[int, T], None]
    lost: Callable[[int, str], None]
    word: Callable[[int, W], None] = lambda _number, _word: None
    until: Callable[[], bool] | None = None


def run_parts(
    client: Client, work: Callable[[Place[W]], T], numbers: Sequence[int], heard: Heard[T, W]
) -> None:
    """Run `work` once for each number.

    Ctrl-C tells all parts to end; those that come back soon are still heard, then
    KeyboardInterrupt is raised. Raises SetupError and TargetError if the first part to end raised
    it: all parts have the same target.
    """
    from distributed import Event, as_completed

    name = f"scapy-tfo-{uuid.uuid4().hex}"
    over = Event(name, client=client)
    futures: dict[Future, int] = {}
    for number in numbers:
        key = f"{name}-{number}"
        futures[client.submit(_task, work, number, name, key=key, pure=False)] = number
    left = dict(futures)
    client.subscribe_topic(name, lambda event: heard.word(*event[1]))
    try:
        with _ended_by(heard.until, over.set):
            for future in as_completed(list(futures)):
                number = left.pop(future)
                try:
                    result = future.result()
                except Exception as error:
                    if isinstance(error, SetupError | TargetError) and len(left) + 1 == len(
                        futures
                    ):
                        raise
                    heard.lost(number, _told(error))
                    continue
                future.release()
                heard.came(number, result)
    except BaseException:
        over.set()
        _collect(left, heard)
        raise
    finally:
        with suppress(OSError):
            client.unsubscribe_topic(name)
        if unfinished := [each for each in futures if not each.done()]:
            with suppress(OSError):
                client.cancel(unfinished)


@contextmanager
def _ended_by(until: Callable[[], bool] | None, end: Callable[[], None]) -> Iterator[None]:
    """Calls `end` as soon as `until` says so, meanwhile."""
    if until is None:
        yield
        return
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(_ASK_EVERY):
            if until():
                end()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def _collect(left: dict[Future, int], heard: Heard[T, W]) -> None:
    """Hear what still comes back in time."""
    from distributed import wait

    with suppress(Exception):
        wait(list(left), timeout=_FINISHING)
    for future, number in left.items():
        if future.done() and future.status == "finished":
            # What hears it may be what was interrupted.
            with suppress(Exception, KeyboardInterrupt):
                heard.came(number, future.result())


def _told(error: Exception) -> str:
    if type(error).__name__ == "KilledWorker":
        return "every worker that had it was lost"
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _task(work: Callable[[Place[Any]], T], number: int, name: str) -> T:
    """What a worker runs. name: of the event that ends it early, and of the topic of its words."""
    from distributed import Event, get_worker

    over, worker = Event(name), get_worker()
    asked: float | None = None

    def is_over(word: Callable[[], Any]) -> bool:
        nonlocal asked
        if asked is not None and time.monotonic() - asked < _ASK_EVERY:
            return False
        asked = time.monotonic()
        worker.log_event(name, (number, word()))
        return bool(over.is_set())

    return work(Place(number, Path(worker.local_directory), is_over))
