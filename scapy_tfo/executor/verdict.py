"""The outcome of one run of one program: its violations, and the packets of its trace."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.executor.digest import Digest
from scapy_tfo.oracle.parts.violation import Violation

NO_COOKIE = "the target granted no cookie"
"""Why a program cannot be judged that needs one."""


@dataclass(frozen=True, slots=True)
class TracedPacket:
    """One IP packet of a run: seconds since its begin, and who sent it.

    other: of a run at the target that another is compared with.
    """

    when: float
    outbound: bool
    data: bytes
    other: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one run of one program showed.

    violations: in order, empty where all was allowed. reached: pairs of model state and reply
    class; edges: what was covered, see `executor.coverage`; both for the corpus. sent, heard:
    packets. digest: what came, in a form that two targets can be compared by, where the run was
    watched. unjudged: why nothing can be said, or "".
    """

    violations: tuple[Violation, ...] = ()
    reached: frozenset[str] = frozenset()
    sent: int = 0
    heard: int = 0
    digest: Digest = ()
    unjudged: str = ""
    edges: frozenset[str] = frozenset()
