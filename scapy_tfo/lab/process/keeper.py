"""The process that starts a program of the user's, and ends it with all that it has started.

Started by `scapy_tfo.lab.process.kept` as `python -m scapy_tfo.lab.process.keeper FD CONFIG`. It
answers with one JSON line when the program is ready, or has failed, and with one more when it has
ended by itself. When the other end of FD is closed, however that happens, it ends the program.
Processes that leave their parent become children of this one (prctl(2), PR_SET_CHILD_SUBREAPER),
so none of them escapes.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scapy_tfo.lab.process.namespace import die_with_parent

GRACE = 2.0
"""Seconds from SIGTERM to SIGKILL."""

_PR_SET_CHILD_SUBREAPER = 36
_KEPT = 8192
_MOST_SAID = 300
_ROUNDS = 1000
_POLL = 0.01


class Keeper:
    """One program, and what it says. config: as `Kept` writes it."""

    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self._control = control
        self._parent = int(config["parent"])
        self._ready = str(config["ready"]).encode()
        self._is_ready = not self._ready
        self._said = bytearray()
        self._output, theirs = os.pipe()
        descriptor = config["descriptor"]
        stream = subprocess.DEVNULL if descriptor is None else int(descriptor)
        parent = os.getpid()
        try:
            self.process = subprocess.Popen(
                config["argv"],
                cwd=config["directory"],
                env={**os.environ, **config["environment"]},
                stdin=stream,
                stdout=theirs if descriptor is None else stream,
                stderr=theirs,
                preexec_fn=lambda: die_with_parent(parent),
            )
        finally:
            os.close(theirs)
            if descriptor is not None:
                os.close(int(descriptor))

    def watch(self) -> None:
        """Read what the program says, until nobody wants it any more."""
        poll = select.poll()
        process = os.pidfd_open(self.process.pid)
        # Who was forked from the one that wants us may hold the other end of the socket still.
        wanted_by = os.pidfd_open(self._parent)
        for each in (self._control.fileno(), self._output, process, wanted_by):
            poll.register(each, select.POLLIN)
        if self._is_ready:
            self._tell({"ready": True})
        while True:
            found = {each for each, _ in poll.poll()}
            if self._output in found and not self._read():
                poll.unregister(self._output)
            if process in found:
                poll.unregister(process)
                self._tell({"ended": self._last_words()})
            # Nothing is ever said to us there: it can only be the end.
            if found & {self._control.fileno(), wanted_by}:
                return

    def _read(self) -> bool:
        """Take what the program has said; False at its end."""
        data = os.read(self._output, _KEPT)
        self._said += data
        if not self._is_ready and self._ready in self._said:
            self._is_ready = True
            self._tell({"ready": True})
        del self._said[:-_KEPT]
        return bool(data)

    def _last_words(self) -> str:
        with contextlib.suppress(BlockingIOError):
            os.set_blocking(self._output, False)
            self._read()
        status = self.process.wait()
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        lines = [each.strip() for each in self._said.decode(errors="replace").splitlines()]
        last = next((each for each in reversed(lines) if each), "")
        return f"{how}: {last[-_MOST_SAID:]}" if last else how

    def _tell(self, news: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(news).encode() + b"\n")

    def end(self) -> None:
        """End the program and all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        until = time.monotonic() + GRACE
        # What it says at its end must not fill the pipe and hold it up.
        os.set_blocking(self._output, False)
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                os.read(self._output, _KEPT)
            time.sleep(_POLL)
        for _ in range(_ROUNDS):
            for child in _children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            if not _reaped():
                return
            time.sleep(_POLL)


def _reaped() -> bool:
    """Reap those that have ended; whether any are left."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not ended:
            return True


def _children() -> list[int]:
    """Our children, among them those whose parents have ended."""
    found, ours = [], str(os.getpid())
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if each.read_text(errors="replace").rpartition(")")[2].split()[1] == ours:
                found.append(int(each.parent.name))
    return found


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())
    control = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        keeper = Keeper(control, config)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        control.sendall(json.dumps({"error": why}).encode() + b"\n")
        return
    try:
        # A parent that has gone already has no pidfd.
        with contextlib.suppress(ProcessLookupError):
            keeper.watch()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        keeper.end()


if __name__ == "__main__":
    main()
