"""The rules of plain TCP, held against all packets of a run once it is over."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from scapy_tfo import tcp_rules
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import Broken, Conduct, Tally
from scapy_tfo.oracle.conduct.history import History, Population
from scapy_tfo.oracle.parts.rules import new_watch
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.oracle.registry import applied
from scapy_tfo.oracle.replies.dispatch import reply_class
from scapy_tfo.packet import Ends, read
from scapy_tfo.segment import MalformedPacketError, Segment
from scapy_tfo.spec import Level

_SENT, _ERROR, _CAME = range(3)

_BINDING = (Level.MUST, Level.STEP, Level.ROBUST)
"""What a right stack may do otherwise is no finding."""

_OF_FAST_OPEN = {
    "number-of-syn-ack": ("number", "ACC-10"),
    "fast-open-elsewhere": ("option", "SRV-8"),
    "sack-not-agreed": ("blocks", "AFT-11"),
    "block-of-nothing": ("blocks", "AFT-11"),
}
"""Rules that a requirement of fast open says more about: group in attribution.py, and default."""


class _Event(NamedTuple):
    """Something on a flow. state, step: when it came, as in `Violation`. packet: an IP packet. at:
    seconds, None where that is not known. number: in the trace."""

    kind: int
    flow: int
    packet: bytes
    at: float | None = None
    number: int = -1
    state: str = ""
    step: int = -1


class Counts:
    """How often each rule of the oracle applied at a target: of the model, and of traffic.

    every: those of traffic are held against one program in so many, by number, and against none
    where it is 0. A program that is traced has the number 0. always: origins of programs that they
    are held against all the same, unless `every` is 0. edges: whether what programs cover
    is noted, too; target: and what the target executes of its code, where that can be seen;
    slowly: also where that takes much more time.
    """

    def __init__(self, every: int = 1, *, edges: bool = False) -> None:
        self.edges = edges
        self.target = self.slowly = False
        self.model = new_watch()
        self.tally = Tally()
        self.every = every
        self.always: Container[str] = ()

    def log(
        self, number: int, origin: str, *, ordered: bool, whole: bool, timed: bool = False
    ) -> Log | None:
        """Of the program with this number and origin; None where it is not judged. The others: as
        of `Log`."""
        if not self.every or (number % self.every and origin not in self.always):
            return None
        return Log(self.tally, ordered=ordered, whole=whole, timed=timed)

    @property
    def applied(self) -> dict[str, int]:
        """How often each rule applied, by its id."""
        return applied(self.model, self.tally)


class Log:
    """What was sent and heard in one run.

    tally: counts how often each rule applied. ordered, whole: as in `History`. timed: what is sent
    is there at once, so that its time tells what is late.
    """

    def __init__(self, tally: Tally, *, ordered: bool, whole: bool, timed: bool = False) -> None:
        self._tally = tally
        self._timed = timed
        self._ordered = ordered
        self._whole = whole
        self._events: list[_Event] = []

    def sent(self, flow: int, packet: bytes, at: float) -> None:
        """We sent an IP packet, perhaps in fragments. at: seconds."""
        self._events.append(_Event(_SENT, flow, packet, at if self._timed else None))

    def error(self, flow: int, packet: bytes, at: float) -> None:
        """We sent an ICMP error. at: seconds."""
        self._events.append(_Event(_ERROR, flow, packet, at if self._timed else None))

    def came(self, link: Connection, packet: bytes, at: float, number: int) -> int:
        """An IP packet of the target's came, which its connection does not know of yet; its number.
        at: seconds. number: in the trace, or -1 for another one that orders packets."""
        number = len(self._events) if number < 0 else number
        flow, step = link.index, link.evidence.step
        self._events.append(_Event(_CAME, flow, packet, at, number, link.state, step))
        return number

    def judged(
        self, links: Sequence[Connection], ends: Sequence[Ends], known: Sequence[Violation]
    ) -> list[Violation]:
        """All violations in the order of their packets: those that are known, and of each rule that
        binds the first on each flow.

        links, ends: of the flows. The model knows more of what is wrong with a packet that it calls
        wrong, and behind a silence, but for what these rules have taken over from it.
        """
        excused = {each.packet for each in known}
        silent = {each.flow: each.step for each in reversed(known) if each.packet < 0}
        found = [
            each
            for each in self._broken(links, ends)
            if each.rule in _OF_FAST_OPEN
            or (each.packet not in excused and each.step < silent.get(each.flow, each.step + 1))
        ]
        return sorted((*found, *known), key=lambda each: (each.step, each.packet < 0, each.packet))

    def _broken(self, links: Sequence[Connection], ends: Sequence[Ends]) -> Iterator[Violation]:
        told = set[tuple[int, str]]()
        found = list(self._breaches(ends, self._tally))
        # Whether the target reads what an odd or old segment acknowledges, nobody knows.
        either_way = {
            (event.flow, each.rule)
            for event, each in (self._breaches(ends, Tally(), wary=True) if found else ())
        }
        for event, each in found:
            requirement, kind = _requirement(links[event.flow], each.rule), (event.flow, each.rule)
            if not requirement or kind in told or kind not in either_way:
                continue
            told.add(kind)
            yield Violation(
                requirement=requirement,
                rule=each.rule,
                state=event.state,
                reply=reply_class(read(event.packet)),
                flow=event.flow,
                step=event.step,
                expected=each.breach.expected,
                actual=each.breach.actual,
                packet=event.number,
            )

    def _breaches(
        self, ends: Sequence[Ends], tally: Tally, *, wary: bool = False
    ) -> Iterator[tuple[_Event, Broken]]:
        """What breaks the rules, with the packet by which it is known. wary: as in `History`."""
        population = Population()
        known = {"ordered": self._ordered, "whole": self._whole, "wary": wary}
        flows = [Conduct(History(each, population, **known), tally) for each in ends]
        for event in self._events:
            conduct = flows[event.flow]
            if event.kind == _ERROR:
                conduct.error(IcmpError.from_bytes(event.packet), event.at)
                continue
            try:
                segment = Segment.from_bytes(event.packet)
            except MalformedPacketError:
                # The model judges whether a packet can be read.
                continue
            if event.kind != _CAME:
                conduct.sent(segment, event.at)
                continue
            assert event.at is not None
            for found in conduct.came(segment, event.at, event.number):
                yield event, found


def _requirement(link: Connection, rule: str) -> str:
    """What a breach of a rule violates; "" if it is nothing that binds."""
    if rule in _OF_FAST_OPEN:
        return link.clause(*_OF_FAST_OPEN[rule])
    return _binding().get(rule, "")


@cache
def _binding() -> dict[str, str]:
    """The first rule of specs/ that binds, by each rule of the oracle that judges it."""
    found: dict[str, str] = {}
    for each in tcp_rules.load().values():
        if each.level in _BINDING:
            for rule in each.rule:
                found.setdefault(rule, each.id)
    return found
