"""One process of a campaign that runs on several processors: sends its share of the batches."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.executor.bench import Bench
from scapy_tfo.fuzz.campaign.campaign import Campaign, Progress
from scapy_tfo.fuzz.campaign.relay import Message, Relay
from scapy_tfo.fuzz.generation.batches import Maker
from scapy_tfo.lab.process.forking import signals_held_back
from scapy_tfo.lab.process.namespace import die_with_parent

_JOIN = 5.0
"""Seconds in which a process that has said its last ends."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The last word of a process. slowed: see `Campaign`. error: what it failed of; report: the
    traceback of what should not happen."""

    slowed: float = 0.0
    error: SetupError | TargetError | None = None
    report: str = ""


class Worker:
    """The process, which opens its own target at once, and sends when `begin` says so.

    It stays on one processor, by its index, and ignores Ctrl-C, which the terminal gives to all
    processes: the parent has the say.
    """

    def __init__(
        self,
        index: int,
        relay: Relay,
        make: Maker,
        reopen: Callable[[], Bench],
        programs: int | None,
    ) -> None:
        # Forked, because to import everything anew takes as long as a short campaign.
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        with signals_held_back() as let_through:
            given = (os.getpid(), let_through, index, relay, make, reopen, programs)
            self._process = context.Process(
                target=_work, args=(self.connection, theirs, *given), daemon=True
            )
            self._process.start()
        theirs.close()

    def begin(self, seconds: float | None) -> None:
        """Send from now on, for so long."""
        with suppress(OSError):
            self.connection.send(("begin", seconds))

    def stop(self) -> None:
        """Send no more than what is under way, and report."""
        with suppress(OSError):
            self.connection.send(("stop", None))

    def messages(self) -> Iterator[Message | Ended]:
        """What it reports, the last word last; waits for each. A process that dies has an error
        for its last word."""
        while True:
            try:
                message = self.connection.recv()
            except (EOFError, OSError):
                self._process.join(_JOIN)
                status = self._process.exitcode
                yield Ended(report=f"a process of the campaign died, with status {status}")
                return
            yield message
            if isinstance(message, Ended):
                return

    def end(self) -> None:
        """Wait a moment for its end, then force it; harmless when called twice."""
        self._process.join(_JOIN)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _work(
    parents: Connection,
    connection: Connection,
    parent: int,
    let_through: Callable[[], None],
    index: int,
    relay: Relay,
    make: Maker,
    reopen: Callable[[], Bench],
    programs: int | None,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    let_through()
    parents.close()
    # Of a process that moves, the kernel may take a later packet on the new processor before an
    # earlier one on the old: a SYN-ACK is sent again behind our ACK, and looks wrong.
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[index % len(processors)]})
    with suppress(OSError):
        try:
            bench = reopen()
            # What makes a namespace changes credentials, which undoes this.
            die_with_parent(parent)
            word = _sent(connection, relay, bench, make, reopen, programs)
        except (SetupError, TargetError) as error:
            word = Ended(error=error)
        except Exception:
            word = Ended(report=traceback.format_exc())
        connection.send(word)


def _sent(
    connection: Connection,
    relay: Relay,
    bench: Bench,
    make: Maker,
    reopen: Callable[[], Bench],
    programs: int | None,
) -> Ended:
    """Wait for the order to begin, and carry it out."""

    def ask(_progress: Progress) -> None:
        if connection.poll():
            raise KeyboardInterrupt

    relay.send = connection.send
    order, seconds = connection.recv()
    if order != "begin":
        bench.close()
        return Ended()
    campaign = Campaign(
        relay, make, bench, reopen, programs=programs, seconds=seconds, on_progress=ask
    )
    try:
        with suppress(KeyboardInterrupt):
            campaign.run()
        return Ended(slowed=campaign.slowed)
    except (SetupError, TargetError) as error:
        return Ended(slowed=campaign.slowed, error=error)
    finally:
        relay.flush()
        campaign.bench.close()
