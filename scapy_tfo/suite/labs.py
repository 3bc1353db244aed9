"""Targets of our own, opened for the suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from scapy_tfo.errors import SetupError
from scapy_tfo.suite.app import Echo
from scapy_tfo.suite.target import Service, Target

LABS = ("lab:linux", "lab:reference", "lab:nginx", "lab:haproxy")


@asynccontextmanager
async def open_lab(name: str, sysctls: Mapping[str, str]) -> AsyncIterator[Target]:
    """Start the lab target of that name; it is gone at the end, however the run ends.

    Raises SetupError for a name that is none of LABS, and where the host does not allow it.
    """
    if name not in LABS:
        raise SetupError(f"no such lab target: '{name}'; there are {', '.join(LABS)}")
    if sysctls and name == "lab:reference":
        raise SetupError("--sysctl is for targets that run a kernel, not for lab:reference")
    if name == "lab:linux":
        from scapy_tfo.lab.linux import LinuxLab

        async with await LinuxLab.start(sysctls=sysctls) as lab:
            echo = Echo()
            yield Target(
                name=name,
                link=lab.link,
                addresses=lab.addresses,
                main=Service(lab.ports["echo"], echo),
                plain=Service(lab.ports["plain"], echo),
                second=Service(lab.ports["second"], echo),
                hooks=lab.hooks,
                has_counters=True,
            )
