"""A client's namespace and a web server's, with an emulated link between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path
from typing import Any, Self

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.lab.client_network import ClientNetwork
from scapy_tfo.lab.emulator import Emulator
from scapy_tfo.lab.link_model import Shape
from scapy_tfo.lab.servers import RealServerLab

_CLIENT = {4: ip_interface("192.0.2.16/24"), 6: ip_interface("fd00:7413::10/64")}
_FETCHER = Path(__file__).with_name("fetcher.py")
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
    """nginx behind an emulated link. sizes: of the files it has, as `/bytes/N`, in bytes.

    Raises SetupError where the host does not allow it, or has no nginx.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        with contextlib.ExitStack() as undo:
            self._network = ClientNetwork(addresses=_CLIENT)
            undo.callback(self._network.close)
            self._loop = asyncio.new_event_loop()
            undo.callback(self._loop.close)
            self._server = self._loop.run_until_complete(RealServerLab.start("nginx", sizes=sizes))
            undo.callback(self._server.close)
            self._emulator = Emulator(self._network.tun, self._server.descriptor)
            undo.callback(self._emulator.close)
            self._undo = undo.pop_all()
        self.address = self._server.addresses[4]
        self.port = self._server.ports["http"]

    def shape(self, onward: Shape, homeward: Shape) -> None:
        """Of the link from now on: from the client, and back to it."""
        self._emulator.set(onward, homeward)

    def fetch(self, path: str, ways: Sequence[str], times: int, patience: float) -> list[Any]:
        """Requests in turn, each on a connection of its own, `times` for each of the ways.

        ways: as fetcher.py has them. Returns what that prints. Raises TargetError where a request
        fails or takes longer than `patience` seconds for all.
        """
        words = [sys.executable, "-I", "-S", str(_FETCHER), str(self.address), str(self.port), path]
        try:
            done = subprocess.run(
                [*words, str(times), *ways],
                preexec_fn=self._network.entering(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience,
            )
        except subprocess.TimeoutExpired:
            raise TargetError(f"{path} took over {patience:.0f} s for {times} requests") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise TargetError(f"{path}: {said[-1] if said else 'the client ended early'}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def loop(self, path: str, way: str, seconds: float, clients: int) -> Loop:
        """Transactions one after another for so many seconds, in so many processes at a time.

        Raises TargetError where one fails.
        """
        words = [sys.executable, "-I", "-S", str(_LOOP), str(self.address), str(self.port), path]
        before = self._server.cpu()
        running = [
            subprocess.Popen(
                [*words, str(seconds), way],
                preexec_fn=self._network.entering(),
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
