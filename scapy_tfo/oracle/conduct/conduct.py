"""Judges the packets of one connection by all rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from scapy_tfo.oracle.conduct import (
    acknowledgment,
    ecn,
    handshake,
    header,
    reset,
    sack,
    stream,
    timers,
    timestamps,
)
from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Breach, Judged, Rule
from scapy_tfo.segment import FIN, RST, SYN, Segment

RULES: tuple[Rule, ...] = (
    *header.RULES,
    *handshake.RULES,
    *stream.RULES,
    *acknowledgment.RULES,
    *timestamps.RULES,
    *sack.RULES,
    *reset.RULES,
    *ecn.RULES,
    *timers.RULES,
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule, the packet that breaks it by its number in the capture, and what is wrong with it."""

    rule: str
    packet: int
    breach: Breach


class Tally:
    """How often each rule applied, and how often it was broken, by its place in `RULES`."""

    __slots__ = ("applied", "broken")

    def __init__(self) -> None:
        self.applied = [0] * len(RULES)
        self.broken = [0] * len(RULES)

    @property
    def by_name(self) -> dict[str, int]:
        """Times that each rule applied, of those that did."""
        return {rule.name: count for rule, count in zip(RULES, self.applied, strict=True) if count}


class Conduct:
    """One connection under the rules, see `History`."""

    def __init__(self, history: History, tally: Tally) -> None:
        self.history = history
        self._tally = tally

    def sent(self, segment: Segment) -> None:
        """The peer sent a segment, right or wrong."""
        self.history.learn_sent(segment)

    def error(self) -> None:
        """An ICMP error was sent to the end that is judged."""
        self.history.learn_error()

    def came(self, segment: Segment, at: float, packet: int) -> Sequence[Broken]:
        """The judged end sent a segment; the rules that it breaks. at: seconds."""
        history, applied = self.history, self._tally.applied
        came = history.read(segment, at, packet)
        flags = segment.flags
        kind = "r" if flags & RST else "s" if flags & SYN else "a"
        text = bool(segment.payload or flags & FIN)
        found: list[Broken] = []
        for number, judge in _rules(
            kind,
            bool(came.every),
            text,
            history.mixed,
            history.complete,
            history.ordered,
            history.opens,
            history.contents,
            history.whole,
        ):
            judged = judge(history, came)
            if judged is False:
                continue
            applied[number] += 1
            if judged is not True:
                self._tally.broken[number] += 1
                found.append(Broken(RULES[number].name, packet, judged))
        history.learn_came(came)
        return found


@cache
def _rules(
    kind: str,
    options: bool,
    text: bool,
    mixed: bool,
    complete: bool,
    ordered: bool,
    opens: bool,
    contents: bool,
    whole: bool,
) -> tuple[tuple[int, Callable[[History, Came], Judged]], ...]:
    """The rules that may apply to such a segment of such a connection, with their numbers."""
    return tuple(
        (number, rule.judge)
        for number, rule in enumerate(RULES)
        if kind in rule.on
        and (options or not rule.options)
        and (text or not rule.text)
        and not (mixed and rule.numbers)
        and (complete or not rule.complete)
        and (ordered or not rule.ordered)
        and not (opens and rule.listens)
        and (contents or not rule.contents)
        and (whole or not rule.whole)
    )
