"""The outcome of a script's run: failures, packets, duration."""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.pkt.packets.difference import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Something that was not as the script says.

    line: of the event, counted from 1; 0: of none. problem: in a few words. expected, actual: the
    two packets, or what else there is, one above the other. differences: each field.
    """

    line: int
    problem: str
    expected: str = ""
    actual: str = ""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Packet:
    """One that was sent to the kernel (inbound) or came from it. when: ns since the epoch."""

    when: int
    inbound: bool
    data: bytes


@dataclass(slots=True)
class Outcome:
    """failures: none, where all was as the script says. seconds: from first event to last.

    flow: `src:port>dst:port` of the connection that the script spoke of last. is_flooded: more
    packets came than were read.
    """

    failures: list[Failure] = field(default_factory=list)
    packets: list[Packet] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    flow: str = ""
    is_flooded: bool = False
