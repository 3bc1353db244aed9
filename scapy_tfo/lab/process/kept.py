"""Programs of the user's that run as long as we need them, and never longer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.process.keeper import GRACE
from scapy_tfo.lab.process.module_process import start_module

_MOST = 4096
_LONGER = 3.0


class Kept:
    """A running program; it and all that it starts end with this process, however that ends.

    argv: the program and its arguments, which no shell sees. directory: where it runs.
    environment: what it has beside ours. ready: text that one of its lines has when it is ready,
    "" where it need not say. descriptor: its standard input and output, None for an empty input
    and an output that is read here. what: for messages. Raises SetupError where Python itself
    cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        what: str,
        directory: Path,
        environment: Mapping[str, str],
        ready: str = "",
        descriptor: int | None = None,
    ) -> None:
        self._what, self._argv, self._text = what, tuple(argv), ready
        self._control, theirs = socket.socketpair()
        self._buffer = b""
        self._ended = ""
        config = {
            "argv": list(argv),
            "directory": str(directory),
            "environment": dict(environment),
            "ready": ready,
            "descriptor": descriptor,
            "parent": os.getpid(),
        }
        passed = () if descriptor is None else (descriptor,)
        with theirs:
            try:
                self._keeper = start_module(
                    "scapy_tfo.lab.process.keeper",
                    theirs,
                    [json.dumps(config)],
                    passed,
                    apart=True,
                )
            except BaseException:
                self._control.close()
                raise
        self._control.setblocking(False)

    async def ready(self, within: float) -> None:
        """Wait until it is ready, for so many seconds. Raises TargetError where it never is."""
        try:
            async with asyncio.timeout(within):
                while b"\n" not in self._buffer:
                    more = await asyncio.get_running_loop().sock_recv(self._control, _MOST)
                    if not more:
                        raise TargetError(f"{self._what} did not start: its keeper ended")
                    self._buffer += more
        except TimeoutError:
            why = f"no line of what it says has {self._text!r} (does it flush its output?)"
            if not self._text:
                why = "it has not been started yet"
            raise TargetError(f"{self._what} is not ready after {within:g} s: {why}") from None
        said = self._next()
        if "error" in said:
            raise TargetError(f"{self._what} cannot be started: {self._argv[0]}: {said['error']}")
        if "ended" in said:
            raise TargetError(f"{self._what} ended before it was ready: {said['ended']}")

    def ended(self) -> str:
        """How it ended by itself, with its last words; "" while it runs."""
        if not self._ended:
            with contextlib.suppress(OSError):
                self._buffer += self._control.recv(_MOST)
            if b"\n" in self._buffer:
                self._ended = f"{self._what} ended: {self._next().get('ended', '')}"
        return self._ended

    def _next(self) -> dict[str, Any]:
        line, _, self._buffer = self._buffer.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def close(self) -> None:
        """End it, and all that it has started. Harmless when called twice."""
        if self._control.fileno() < 0:
            return
        self._control.close()
        try:
            self._keeper.wait(GRACE + _LONGER)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
