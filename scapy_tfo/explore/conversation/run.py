"""What one schedule showed."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.explore.conversation.schedule import Schedule, program_of
from scapy_tfo.explore.ends.actor import Actor

OVER = "the connection was over"
"""The excuse of what was sent when there was no connection any more, or what opens another."""

LOST_FOR_GOOD = "it acknowledges, in the client's name, what the client has not got"
"""The excuse of a wrong segment on a path that loses packets."""

WAITED = "TIME-WAIT of the connection before may last (RFC 9293 section 3.10.7.4)"
"""The excuse of a SYN that got no SYN-ACK."""

BY_ITSELF = "a program of the fuzzer is judged by the fuzzer's model"
"""The excuse of what has no applications at its ends."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that no right target does. rule: its name. packet: the number of the packet that
    shows it, from 0 on; -1 for what shows at the end. expected, actual: one line each."""

    rule: str
    packet: int
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Traced:
    """A packet on the way. at: seconds from the start, where the target is. fate: what befell it,
    or ""."""

    at: float
    to_target: bool
    data: bytes
    fate: str = ""


@dataclass(slots=True)
class Run:
    """One schedule, played. server, client: the applications as they ended. problems: in their
    order. order: of its packets, in the order in which they were sent, which went to the target.
    passed: packets that the target got or sent. acked: bytes of the client's text that the target
    acknowledged. reset: the target sent a RST. killed: it got one that it has to believe. broken:
    an option of its SYN had a wrong length. excuse: why what was sent beside the conversation may
    end it, or "". may_end: to end it is all that it may do, and the target tells its application.
    injected: something was. mark: alike for runs in which the same packets came at the same times.
    seconds: on the virtual clock. quiet: it ended by itself, and not because its time was over.
    met: states of the target, each with the sort of segment that came in it, see `met`. also: other
    connections of it, at the same time or behind it. talks: packets before the client's last text
    left. urgent: bytes of the client's text, counted from 0, that the target may take for urgent.
    gone: the client is, from some packet on. unheard: the target has sent what was never
    acknowledged. anew: the target's application got a connection when all seemed to be over, and
    who speaks to whom is not known. is_long: it was still going on when it had taken more packets
    than a schedule may.
    """

    schedule: Schedule
    server: Actor
    client: Actor
    problems: list[Problem] = field(default_factory=list)
    order: tuple[bool, ...] = ()
    passed: int = 0
    acked: int = 0
    reset: bool = False
    killed: bool = False
    broken: bool = False
    excuse: str = ""
    may_end: bool = False
    injected: bool = False
    mark: int = 0
    seconds: float = 0.0
    quiet: bool = True
    trace: list[Traced] = field(default_factory=list)
    met: list[tuple[str, str]] = field(default_factory=list)
    also: list[Run] = field(default_factory=list)
    talks: int = 0
    urgent: set[int] = field(default_factory=set)
    gone: bool = False
    unheard: bool = False
    anew: bool = False
    is_long: bool = False


def outcome(run: Run) -> str:
    """What became of the two applications, in one line."""
    if program_of(run.schedule) is not None:
        return BY_ITSELF
    accepted = {0: "never accepted", 1: "accepted"}.get(
        run.server.accepted, f"accepted {run.server.accepted} times"
    )
    return (
        f"target {accepted}, {_end(run.server, run.client)}; client {_end(run.client, run.server)}"
    )


def _end(reader: Actor, writer: Actor) -> str:
    told = f"got {len(reader.received)} of {len(writer.wrote)} bytes"
    if reader.eof:
        told += " and the end"
    if reader.error:
        told += f", failed with {reader.error}"
    elif not reader.ended:
        told += ", goes on"
    return told
