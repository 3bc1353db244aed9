"""Starts commands in the client's namespace, and collects their output and exit status."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from scapy_tfo.errors import SetupError

_STARTER = Path(__file__).with_name("launcher.py")
_LARGEST = 1 << 16
_MOST_READ = 1 << 20
_CLOSE_LIMIT = 5.0
"""Seconds that the starter may take to end."""


class Started:
    """One command that was started. ended: its exit status, negative for a signal."""

    def __init__(self, number: int, directory: Path) -> None:
        self.number = number
        self.out, self.err = (directory / f"{number}.{each}" for each in ("out", "err"))
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()


class Starter:
    """Starts commands, without a running loop waiting for any.

    enter: what the process calls to get where the commands shall run, None for here.
    """

    def __init__(self, enter: Callable[[], None] | None) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._directory = tempfile.mkdtemp(prefix="scapy-tfo-")
        self._numbers = itertools.count()
        self._running: dict[int, Started] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", str(_STARTER)),
                    *(str(theirs.fileno()), self._directory),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                preexec_fn=enter,
            )

    def file(self, content: bytes) -> str:
        """A file with that content, until `close`."""
        descriptor, name = tempfile.mkstemp(dir=self._directory)
        with open(descriptor, "wb") as target:
            target.write(content)
        return name

    def start(self, words: Sequence[str], *, own: bool = False) -> Started:
        """Start a command. own: the words are `linux_client.py`'s, and need no new Python.

        Raises SetupError where the starter is gone.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._control, self._hear)
        started = Started(next(self._numbers), Path(self._directory))
        self._running[started.number] = started
        self._say(
            {
                "start": started.number,
                "words": list(words),
                "own": own,
                "out": str(started.out),
                "err": str(started.err),
            }
        )
        return started

    def kill(self, started: Started) -> None:
        """End it, if it has not."""
        if started.number in self._running:
            self._say({"kill": started.number})

    def _say(self, message: dict[str, object]) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except OSError as error:
            raise SetupError(f"cannot start the client's command: {error}") from None

    def _hear(self) -> None:
        try:
            message = self._control.recv(_LARGEST)
        except ConnectionResetError:
            message = b""
        if not message and self._loop is not None:
            self._loop.remove_reader(self._control)
            return
        said = json.loads(message)
        started = self._running.pop(said["ended"], None)
        if started is not None and not started.ended.done():
            started.ended.set_result(said["status"])

    def close(self) -> None:
        """End all that was started, and remove the files; harmless when called twice."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._control)
        self._control.close()
        try:
            self._process.wait(_CLOSE_LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)


def output(path: Path, *, last: bool = False) -> bytes:
    """What a command wrote there, the first MiB of it or the last; nothing where it was never
    started."""
    if not os.path.exists(path):
        return b""
    with path.open("rb") as file:
        if last:
            file.seek(max(0, path.stat().st_size - _MOST_READ))
        return file.read(_MOST_READ)
