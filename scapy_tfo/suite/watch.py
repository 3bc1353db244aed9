"""Watches every conversation of the cases, and notes which rules of TCP the target breaks."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from scapy_tfo.oracle.conduct.conduct import Conduct, Tally
from scapy_tfo.oracle.conduct.history import History
from scapy_tfo.oracle.conduct.isns import Population
from scapy_tfo.segment import Address, Segment
from scapy_tfo.suite.result import Breach

Key = tuple[Address, int, Address, int]
_KEPT = 5
"""Breaches of one rule by one case that are kept."""


class Watched(Protocol):
    """A conversation. owner: the case, as the capture names it."""

    owner: str

    @property
    def name(self) -> str: ...


class Watch:
    """The rules, and what was found, over all conversations of a run.

    breaches: in the order in which they came, the first ones of each rule and case. ordered: no
    packet overtakes another on the way.
    """

    def __init__(self, *, ordered: bool = False) -> None:
        self._ordered = ordered
        self._population = Population()
        self.tally = Tally()
        self.breaches: list[Breach] = []
        self._met: set[Key] = set()
        self._found: Counter[tuple[str, str]] = Counter()

    def begin(self, key: Key) -> Conduct:
        """A conversation on a 4-tuple begins."""
        history = History(key, self._population, ordered=self._ordered)
        # What comes may belong to the conversation before it.
        history.mixed = key in self._met
        self._met.add(key)
        return Conduct(history, self.tally)

    def came(
        self, flow: Watched, conduct: Conduct, segment: Segment, number: int, at: float
    ) -> None:
        """The target sent a segment. number: of the packet in the capture. at: seconds."""
        for each in conduct.came(segment, at, number):
            self._found[each.rule, flow.owner] += 1
            if self._found[each.rule, flow.owner] > _KEPT:
                continue
            self.breaches.append(
                Breach(
                    rule=each.rule,
                    owner=flow.owner,
                    family=segment.src.version,
                    flow=flow.name,
                    packet=each.packet,
                    expected=each.breach.expected,
                    actual=each.breach.actual,
                )
            )
