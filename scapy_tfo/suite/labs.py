"""Targets of our own, opened for the suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import time
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.path import Impairment
from scapy_tfo.suite.app import Echo, Http
from scapy_tfo.suite.target import Service, Target

if TYPE_CHECKING:
    from scapy_tfo.lab.reference import ReferenceLab

LABS = ("lab:linux", "lab:reference", "lab:nginx", "lab:haproxy")


@asynccontextmanager
async def open_lab(
    name: str,
    sysctls: Mapping[str, str],
    *,
    impairment: Impairment | None = None,
    seed: int = 0,
) -> AsyncIterator[Target]:
    """Start the lab target of that name; it is gone at the end, however the run ends.

    impairment, seed: of lab:reference, the others take none.
    Raises SetupError for a name that is none of LABS, and where the host does not allow it.
    """
    if name not in LABS:
        raise SetupError(f"no such lab target: '{name}'; there are {', '.join(LABS)}")
    if name == "lab:reference":
        if sysctls:
            raise SetupError("--sysctl is for targets that run a kernel, not for lab:reference")
        from scapy_tfo.lab.reference import ReferenceLab

        here = await ReferenceLab.start(seed=seed, epoch=time(), impairment=impairment)
        try:
            yield reference_target(name, here)
        finally:
            here.close()
    elif name == "lab:linux":
        from scapy_tfo.lab.linux import GIVES_UP_AFTER, LinuxLab

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
                gives_up_after=GIVES_UP_AFTER,
            )
    else:
        from scapy_tfo.lab.servers import RealServerLab

        async with await RealServerLab.start(name.partition(":")[2], sysctls=sysctls) as server:
            yield Target(
                name=name,
                link=server.link,
                addresses=server.addresses,
                main=Service(server.ports["http"], Http("lab")),
            )


def reference_target(name: str, lab: ReferenceLab) -> Target:
    """The reference stack of a lab as a target."""
    echo = Echo()
    return Target(
        name=name,
        link=lab.link,
        addresses=lab.addresses,
        main=Service(lab.ports["echo"], echo),
        plain=Service(lab.ports["plain"], echo),
        second=Service(lab.ports["second"], echo),
        hooks=lab.host,
        has_counters=True,
    )
