"""What the matrix of clients takes from theirs: cases, mutants, simulation."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.mutants.registry import all_client_mutants
from scapy_tfo.spec import Catalogue, Requirement
from scapy_tfo.suite.matrix import Arena
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result

_FROM_OUTSIDE = {"wire", "command"}

_WITH_ANOTHER = {"CLI-8"}
"""Requirements that nothing but another one shows on the wire, as their notes say."""


def is_observable(requirement: Requirement) -> bool:
    """Whether a case can check it: a client's, seen in packets or from its command."""
    seen = bool(_FROM_OUTSIDE & set(requirement.observed))
    return requirement.role == "client" and seen and requirement.id not in _WITH_ANOTHER


def _simulate(
    name: str, cases: Sequence[Case], catalogue: Catalogue, family: int
) -> tuple[Result, ...]:
    options = Options(slow=True, families=(family,), capture=False)
    return simulate(f"sim:{name}", cases, catalogue, options).results


CLIENTS = Arena(all_cases, all_client_mutants, _simulate, is_observable)
"""What `scapy-tfo client` judges."""
