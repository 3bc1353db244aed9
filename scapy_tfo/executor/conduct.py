"""The rules of plain TCP, held against all packets of a run once it is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import NamedTuple

from scapy_tfo import tcp_rules
from scapy_tfo.oracle.conduct.conduct import Conduct, Tally
from scapy_tfo.oracle.conduct.history import History
from scapy_tfo.oracle.conduct.isns import Population
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.oracle.replies.dispatch import reply_class
from scapy_tfo.packet import Ends, read
from scapy_tfo.segment import MalformedPacketError, Segment

_SENT, _ERROR, _CAME = range(3)


class _Event(NamedTuple):
    """Something on a flow. state, step: when it came, as in `Violation`. packet: an IP packet, none
    for an ICMP error of ours. number: in the trace."""

    kind: int
    flow: int
    packet: bytes
    at: float = 0.0
    number: int = -1
    state: str = ""
    step: int = -1


class Log:
    """What was sent and heard in one run.

    tally: counts how often each rule applied. ordered, whole: as in `History`.
    """

    def __init__(self, tally: Tally, *, ordered: bool, whole: bool) -> None:
        self._tally = tally
        self._ordered = ordered
        self._whole = whole
        self._events: list[_Event] = []

    def sent(self, flow: int, packet: bytes) -> None:
        """We sent an IP packet, perhaps in fragments."""
        self._events.append(_Event(_SENT, flow, packet))

    def error(self, flow: int) -> None:
        """We sent an ICMP error."""
        self._events.append(_Event(_ERROR, flow, b""))

    def came(self, link: Connection, packet: bytes, at: float, number: int) -> None:
        """An IP packet of the target's came, which its connection does not know of yet. at:
        seconds. number: in the trace."""
        flow = link.index
        self._events.append(_Event(_CAME, flow, packet, at, number, link.state, link.evidence.step))

    def judged(self, ends: Sequence[Ends], excused: Set[int]) -> Iterator[Violation]:
        """What breaks a rule, the first packet of each flow and rule only.

        ends: of the flows. excused: numbers of packets that are known to be wrong.
        """
        population, told = Population(), set()
        flows = [
            Conduct(
                History(each, population, ordered=self._ordered, whole=self._whole), self._tally
            )
            for each in ends
        ]
        for event in self._events:
            conduct = flows[event.flow]
            if event.kind == _ERROR:
                conduct.error()
                continue
            try:
                segment = Segment.from_bytes(event.packet)
            except MalformedPacketError:
                # The model judges whether a packet can be read.
                continue
            if event.kind != _CAME:
                conduct.sent(segment)
                continue
            for found in conduct.came(segment, event.at, event.number):
                if (event.flow, found.rule) in told or event.number in excused:
                    continue
                told.add((event.flow, found.rule))
                yield Violation(
                    requirement=requirement_of(found.rule),
                    rule=found.rule,
                    state=event.state,
                    reply=reply_class(read(event.packet)),
                    flow=event.flow,
                    step=event.step,
                    expected=found.breach.expected,
                    actual=found.breach.actual,
                    packet=event.number,
                )


@cache
def requirement_of(rule: str) -> str:
    """The rule of specs/ that a rule of the oracle judges, the first of several; "" for none."""
    return next((each.id for each in tcp_rules.load().values() if rule in each.rule), "")
