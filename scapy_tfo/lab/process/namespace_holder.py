"""Starts a child process that holds a namespace, and waits until it reports that it is ready."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Mapping
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.process.control import CLOSE_LIMIT, START_LIMIT
from scapy_tfo.lab.process.module_process import start_module
from scapy_tfo.lab.process.stderr import Stderr

_MAX_GREETING = 4096


class Holder:
    """`python -m MODULE FD CONFIG`, which answers with one JSON line and descriptors, and ends when
    the other end of FD is closed.

    module: of this package. config: for it, as JSON; the id of this process is put in as "parent".
    descriptors: that it hands over. name: what it is, for errors. Once it is there, said: what the
    line has; given: the descriptors, which the caller owns. Raises SetupError with its own reason
    where it does not start.
    """

    def __init__(
        self, module: str, config: Mapping[str, Any], *, descriptors: int, name: str
    ) -> None:
        self._name = name
        self._control, theirs = socket.socketpair()
        self._stderr = Stderr()
        words = [json.dumps({**config, "parent": os.getpid()})]
        with theirs:
            try:
                self.process = start_module(module, theirs, words, output=self._stderr.fd)
            except SetupError:
                self._control.close()
                self._stderr.close()
                raise
        try:
            self.said, self.given = self._greeting(descriptors)
        except BaseException:
            self._end()
            raise

    def _greeting(self, descriptors: int) -> tuple[dict[str, Any], list[int]]:
        self._control.settimeout(START_LIMIT)
        try:
            line, fds, _, _ = socket.recv_fds(self._control, _MAX_GREETING, descriptors)
        except TimeoutError:
            raise SetupError(f"{self._name} did not start in {START_LIMIT:g} s") from None
        except ConnectionError:
            line, fds = b"", []
        if not line:
            self.process.wait()
            raise SetupError(f"{self._name} did not start: {self._stderr.last_words()}")
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise SetupError(said["error"])
        return said, fds

    def close(self) -> None:
        """End it: by itself when the other end has gone, and whatever it does, it ends. Harmless
        when called twice."""
        if self._control.fileno() >= 0:
            self._control.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(CLOSE_LIMIT)
            self._end()

    def _end(self) -> None:
        self._control.close()
        self.process.kill()
        self.process.wait()
        self._stderr.close()
