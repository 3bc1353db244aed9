"""Judges the packets of one connection by all rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct import (
    acknowledgment,
    congestion,
    ecn,
    handshake,
    header,
    oddities,
    reset,
    sack,
    stream,
    timers,
    timestamps,
)
from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts import conditions
from scapy_tfo.oracle.conduct.parts.rounds import Rounds
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, nothing
from scapy_tfo.oracle.conduct.stream import delivered, tells_of_loss
from scapy_tfo.segment import FIN, RST, SYN, Segment

RULES: tuple[Rule, ...] = (
    *header.RULES,
    *handshake.RULES,
    *stream.RULES,
    *acknowledgment.RULES,
    *timestamps.RULES,
    *sack.RULES,
    *oddities.RULES,
    *reset.RULES,
    *ecn.RULES,
    *timers.RULES,
    *congestion.RULES,
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
        self._due: list[tuple[int, Due]] = []
        self._told: list[Broken] = []

    def sent(self, segment: Segment, at: float | None = None) -> None:
        """The peer sent a segment, right or wrong. at: seconds, None where nobody knows."""
        history = self.history
        history.learn_sent(segment, at)
        if self._due and not history.peer.plain:
            late = -math.inf if at is None else at - history.grace
            self._due = [each for each in self._due if not each[1].plain or each[1].by < late]
        if at is None or not _tells_silence(history):
            return
        for number, owes in owed(conditions.of_sent(history, segment)):
            due = owes(history, segment, at)
            if due is not None:
                self._due.append((number, due))

    def error(self, error: IcmpError | None = None, at: float | None = None) -> None:
        """An ICMP error was sent to the end that is judged. None: which is not known."""
        self.history.learn_error(error, at)
        self._due.clear()

    def reads(self, reads: bool, *, after: float = 0.0) -> None:
        """The application of the judged end stops to read, or reads again. after: so many seconds
        after what the peer sent last."""
        history = self.history
        history.reads = reads
        best = history.best
        history.stopped = best.ack if best is not None and not reads else None
        history.stopped_window = (history.edge or 0) - (history.stopped or 0)
        sent_at = history.peer.sent_at
        history.reads_since = sent_at + after if reads and sent_at is not None else None

    def writes(self, writes: bool) -> None:
        """Whether the application of the judged end has text that waits for room."""
        self.history.writes = writes

    def got(self, text: bytes, written: bytes) -> None:
        """What the application of the judged end has got, now that all is over. written: what the
        peer's wrote."""
        self._settle("text-not-delivered", delivered(self.history, text, written))

    def left(self, text: bytes) -> None:
        """The same, where that application had closed before all came."""
        self._settle("loss-untold", tells_of_loss(self.history, text))

    def closes(self) -> None:
        """The application of the judged end closes as soon as it has written."""
        self.history.closes = True

    def has_more(self) -> None:
        """The application of the judged end has written more text than any window lets out."""
        self.history.has_more = True

    def avoids(self, flight: int) -> None:
        """The judged end has recovered from a loss that it noticed when so many bytes were under
        way, and avoids congestion as in RFC 5681."""
        history = self.history
        threshold = flight // 2 + 2 * history.largest
        history.rounds = Rounds(flight, threshold, history.theirs.end)

    def has_no_reason_to_slow(self, flight: int) -> None:
        """So many bytes were under way when all before them was acknowledged at once. The same is
        done again, and nothing between that tells of a loss."""
        history = self.history
        history.rounds = Rounds(flight, 0, history.theirs.end, lossless=True)

    def _settle(self, name: str, judged: Judged) -> None:
        number = _NUMBERS[name]
        if judged is False:
            return
        self._tally.applied[number] += 1
        if judged is not True:
            self._tally.broken[number] += 1
            self._told.append(Broken(RULES[number].name, 0, judged))

    def came(self, segment: Segment, at: float, packet: int) -> Sequence[Broken]:
        """The judged end sent a segment; the rules that it breaks. at: seconds."""
        history, applied = self.history, self._tally.applied
        came = history.read(segment, at, packet)
        history.learn_label(segment)
        history.learn_identification(came)
        flags = segment.flags
        kind = "r" if flags & RST else "s" if flags & SYN else "a"
        found = self._settled(came) if self._due else []
        judges, duties = asked(kind, conditions.of_came(history, came))
        for number, judge in judges:
            judged = judge(history, came)
            if judged is True:
                applied[number] += 1
            elif judged is not False:
                applied[number] += 1
                self._tally.broken[number] += 1
                found.append(Broken(RULES[number].name, packet, judged))
        for number, owes in duties if _tells_silence(history) else ():
            due = owes(history, came)
            if due is not None:
                self._due.append((number, due))
        history.learn_came(came)
        if flags & FIN and history.iss is not None and history.closed_first:
            history.population.ended(history.key, history.iss, history.theirs.end, at)
        return found

    def _settled(self, came: Came) -> list[Broken]:
        """What a segment is too late for; what it settles is owed no more."""
        found = self.waited(came.at, came.number)
        rest = []
        for number, due in self._due:
            if due.meets(came):
                self._tally.applied[number] += 1
            elif not came.flags & RST:
                # Nothing is owed on a connection that is reset.
                rest.append((number, due))
        self._due = rest
        return found

    def waited(self, at: float, packet: int = 0) -> list[Broken]:
        """It is so late: what has not come by then. at: seconds. packet: that tells it, if any."""
        found, self._told = self._told, []
        latest = at - self.history.grace
        late = [each for each in self._due if each[1].by < latest]
        self._due = [each for each in self._due if each[1].by >= latest]
        for number, due in late:
            if due.waived() or not self.history.is_timed(due.since):
                continue
            self._tally.applied[number] += 1
            self._tally.broken[number] += 1
            found.append(Broken(RULES[number].name, packet, Breach(due.expected, "nothing so far")))
        return found


def _tells_silence(history: History) -> bool:
    """Whether what does not come was not sent."""
    known = history.ordered and history.complete
    return known and not (history.mixed or history.opens)


_NUMBERS = {rule.name: number for number, rule in enumerate(RULES)}


def _needs(rule: Rule) -> int:
    """All conditions that a rule needs of a segment that comes."""
    also = (
        (rule.complete, conditions.COMPLETE),
        (rule.ordered, conditions.ORDERED),
        (rule.numbers, conditions.COMPARABLE),
        (rule.listens, conditions.LISTENS),
        (rule.contents, conditions.CONTENTS),
        (rule.whole, conditions.WHOLE),
        (rule.options, conditions.OPTIONS),
        (rule.text, conditions.TEXT),
    )
    return rule.needs | sum(bit for is_needed, bit in also if is_needed)


NEEDS = tuple(map(_needs, RULES))
Owed = tuple[tuple[int, Callable[[History, Segment, float], Due | None]], ...]
Asked = tuple[
    tuple[tuple[int, Callable[[History, Came], Judged]], ...],
    tuple[tuple[int, Callable[[History, Came], Due | None]], ...],
]
_REMEMBERED = 4096
"""Sets of conditions that are remembered."""


@lru_cache(_REMEMBERED)
def owed(holds: int) -> Owed:
    """What may be owed after a segment of the peer, with the numbers of the rules. holds: the
    conditions that do."""
    return tuple(
        (number, rule.owes)
        for number, rule in enumerate(RULES)
        if rule.owes is not None and not rule.needs & ~holds
    )


@lru_cache(_REMEMBERED)
def asked(kind: str, holds: int) -> Asked:
    """The rules that may apply to such a segment of such a connection, and what may be owed after
    it, with the numbers of the rules. holds: the conditions that do."""
    chosen = [
        (number, rule)
        for number, (rule, needs) in enumerate(zip(RULES, NEEDS, strict=True))
        if kind in rule.on and not needs & ~holds
    ]
    return (
        tuple((number, rule.judge) for number, rule in chosen if rule.judge is not nothing),
        tuple((number, rule.owes_after) for number, rule in chosen if rule.owes_after is not None),
    )
