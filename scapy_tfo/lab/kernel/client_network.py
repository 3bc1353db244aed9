"""A network namespace for clients: commands run in it, and all its packets come to the suite."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Collection, Mapping
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from scapy_tfo.lab.kernel.agent import parse_netstat
from scapy_tfo.lab.kernel.target import host_families
from scapy_tfo.lab.process.namespace_holder import Holder
from scapy_tfo.segment import Address

MTU = 1500
CLIENTS = {4: ip_interface("198.18.0.1/15"), 6: ip_interface("fd00:7413:2::1/64")}
"""Of the client: the range of RFC 2544 for benchmarks, and one of RFC 4193."""

SERVERS: dict[int, Address] = {each: at.ip + (1 << 12) for each, at in CLIENTS.items()}
MOST_SERVERS = 1 << 14
"""Addresses of ours, from these on, that are behind the interface."""

_SYSCTLS = {
    "net.ipv4.tcp_fastopen": "1",
    "net.ipv4.tcp_fastopen_blackhole_timeout_sec": "0",
    "net.ipv4.tcp_no_metrics_save": "0",
}
"""As a host comes, but that a path which loses SYNs in one case is no reason in another to do
without fast open: Linux takes all paths together for that."""

_MAX_GREETING = 4096
_LARGEST = 1 << 16
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


class ClientNetwork:
    """Starts the namespace. tun: the descriptor of the device that leads to us, which the caller
    owns. families: 4, and 6 where this host has IPv6. addresses: the client's, by family.

    Raises SetupError where the host does not allow namespaces or TUN.
    """

    def __init__(
        self,
        sysctls: Mapping[str, str] | None = None,
        addresses: Mapping[int, IPv4Interface | IPv6Interface] = CLIENTS,
        mtu: int = MTU,
    ) -> None:
        self.families = host_families()
        config = {
            "sysctls": {**_SYSCTLS, **(sysctls or {})},
            "mtu": mtu,
            "families": self.families,
            "addresses": [str(addresses[each]) for each in self.families],
        }
        agent = "scapy_tfo.lab.kernel.client_agent"
        self._holder = Holder(agent, config, descriptors=2, name="the client's network")
        self.tun, self._netstat = self._holder.given
        self._is_open = True
        self._places: list[tuple[int, int]] = []
        try:
            self._places = self._opened()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Of a process in the namespace."""
        return self._holder.process.pid

    def _opened(self) -> list[tuple[int, int]]:
        """Descriptors of the namespaces that a command has to enter, in order, and their kind."""
        pid = self._holder.process.pid
        found = []
        if os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user"):
            found.append((os.open(f"/proc/{pid}/ns/user", os.O_RDONLY), _CLONE_NEWUSER))
        found.append((os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), _CLONE_NEWNET))
        return found

    def entering(self, cores: Collection[int] = ()) -> Callable[[], None]:
        """What a child has to call between fork and exec: it enters, and dies with this process.

        cores: those that it may run on, none for any."""
        places, parent = self._places, os.getpid()

        def enter() -> None:
            for descriptor, kind in places:
                if _libc.setns(descriptor, kind):
                    os._exit(126)
            if cores:
                os.sched_setaffinity(0, cores)
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(126)

        return enter

    def counters(self) -> dict[str, int]:
        """The fast open counters of the namespace by their TcpExt names."""
        return parse_netstat(os.pread(self._netstat, _LARGEST, 0).decode())

    def close(self) -> None:
        """End it. Harmless when called twice."""
        if self._is_open:
            self._is_open = False
            self._holder.close()
            for descriptor in (self._netstat, *(each for each, _ in self._places)):
                os.close(descriptor)
