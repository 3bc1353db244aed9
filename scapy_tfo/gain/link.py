"""Links a client and a web server, each in a namespace of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import Any, Protocol, Self

from scapy_tfo.errors import SetupError
from scapy_tfo.gain.ends.namespaces import (
    CLIENT,
    Client,
    KernelClient,
    Nginx,
    Server,
    fetched,
    start_client,
    start_server,
)
from scapy_tfo.gain.link_shape import Line
from scapy_tfo.gain.names import AUTO, NETEM, OWN
from scapy_tfo.lab.links import netem
from scapy_tfo.lab.links.emulator import Emulator
from scapy_tfo.lab.links.link_model import Shape


class Link(Protocol):
    """A way between two ends."""

    def set(self, onward: Shape, homeward: Shape) -> object:
        """From now on, packets meet these shapes. Raises SetupError where it has ended."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class LinkedServer:
    """A server behind a link, and a client in front of it. sizes: of the files that it has, as
    `/bytes/N`, in bytes. server, client: see names.py. link: `NETEM` or `OWN`.

    Raises SetupError where the host does not allow it, or has no nginx.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        server: str = "nginx",
        client: str = "kernel",
        link: str = OWN,
    ) -> None:
        with contextlib.ExitStack() as undo:
            self._client = start_client(client)
            undo.callback(self._client.close)
            self._server = start_server(server, sizes)
            undo.callback(self._server.close)
            self._link = connect(self._client, self._server, link)
            undo.callback(self._link.close)
            self._undo = undo.pop_all()
        self.address = self._server.address
        self.port = self._server.port

    def shape(self, onward: Shape, homeward: Shape) -> None:
        """Of the link from now on: from the client, and back to it."""
        self._link.set(onward, homeward)

    def fetch(
        self, path: str, ways: Sequence[str], times: int, seed: int, patience: float
    ) -> Generator[Any]:
        """Requests in blocks, each on a connection of its own, `times` for each of the ways.

        ways, seed: as fetcher.py has them. Yields what that prints, and ends it when it is closed.
        Raises TargetError where a request fails or takes longer than `patience` seconds.
        """
        words = [str(self.address), str(self.port), "gain", path, str(times), str(seed), *ways]
        return fetched(self._client.fetching(words), path, patience)

    def close(self) -> None:
        """Give everything back. Harmless when called twice."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def carrier(line: Line, *, kernels: bool = True) -> str:
    """`NETEM` or `OWN`. kernels: whether both ends are this kernel's, which netem takes. Raises
    SetupError where netem is asked for and there can be none."""
    if line.link == OWN:
        return OWN
    why = netem.missing() if kernels else "the reference's ends are not the kernel's"
    if not why:
        return NETEM
    if line.link == NETEM:
        raise SetupError(f"netem cannot make the link: {why}; use --link own")
    return OWN


def why_own(line: Line) -> str:
    """Why our own emulator carries the packets where netem would be better, or ""."""
    return netem.missing() if line.link == AUTO else ""


def connect(client: Client, server: Server, kind: str) -> Link:
    """A link between them. kind: `NETEM`, which takes two kernels, or `OWN`. Raises SetupError."""
    if kind == NETEM and isinstance(client, KernelClient) and isinstance(server, Nginx):
        here, there = [f"{CLIENT[4].ip}/32"], [f"{server.address}/32"]
        return netem.NetemLink(client.network.pid, server.lab.pid, here, there)
    return Emulator(client.descriptor, server.descriptor)


def check_sizes(sizes: Sequence[int]) -> None:
    """Raises SetupError for a size that no file can have."""
    if not sizes or min(sizes) < 1:
        raise SetupError("a response must have at least one byte")
