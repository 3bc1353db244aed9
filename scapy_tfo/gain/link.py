"""A client's namespace and a web server's, with an emulated link between them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.ends import KernelClient, run_fetcher, start_client, start_server
from scapy_tfo.lab.emulator import Emulator
from scapy_tfo.lab.link_model import Shape

_LOOP = Path(__file__).with_name("closed_loop.py")
_LOOP_PATIENCE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """count: transactions. seconds: that they took. client_cpu, server_cpu: seconds of processor
    time, of the busiest client process and of the server's."""

    count: int
    seconds: float
    client_cpu: float
    server_cpu: float

    @property
    def rate(self) -> float:
        """Transactions a second."""
        return self.count / self.seconds


class LinkedServer:
    """A server behind an emulated link, and a client in front of it. sizes: of the files that it
    has, as `/bytes/N`, in bytes. server, client: see ends.py.

    Raises SetupError where the host does not allow it, or has no nginx.
    """

    def __init__(
        self, sizes: Sequence[int], *, server: str = "nginx", client: str = "kernel"
    ) -> None:
        with contextlib.ExitStack() as undo:
            self._client = start_client(client)
            undo.callback(self._client.close)
            self._server = start_server(server, sizes)
            undo.callback(self._server.close)
            self._emulator = Emulator(self._client.descriptor, self._server.descriptor)
            undo.callback(self._emulator.close)
            self._undo = undo.pop_all()
        self.address = self._server.address
        self.port = self._server.port

    def shape(self, onward: Shape, homeward: Shape) -> None:
        """Of the link from now on: from the client, and back to it."""
        self._emulator.set(onward, homeward)

    def fetch(self, path: str, ways: Sequence[str], times: int, patience: float) -> list[Any]:
        """Requests in turn, each on a connection of its own, `times` for each of the ways.

        ways: as fetcher.py has them. Returns what that prints. Raises TargetError where a request
        fails or takes longer than `patience` seconds for all.
        """
        words = [str(self.address), str(self.port), "gain", path, str(times), *ways]
        return run_fetcher(self._client.fetching(words), path, patience)

    def loop(self, path: str, way: str, seconds: float, clients: int) -> Loop:
        """Transactions one after another for so many seconds, in so many processes at a time.

        Raises TargetError where one fails.
        """
        words = [sys.executable, "-I", "-S", str(_LOOP), str(self.address), str(self.port), path]
        # Loops are the kernel's.
        entering = cast(KernelClient, self._client).network.entering()
        before = self._server.cpu()
        running = [
            subprocess.Popen(
                [*words, str(seconds), way],
                preexec_fn=entering,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(clients)
        ]
        told = []
        try:
            for each in running:
                out, errors = each.communicate(timeout=seconds + _LOOP_PATIENCE)
                if each.returncode:
                    said = errors.decode(errors="replace").strip().splitlines()
                    raise TargetError(f"{path}: {said[-1] if said else 'the client ended early'}")
                told.append(json.loads(out))
        except subprocess.TimeoutExpired:
            raise TargetError(f"{path}: a transaction does not end") from None
        finally:
            for each in running:
                each.kill()
                each.wait()
        return Loop(
            count=sum(each["count"] for each in told),
            seconds=max(each["seconds"] for each in told),
            client_cpu=max(each["cpu"] for each in told),
            server_cpu=self._server.cpu() - before,
        )

    def close(self) -> None:
        """Give everything back. Harmless when called twice."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_sizes(sizes: Sequence[int]) -> None:
    """Raises SetupError for a size that no file can have."""
    if not sizes or min(sizes) < 1:
        raise SetupError("a response has one byte at least")
