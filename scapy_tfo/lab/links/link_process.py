"""Starts a process that provides a link, and sets the shapes of its two directions."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.links.link_model import Shape
from scapy_tfo.lab.process.control import CLOSE_LIMIT, START_LIMIT
from scapy_tfo.lab.process.module_process import start_module

LARGEST = 1 << 16
_ANSWER_WITHIN = 5.0


class LinkProcess:
    """`python -m MODULE CONTROL WORD...`: CONTROL is the descriptor of a socket, of which it reads
    lines, `{"onward": SHAPE, "homeward": SHAPE}`, and answers each with one; it ends when the other
    end is closed. descriptors: that it gets with their numbers. Raises SetupError where it does
    not start."""

    def __init__(
        self, module: str, words: Sequence[str], descriptors: Collection[int] = ()
    ) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = start_module(module, theirs, words, descriptors)
            except SetupError:
                self._control.close()
                raise

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def set(self, onward: Shape, homeward: Shape) -> dict[str, Any]:
        """From now on, packets meet these shapes; what is on its way is lost. onward: from the
        client. Returns what the process says. Raises SetupError where it has gone."""
        wanted = {"onward": asdict(onward), "homeward": asdict(homeward)}
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(wanted).encode() + b"\n")
        return self._told(_ANSWER_WITHIN)

    def greeting(self) -> dict[str, Any]:
        """What it says of itself, where it does so. Raises as `set` does."""
        return self._told(START_LIMIT)

    def _told(self, within: float) -> dict[str, Any]:
        self._control.settimeout(within)
        try:
            answer = self._control.recv(LARGEST)
        except OSError:
            answer = b""
        if not answer:
            raise SetupError("the process of the emulated link has ended")
        told: dict[str, Any] = json.loads(answer)
        if "error" in told:
            raise SetupError(told["error"])
        return told

    def close(self) -> None:
        """End it. Harmless when called twice."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_LIMIT)
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
