"""A client's namespace and a web server's, with an emulated link between them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Self

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.ends import run_fetcher, start_client, start_server
from scapy_tfo.lab.emulator import Emulator
from scapy_tfo.lab.link_model import Shape


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
