"""A pool of processes, each in a network namespace of its own, that run one script each."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import re
import selectors
import signal
import socket
import struct
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.process.forking import signals_held_back
from scapy_tfo.lab.process.namespace import die_with_parent, enter_namespace, mount_private
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import warm_up
from scapy_tfo.pkt.local.run import Task, run_script
from scapy_tfo.pkt.local.scheduling import can_hurry
from scapy_tfo.pkt.local.watchdog import Guard
from scapy_tfo.pkt.local.wire import LocalWire
from scapy_tfo.pkt.play.outcome import Failure, Outcome

_LENGTH = struct.Struct("!I")
_SPARE = 2
"""Namespaces that are made while scripts still run."""

_CHANCES = 3
_PIECE = 1 << 16
_A_PROCESSOR = 4
_UNUSED = Path("/srv")
"""A directory that scripts have no use for."""

_DELAY = re.compile(r"^ *\+(\d+\.?\d*|\.\d+)", re.MULTILINE)


@dataclass(slots=True)
class _Worker:
    pid: int
    control: socket.socket
    heard: bytearray
    number: int = -1
    deadline: float = 0.0


Answer = Outcome | ScriptError | SetupError


def default_jobs() -> int:
    """How many scripts to run at a time: they mostly wait."""
    return _A_PROCESSOR * (os.cpu_count() or 1)


def run_all(
    tasks: Sequence[Task], *, jobs: int, longest: float = 180.0
) -> Iterator[tuple[int, Answer]]:
    """Run scripts, `jobs` at a time, and give each one's number and outcome when it ends.

    longest: seconds after which a script is ended. A script that cannot be run gives the error
    that says why, as all do where the host allows no namespaces. Where scripts may not hurry, one
    that fails is run again by itself, at most twice: others may have kept it from the processor.
    Must be called with a single thread.
    """
    warm_up()
    # What is there already is nobody's garbage; looking at it would copy it in each process.
    gc.freeze()
    pool = _Pool(longest)
    chances = 1 if can_hurry() else _CHANCES
    try:
        yield from pool.run(tasks, jobs, chances)
    finally:
        pool.close()
        gc.unfreeze()


class _Pool:
    def __init__(self, longest: float) -> None:
        self._longest = longest
        # Every process that was forked and not ended: one that an interruption left out of the
        # other lists would wait for ever.
        self._all: dict[int, _Worker] = {}
        self._ready: deque[_Worker] = deque()
        self._busy: dict[int, _Worker] = {}
        self._ending: list[int] = []
        self._selector = selectors.DefaultSelector()
        self._guard = Guard()

    def run(self, tasks: Sequence[Task], jobs: int, chances: int) -> Iterator[tuple[int, Answer]]:
        """chances: runs that a script has in all to pass, the first beside others."""
        numbers = sorted(range(len(tasks)), key=lambda each: -_patience(tasks[each].text))
        for chance in range(chances):
            again = []
            for number, answer in self._run(tasks, numbers, 1 if chance else jobs):
                if chance + 1 < chances and isinstance(answer, Outcome) and answer.failures:
                    again.append(number)
                else:
                    yield number, answer
            numbers = again

    def _run(
        self, tasks: Sequence[Task], numbers: Sequence[int], jobs: int
    ) -> Iterator[tuple[int, Answer]]:
        waiting = deque(numbers)
        while waiting or self._busy:
            while waiting and len(self._busy) < jobs:
                self._give(tasks[waiting[0]], waiting.popleft())
            self._stock(min(len(waiting), _SPARE))
            yield from self._collect()

    def close(self) -> None:
        """End every process."""
        for worker in list(self._all.values()):
            self._end(worker)
        self._ready.clear()
        self._busy.clear()
        self._bury(0)
        self._selector.close()
        self._guard.close()

    def _stock(self, count: int) -> None:
        while len(self._ready) < count:
            self._ready.append(self._new())

    def _give(self, task: Task, number: int) -> None:
        worker = self._ready.popleft() if self._ready else self._new()
        worker.number = number
        worker.deadline = time.monotonic() + self._longest
        self._busy[number] = worker
        data = pickle.dumps(task)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.control.sendall(_LENGTH.pack(len(data)) + data)
        self._selector.register(worker.control, selectors.EVENT_READ, worker)

    def _collect(self) -> Iterator[tuple[int, Answer]]:
        first = min((worker.deadline for worker in self._busy.values()), default=0.0)
        events = self._selector.select(max(first - time.monotonic(), 0.0))
        for key, _ in events:
            worker: _Worker = key.data
            piece = b""
            with contextlib.suppress(ConnectionResetError):
                piece = worker.control.recv(_PIECE)
            worker.heard += piece
            if not piece:
                yield self._ended(worker)
        for worker in list(self._busy.values()):
            if time.monotonic() > worker.deadline:
                problem = f"the script did not end within {self._longest:g} s"
                self._forget(worker)
                yield worker.number, Outcome([Failure(line=0, problem=problem)])

    def _ended(self, worker: _Worker) -> tuple[int, Answer]:
        self._forget(worker)
        try:
            answer: Answer = pickle.loads(worker.heard)
        except (EOFError, pickle.UnpicklingError):
            problem = "the process that ran the script ended without a word"
            answer = Outcome([Failure(line=0, problem=problem)])
        return worker.number, answer

    def _forget(self, worker: _Worker) -> None:
        self._selector.unregister(worker.control)
        del self._busy[worker.number]
        self._end(worker)

    def _end(self, worker: _Worker) -> None:
        worker.control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        self._all.pop(worker.pid, None)
        self._ending.append(worker.pid)
        self._bury(os.WNOHANG)

    def _bury(self, how: int) -> None:
        """Take leave of those that have ended: removing their device takes the kernel a while."""
        for pid in list(self._ending):
            try:
                ended, _ = os.waitpid(pid, how)
            except ChildProcessError:
                ended = pid
            if ended:
                self._ending.remove(pid)
                self._guard.forget(pid)

    def _new(self) -> _Worker:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        with signals_held_back() as let_through:
            pid = os.fork()
            if not pid:
                ours.close()
                _serve(theirs, parent, let_through)
            worker = self._all[pid] = _Worker(pid, ours, bytearray())
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
            self._guard.watch(pid)
        theirs.close()
        return worker


def _patience(text: str) -> float:
    """Seconds that a script will wait, roughly: those that wait longest begin first."""
    return sum(float(each) for each in _DELAY.findall(text))


def _serve(control: socket.socket, parent: int, let_through: Callable[[], None]) -> None:
    """Make a namespace, wait for a script, run it, and say what came of it. Never returns."""
    answer: Answer
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        let_through()
        ready = _make_ready(parent)
        task = _receive(control)
        if task is not None:
            _keep_counters_apart(task.directory)
            try:
                answer = run_script(task, ready) if isinstance(ready, LocalWire) else ready
            except SetupError as error:
                # What led to it cannot be sent, and is sent where a library extends pickling.
                error.__cause__ = error.__context__ = None
                answer = error.with_traceback(None)
            with contextlib.suppress(OSError):
                control.sendall(pickle.dumps(answer))
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)


def _make_ready(parent: int) -> LocalWire | SetupError:
    try:
        enter_namespace()
        die_with_parent(parent)
        return LocalWire()
    except SetupError as error:
        return error
    except OSError as error:
        return SetupError(f"cannot set up a network namespace: {error.strerror}")


def _keep_counters_apart(directory: Path) -> None:
    """Scripts ask nstat for what has changed since they asked last, which it keeps in one file for
    all: give each script its own, which goes with it."""
    if not _UNUSED.is_dir() or directory.is_relative_to(_UNUSED):
        return
    with contextlib.suppress(OSError):
        mount_private(_UNUSED)
        os.environ["NSTAT_HISTORY"] = str(_UNUSED / "nstat")


def _receive(control: socket.socket) -> Task | None:
    head = control.recv(_LENGTH.size, socket.MSG_WAITALL)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = control.recv(length, socket.MSG_WAITALL)
    task: Task = pickle.loads(data)
    return task
