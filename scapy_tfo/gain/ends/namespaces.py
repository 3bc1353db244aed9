"""The ends of an emulated link: clients and servers of this kernel and of the reference.

Each has a descriptor that gives and takes its IP packets, and closes it itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from ipaddress import ip_interface
from pathlib import Path
from typing import Any, Protocol

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.kernel.client_network import ClientNetwork
from scapy_tfo.lab.kernel.servers import HTTP_PORT, RealServerLab
from scapy_tfo.lab.kernel.target import TARGETS
from scapy_tfo.lab.process.namespace import die_with_parent
from scapy_tfo.lab.process.namespace_holder import Holder
from scapy_tfo.lab.process.packet_pair import packet_pair
from scapy_tfo.lab.process.priority import go_first
from scapy_tfo.segment import Address

CLIENT = {4: ip_interface("192.0.2.16/24"), 6: ip_interface("fd00:7413::10/64")}
"""Addresses of the client; those of the servers are in lab/kernel/target.py."""

FETCHER = Path(__file__).with_name("fetcher.py")
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_CONTROLS = ("cubic", "reno")
"""RFC 9438 and RFC 5681: the first that a namespace may choose is used. BBR, which some hosts
prefer, paces a plain connection by the round-trip time of its handshake, but has none yet for the
first flight after a fast open: that would be a gain of another kind."""

_CLIENT_ALONE = "1"
"""net.ipv4.tcp_fastopen of a host that does not take fast opens (ip-sysctl.rst)."""


class Client(Protocol):
    """Where requests come from."""

    descriptor: int

    def fetching(self, words: Sequence[str]) -> dict[str, Any]:
        """What subprocess takes to run a fetcher, which gets these words (see fetcher.py)."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Server(Protocol):
    """Where requests go to. address, port: IPv4."""

    descriptor: int
    address: Address
    port: int

    def close(self) -> None:
        """Give everything back."""
        ...


class KernelClient:
    """This kernel's client in a namespace. Raises SetupError where the host does not allow it."""

    def __init__(self) -> None:
        self.network = ClientNetwork(addresses=CLIENT)
        self.descriptor = self.network.tun

    def entering(self, cores: Collection[int] = ()) -> Callable[[], None]:
        """As of `ClientNetwork`; and what is run goes before others."""
        enter = self.network.entering(cores)

        def begin() -> None:
            go_first()
            enter()

        return begin

    def fetching(self, words: Sequence[str]) -> dict[str, Any]:
        return {
            "args": [sys.executable, "-I", "-S", str(FETCHER), *words],
            "preexec_fn": self.entering(),
        }

    def close(self) -> None:
        os.close(self.descriptor)
        self.network.close()


class ReferenceClient:
    """The reference client, which needs no privilege."""

    def __init__(self) -> None:
        ours, self._theirs = packet_pair()
        self.descriptor = ours.detach()

    def fetching(self, words: Sequence[str]) -> dict[str, Any]:
        parent, theirs = os.getpid(), self._theirs.fileno()
        return {
            "args": [
                *(sys.executable, "-m", "scapy_tfo.gain.ends.reference_fetcher", str(theirs)),
                *words,
            ],
            "preexec_fn": lambda: die_with_parent(parent),
            "pass_fds": [theirs],
        }

    def close(self) -> None:
        os.close(self.descriptor)
        self._theirs.close()


class Nginx:
    """nginx on this kernel in a namespace, with the files `/bytes/N` for these sizes.

    fast_open: False leaves it off in the kernel, whatever nginx asks for. Raises SetupError where
    the host does not allow it, or has no nginx.
    """

    def __init__(self, sizes: Sequence[int], *, fast_open: bool = True) -> None:
        self._loop = asyncio.new_event_loop()
        sysctls = {} if fast_open else {"net.ipv4.tcp_fastopen": _CLIENT_ALONE}
        allowed = _ALLOWED.read_text(encoding="ascii").split()
        if found := [each for each in _CONTROLS if each in allowed]:
            sysctls["net.ipv4.tcp_congestion_control"] = found[0]
        start = RealServerLab.start("nginx", sizes=sizes, sysctls=sysctls)
        try:
            self.lab = self._loop.run_until_complete(start)
        except BaseException:
            self._loop.close()
            raise
        go_first(self.lab.pid)
        self.descriptor = self.lab.descriptor
        self.address = self.lab.addresses[4]
        self.port = self.lab.ports["http"]
        self.cpu = self.lab.cpu

    def close(self) -> None:
        self.lab.close()
        self._loop.close()


class ReferenceServer:
    """The reference server in a process of its own, which needs no privilege. Raises SetupError."""

    def __init__(self) -> None:
        module = "scapy_tfo.gain.ends.reference_server"
        self._holder = Holder(module, {}, descriptors=1, name="the reference server")
        (self.descriptor,) = self._holder.given
        self.address: Address = TARGETS[4].ip
        self.port = HTTP_PORT

    def close(self) -> None:
        os.close(self.descriptor)
        self._holder.close()


def start_client(name: str) -> Client:
    """One of `names.CLIENTS`. Raises SetupError."""
    return ReferenceClient() if name == "reference" else KernelClient()


def start_server(name: str, sizes: Sequence[int]) -> Server:
    """One of `names.SERVERS`. Raises SetupError."""
    if name == "reference":
        return ReferenceServer()
    return Nginx(sizes, fast_open=name == "nginx")


def fetched(running: dict[str, Any], what: str, patience: float) -> Generator[dict[str, Any]]:
    """What a fetcher prints, as soon as it is printed; closing the generator ends the fetcher.

    running: as `Client.fetching` gives it. Raises TargetError where a request fails, or takes
    longer than `patience` seconds.
    """
    process = subprocess.Popen(
        **running,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        assert process.stdout is not None
        while True:
            if not select.select([process.stdout], [], [], patience)[0]:
                raise TargetError(f"{what}: a request took more than {patience:.0f} s")
            line = process.stdout.readline()
            if not line:
                break
            yield json.loads(line)
        _, errors = process.communicate()
        if process.returncode:
            said = errors.decode(errors="replace").strip().splitlines()
            raise TargetError(f"{what}: {said[-1] if said else 'the client ended early'}")
    finally:
        process.kill()
        process.communicate()
