"""Judges a target of our own over both IP versions at the same time, each in a process of its own.

Such a target is made once more for the second process. Cases meet only one version each, so that
they see nothing of the difference.
"""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TypeAlias

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.lab.process.forking import signals_held_back
from scapy_tfo.lab.process.namespace import die_with_parent
from scapy_tfo.runner.record import TOOL, Record, missing
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Judge, Request
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result, Run, numbered

_FAMILIES = 4, 6
_LEAST = 40
"""Cases: fewer are judged before another process has begun."""
_SELDOM = 50_000
"""Objects made between two looks for garbage: a run keeps nearly all that it makes."""
_GRACE = 10.0
"""Seconds in which a process that is asked to end has given everything back."""


def side_by_side(judged: Judge) -> Judge:
    """What judges as `judged` does, over both IP versions at a time where that is worth it."""
    return functools.partial(_judged, judged)


def _judged(judged: Judge, request: Request, cases: Sequence[Case], catalogue: Catalogue) -> Run:
    if not _is_worth_it(request, len(cases)):
        return judged(request, cases, catalogue)
    started, clock = time.time(), time.monotonic()
    if request.options.on_plan is not None:
        request.options.on_plan(len(_FAMILIES) * len(cases))
    told = _Told(request.options)
    shares = [
        functools.partial(_share, judged, _for_family(request, family), cases, catalogue)
        for family in _FAMILIES
    ]
    with _seldom_collected(), _beside(shares[1], told) as other:
        mine = shares[0](told.result, told.note)
        if mine.interrupted:
            other.interrupt()
        try:
            theirs = other.run()
        except KeyboardInterrupt:
            other.interrupt()
            theirs = other.run()
    told.check()
    if not (mine.results or theirs.results):
        raise KeyboardInterrupt
    whole = _joined(mine, theirs, by_time=not request.target.startswith("sim:"))
    notes = list(whole.notes)
    if whole.interrupted:
        notes.append(missing(len(whole.results), len(_FAMILIES) * len(cases)))
    seconds = time.monotonic() - clock
    return replace(whole, started=started, seconds=seconds, notes=tuple(notes))


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Leave what is there alone, in both processes, and look for garbage less often."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_SELDOM, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _is_worth_it(request: Request, cases: int) -> bool:
    """Whether the target can be made twice, and there are a second processor and enough to do."""
    options = request.options
    return (
        (request.target.startswith("sim:") or request.target == "lab:linux")
        and tuple(options.families or _FAMILIES) == _FAMILIES
        and options.impairment is None
        and cases >= _LEAST
        and len(os.sched_getaffinity(0)) > 1
    )


def _for_family(request: Request, family: int) -> Request:
    return replace(request, options=replace(request.options, families=(family,)))


_TellResult: TypeAlias = Callable[[Result], None]
_TellNote: TypeAlias = Callable[[str], None]
_Share: TypeAlias = Callable[[_TellResult, _TellNote], Run]


def _share(
    judged: Judge,
    request: Request,
    cases: Sequence[Case],
    catalogue: Catalogue,
    on_result: _TellResult,
    on_note: _TellNote,
) -> Run:
    """The run of one process; what there is of it where it is interrupted."""
    record, started, clock = Record(), time.time(), time.monotonic()
    options = replace(
        request.options,
        on_plan=record.planning(None),
        on_result=record.taking(on_result),
        on_note=on_note,
        record=record,
    )
    try:
        return judged(replace(request, options=options), cases, catalogue)
    except KeyboardInterrupt:
        done = record.run(request.target, started, time.monotonic() - clock)
        return replace(done, notes=())


class _Told:
    """Tells what both processes find, one at a time. An error of that is kept until `check`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._known = set[str]()
        self._error: BaseException | None = None

    def result(self, result: Result) -> None:
        """Tell of a result. Its packets have no numbers yet that anybody could look for."""
        if self._options.on_result is not None:
            with self._lock:
                self._options.on_result(replace(result, packets=()))

    def note(self, note: str) -> None:
        """Tell a line, once."""
        with self._lock:
            if self._options.on_note is not None and note not in self._known:
                self._known.add(note)
                self._options.on_note(note)

    def of_the_other(self, what: Result | str) -> None:
        """Tell of what the other process found, from a thread of its own."""
        if self._error is not None:
            return
        try:
            if isinstance(what, Result):
                self.result(what)
            else:
                self.note(what)
        except BaseException as error:
            self._error = error

    def check(self) -> None:
        """Raises what telling raised."""
        if self._error is not None:
            raise self._error


class _Other:
    """The other process, as this one sees it."""

    def __init__(self, process: ForkProcess, source: Connection, told: _Told) -> None:
        self._process, self._source, self._told = process, source, told
        self._run: Run | None = None
        self._error: BaseException | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self) -> Run:
        """Wait for what it found. Raises SetupError and TargetError as it did."""
        self._reader.join()
        self._process.join()
        if self._error is not None:
            raise self._error
        if self._run is None:
            raise RuntimeError(f"the process of IPv6 ended early: {self._process.exitcode}")
        return self._run

    def interrupt(self) -> None:
        """Have it end as Ctrl-C would, which it does not get itself."""
        if self._process.is_alive() and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGINT)

    def end(self) -> None:
        """See to it that it is gone."""
        self.interrupt()
        self._process.join(_GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _read(self) -> None:
        try:
            while True:
                came = self._source.recv()
                if isinstance(came, Run):
                    self._run = came
                elif isinstance(came, BaseException):
                    self._error = came
                else:
                    self._told.of_the_other(came)
        except (EOFError, OSError):
            pass


@contextmanager
def _beside(share: _Share, told: _Told) -> Iterator[_Other]:
    """Do a share in another process while this one does its own."""
    # Forked, so that all that was imported is there at once.
    context = multiprocessing.get_context("fork")
    source, sink = context.Pipe(duplex=False)
    with signals_held_back() as let_through:
        given = (share, source, sink, os.getpid(), let_through)
        process = context.Process(target=_in_the_other, args=given, daemon=True)
        process.start()
    sink.close()
    other = _Other(process, source, told)
    try:
        yield other
    finally:
        other.end()


def _in_the_other(
    share: _Share,
    source: Connection,
    sink: Connection,
    parent: int,
    let_through: Callable[[], None],
) -> None:
    # A terminal gives Ctrl-C to a whole group: the first process has the say.
    os.setpgid(0, 0)
    die_with_parent(parent)
    source.close()
    told: Run | BaseException
    try:
        told = _outcome(share, sink, let_through)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        # It came before there was anything to keep, or when all was over.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        now = time.time()
        told = Run(target="", tool=TOOL, started=now, seconds=0.0, results=(), interrupted=True)
    sink.send(told)
    sink.close()


def _outcome(
    share: _Share, sink: Connection, let_through: Callable[[], None]
) -> Run | BaseException:
    """What a share comes to, or what ended it. Raises KeyboardInterrupt."""
    try:
        let_through()
        return share(sink.send, sink.send)
    except KeyboardInterrupt:
        raise
    except (SetupError, TargetError) as error:
        return error
    except BaseException:
        return RuntimeError(traceback.format_exc())


def _joined(first: Run, second: Run, *, by_time: bool) -> Run:
    """Two runs as one. by_time: their packets are mixed as they came."""
    packets = [*first.packets, *second.packets]
    order = list(range(len(packets)))
    if by_time:
        order.sort(key=lambda at: packets[at].when)
    numbers = {at + 1: number for number, at in enumerate(order, 1)}
    shift = len(first.packets)

    def moved(number: int, shift: int) -> int:
        return numbers.get(number + shift, number) if number else 0

    return Run(
        target=first.target,
        tool=TOOL,
        started=first.started,
        seconds=max(first.seconds, second.seconds),
        results=tuple(
            replace(each, packets=tuple(moved(number, by) for number in each.packets))
            for run, by in ((first, 0), (second, shift))
            for each in run.results
        ),
        packets=tuple(numbered(packets[at], number) for number, at in enumerate(order, 1)),
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        gone=first.gone or second.gone,
        loses=first.loses or second.loses,
        interrupted=first.interrupted or second.interrupted,
        breaches=tuple(
            replace(each, packet=moved(each.packet, by))
            for run, by in ((first, 0), (second, shift))
            for each in run.breaches
        ),
        watched=Counter(first.watched) + Counter(second.watched),
    )
