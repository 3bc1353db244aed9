"""A violation: a packet, or a silence, that the oracle does not allow."""

from __future__ import annotations

from dataclasses import dataclass

Signature = tuple[str, str, str, str]
"""Requirement, state, reply class, class of the wrong input: two findings with the same one count
as the same."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A reply, or a silence, that the model does not allow.

    requirement: id in specs/. rule: the model's rule that was broken, by name. state: of the
    connection as the model has it. reply: class of what came ("syn-ack", "ack", "text", "fin",
    "rst", "icmp", "none"). flow, step: in the program; the step is the last that was sent.
    packet: number in the trace, from 0, or -1 for a silence. cookie: what was wrong with the cookie
    that the flow was opened with, "" if nothing was; where the requirement is about ICMP, the kind
    of the last message.
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
    cookie: str = ""

    @property
    def signature(self) -> Signature:
        return self.requirement, self.state, self.reply, self.cookie
