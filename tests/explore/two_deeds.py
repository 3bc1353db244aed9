"""Wrong stacks, written from the RFCs, each of which takes two legal deeds to tell."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from scapy_tfo import seq
from scapy_tfo.mutants.registry import Mutant
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.parts.ecn import Ecn
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import EndOfStream, State
from scapy_tfo.segment import CWR, URG, Segment
from scapy_tfo.variants.registry import stack_of

_STEP = 10_000
_OLD = 256
"""Connections that a stack remembers something of."""


class ReductionHidesMarks(PassiveConnection):
    """CE on a segment with CWR is not echoed (RFC 3168 section 6.1.3)."""

    def agree_on_ecn(self) -> None:
        super().agree_on_ecn()

        class Deaf(Ecn):
            def heard(self, segment: Segment) -> bool:
                if segment.flags & CWR:
                    segment = replace(segment, traffic_class=0)
                return super().heard(segment)

        self.congestion = Deaf(self.send.iss)
        self.dressings = (self.congestion.dress, *self.dressings[1:])


class MarksBehindGapsAreLost(PassiveConnection):
    """CE on a segment behind a gap is not echoed (RFC 3168 section 6.1.3)."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.seq != self.recv.nxt:
            segment = replace(segment, traffic_class=0)
        super().other_arrives(segment, now)


class SecondSoftErrorAborts(PassiveConnection):
    """A soft error after another one ends a connection (RFC 1122 4.2.3.9)."""

    told = 0

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard, now=now)
        if not hard and self.is_synchronized:
            self.told += 1
            if self.told > 1:
                self.fail(error, now)


class SoftErrorStopsRetransmission(PassiveConnection):
    """A soft error while the peer's window is closed ends a connection (RFC 1122 4.2.3.9)."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        super().unreachable(error, hard=hard, now=now)
        if self.is_synchronized and not self.send.wnd:
            self.fail(error, now)


class UrgentTextByTheByte(PassiveConnection):
    """A segment of one byte before an urgent pointer far ahead is dropped (RFC 9293 3.8.5)."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if not (self.urgent and len(payload) == 1):
            super().take_text(start, payload, fin)

    urgent = False

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        self.urgent = bool(segment.flags & URG) and segment.urgent > len(segment.payload)
        super().text_arrives(segment, start, now)


class FinOfEarlyTextEndsAtOnce(PassiveConnection):
    """The FIN of a segment with text that comes before its time is told at once (RFC 9293 section
    3.10.7.4)."""

    def take_text(self, start: int, payload: bytes, fin: bool) -> None:
        if fin and payload and seq.before(self.recv.nxt, start):
            self.tell(EndOfStream(self))
        super().take_text(start, payload, fin)


class AgedByAStep(PassiveConnection):
    """A keep-alive whose timestamp is far ahead of the last one is not answered (RFC 7323 5.3)."""

    stepped = False

    def passes_paws(self, segment: Segment, now: float) -> bool:
        times = segment.timestamps
        if times is not None and self.timestamps:
            ahead = seq.distance(self.recv.ts_recent, times[0])
            self.stepped = self.stepped or ahead > _STEP
        return super().passes_paws(segment, now)

    def unacceptable_arrives(self, segment: Segment, now: float) -> None:
        if not self.stepped:
            super().unacceptable_arrives(segment, now)


class GapOfANeighbour(Stack):
    """While a connection holds text behind a gap, SYNs are dropped (RFC 9293 section 3.10.7.2)."""

    def segment_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_syn and any(each.recv.has_gap for each in self.connections.values()):
            return
        super().segment_arrives(segment, now)


class UrgencyOutlivesTheConnection(Stack):
    """After urgent text the next connection of the same two ends is refused (RFC 9293 3.8.5)."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ends: list[tuple[object, int]] = []

    def segment_arrives(self, segment: Segment, now: float) -> None:
        ends = segment.src, segment.sport
        if segment.flags & URG:
            self.ends = [*self.ends[-_OLD:], ends]
        if segment.is_syn and ends in self.ends and not self._knows(segment):
            self.refuse(segment)
            return
        super().segment_arrives(segment, now)

    def _knows(self, segment: Segment) -> bool:
        ends = segment.dst, segment.dport, segment.src, segment.sport
        known: Connection | None = self.connections.get(ends)
        return known is not None and known.state is not State.TIME_WAIT


def _mutant(part: type[Any]) -> Mutant:
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", part.__name__).lower()
    return Mutant(
        name=name,
        breaks="",
        description=" ".join((part.__doc__ or "").split()),
        stack=stack_of((part,)),
        settings=Settings(),
    )


WRONG = {
    each.name: each
    for each in map(
        _mutant,
        (
            ReductionHidesMarks,
            MarksBehindGapsAreLost,
            SecondSoftErrorAborts,
            SoftErrorStopsRetransmission,
            UrgentTextByTheByte,
            FinOfEarlyTextEndsAtOnce,
            AgedByAStep,
            GapOfANeighbour,
            UrgencyOutlivesTheConnection,
        ),
    )
}
"""Every one, by name."""
