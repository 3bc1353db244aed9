"""This kernel as a campaign's target, in its own namespace: many connections, no asyncio."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from scapy_tfo.lab.bulk.log import KernelLog
from scapy_tfo.lab.kernel.agent import DEVICE, parse_netstat
from scapy_tfo.lab.kernel.target import MTU, SOURCES, TARGETS, host_families
from scapy_tfo.lab.process.namespace_holder import Holder
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.batch import TunBatch

_MAX_GREETING = 4096
_LARGEST = 1 << 16
_DROPPED = 12
"""Field of a line of /proc/net/dev: packets that the device had no room for."""


class BulkLab:
    """The kernel with an echo on each of the ports "main", "second", "plain" and "small", and
    nothing on "closed": see `echo.QUEUES`.

    batch: the way to it. addresses: the target's, by family.
    """

    def __init__(self, started: Started) -> None:
        self._started = started
        families = host_families()
        sources = [source for family in families for source in SOURCES[family]]
        self.batch = TunBatch(started.tun, sources, MTU, queue=started.queue, dropped=self._dropped)
        self.ports = started.ports
        self.addresses: dict[int, Address] = {each: TARGETS[each].ip for each in families}
        self._log = KernelLog()
        self._is_open = True

    @classmethod
    def start(cls, sysctls: Mapping[str, str] | None = None) -> Self:
        """Start it; `sysctls` (dotted name to value) are written in its namespace first.

        The thread that calls must live as long as the lab: the kernel ends the target with it.
        Raises SetupError where the host does not allow namespaces or TUN, or has no such sysctl.
        """
        return cls(Started(sysctls or {}))

    def ails(self) -> str:
        """What ails the target, as seen from the inside: its process has ended, or the kernel's
        log tells of a fault, which is told once; "" for nothing."""
        if self._started.process.poll() is not None:
            return "its process has ended"
        alarms = self._log.alarms()
        return f"the kernel's log has {alarms[0]}" if alarms else ""

    def counters(self) -> dict[str, int]:
        """The fast open counters of the namespace by their TcpExt names; a matter of 30 us."""
        return parse_netstat(self.netstat().decode())

    def netstat(self) -> bytes:
        """/proc/net/netstat of the namespace: pairs of lines, names and then values."""
        return os.pread(self._started.netstat, _LARGEST, 0)

    def close(self) -> None:
        """End the target and everything in it. Harmless when called twice."""
        if self._is_open:
            self._is_open = False
            self.batch.close()
            self._log.close()
            self._started.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _dropped(self) -> int:
        for line in os.pread(self._started.dev, _LARGEST, 0).decode().splitlines():
            name, _, fields = line.partition(":")
            if name.strip() == DEVICE:
                return int(fields.split()[_DROPPED - 1])
        return 0


class Started:
    """The process inside the namespace, and what it has handed over. Raises SetupError."""

    def __init__(self, sysctls: Mapping[str, str]) -> None:
        families = host_families()
        config = {
            "sysctls": dict(sysctls),
            "mtu": MTU,
            "families": families,
            "addresses": [str(TARGETS[each]) for each in families],
        }
        agent = "scapy_tfo.lab.bulk.agent"
        self._holder = Holder(agent, config, descriptors=3, name="the lab's target")
        self.process = self._holder.process
        self.tun, self.netstat, self.dev = self._holder.given
        self.ports: dict[str, int] = self._holder.said["ports"]
        self.queue: int = self._holder.said["queue"]

    def close(self) -> None:
        """End the process, and give the descriptors back."""
        self._holder.close()
        os.close(self.netstat)
        os.close(self.dev)
