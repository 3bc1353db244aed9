"""What came of one program: violations by clause, and what it reached."""

from __future__ import annotations

from dataclasses import dataclass

from scapy_tfo.fuzz.digest import Digest

Signature = tuple[str, str, str]
"""Requirement, state, reply class: two findings with the same one count as the same."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A reply, or a silence, that the model does not allow.

    requirement: id in specs/. rule: the model's rule that was broken, by name. state: of the
    connection as the model has it. reply: class of what came ("syn-ack", "ack", "text", "fin",
    "rst", "icmp", "none"). flow, step: in the program; the step is the last that was sent.
    packet: number in the trace, from 0, or -1 for a silence.
    """

    requirement: str
    rule: str
    state: str
    reply: str
    flow: int
    step: int
    expected: str
    actual: str
    packet: int = -1

    @property
    def signature(self) -> Signature:
        return self.requirement, self.state, self.reply


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
    class, for the corpus. sent, heard: packets. digest: what came, in a form that two targets can
    be compared by, where the run was watched. unjudged: why nothing can be said, or "".
    """

    violations: tuple[Violation, ...] = ()
    reached: frozenset[str] = frozenset()
    sent: int = 0
    heard: int = 0
    digest: Digest = ()
    unjudged: str = ""
