"""Opens targets of our own for the suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import time
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.mutants.registry import REFERENCE, all_context_mutants, all_mutants
from scapy_tfo.suite.application import Echo, Http
from scapy_tfo.suite.target import Service, Target
from scapy_tfo.variants.registry import AnyStack, all_variants, is_client, named
from scapy_tfo.variants.rows import all_rows

if TYPE_CHECKING:
    from scapy_tfo.lab.memory.served import ServedLab
    from scapy_tfo.lab.memory.target import ReferenceLab

LABS = ("lab:linux", "lab:reference", "lab:nginx", "lab:haproxy")
"""By name; that of a mutant or variant is `lab:` and the name that it has in its registry."""

_WITH_A_KERNEL = ("lab:linux", "lab:nginx", "lab:haproxy")


def is_in_memory(name: str) -> bool:
    """Whether a lab target, if there is one of that name, is made without a network."""
    return name.startswith("lab:") and name not in _WITH_A_KERNEL


def own_targets() -> list[str]:
    """The names of all targets of our own."""
    wrong = (*all_mutants(), *all_context_mutants())
    names = [REFERENCE.name, *(each.name for each in wrong)]
    names += [each.name for each in (*all_variants(), *all_rows())]
    kinds = [f"{kind}:{name}" for kind in ("lab", "sim") for name in names]
    return list(dict.fromkeys([*LABS, *kinds]))


@asynccontextmanager
async def open_lab(
    name: str,
    sysctls: Mapping[str, str],
    *,
    impairment: Impairment | None = None,
    seed: int = 0,
) -> AsyncIterator[Target]:
    """Start the lab target of that name; it is gone at the end, however the run ends.

    impairment, seed: of targets in memory, the others take none.
    Raises SetupError for a name that is none, and where the host does not allow the target.
    """
    if is_in_memory(name):
        mutant = _stack(name)
        if sysctls:
            raise SetupError(f"--sysctl works only with targets that run a kernel, not with {name}")
        from scapy_tfo.lab.memory.target import ReferenceLab

        here = await ReferenceLab.start(
            stack_class=mutant.stack,
            settings=mutant.settings,
            seed=seed,
            epoch=time(),
            impairment=impairment,
        )
        try:
            yield reference_target(name, here, any_source=True)
        finally:
            here.close()
    elif name == "lab:linux":
        from scapy_tfo.lab.kernel.target import GIVES_UP_AFTER, LinuxLab

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
        from scapy_tfo.lab.kernel.servers import RealServerLab

        async with await RealServerLab.start(name.partition(":")[2], sysctls=sysctls) as server:
            yield Target(
                name=name,
                link=server.link,
                addresses=server.addresses,
                main=Service(server.ports["http"], Http("lab")),
            )


def _stack(name: str) -> AnyStack:
    try:
        return named(name.removeprefix("lab:"))
    except SetupError:
        if is_client(name.removeprefix("lab:")):
            raise
        raise SetupError(
            f"no such lab target: '{name}'; give {', '.join(LABS)}, or lab:NAME with a name "
            "that 'scapy-tfo mutants' or 'scapy-tfo variants' lists"
            + did_you_mean(name, own_targets())
        ) from None


def reference_target(
    name: str, lab: ReferenceLab | ServedLab, *, any_source: bool = False
) -> Target:
    """The reference stack of a lab as a target. any_source: see `Target`."""
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
        any_source=any_source,
    )
