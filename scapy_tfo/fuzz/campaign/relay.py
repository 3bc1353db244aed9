"""The way from a campaign in a process of its own to the store, which its parent holds.

What goes over it are plain values: programs as JSON, violations as tuples, findings as records.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scapy_tfo.fuzz.findings.finding import Finding, from_record, to_record
from scapy_tfo.fuzz.findings.sightings import OpenSighting
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.findings.totals import Part, Totals
from scapy_tfo.fuzz.generation.batches import Kind, Late, Outcome, Sighting, Tally
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Program, dumps, loads, waits

Message = tuple[Any, ...]
"""The name of a method of `Store`, and what it is called with, in plain values."""

_BATCH, _LATE, _VOLLEYS, _COUNT, _WITNESS, _SETTLE = range(6)


def share_of(plan: Plan, index: int, of: int) -> Plan:
    """The part of a plan that one of so many processes sends, `index` from 0: every so manieth of
    its batches."""
    first, step = plan.shard
    return dataclasses.replace(plan, shard=(first + step * index, step * of))


class Relay:
    """See `Keeper`. store: what it stands for, read once, by the parent: a connection to SQLite
    must not be used by two processes. share: the part of its plan that is sent over this.

    send: takes the messages; to be set before anything is kept.
    """

    send: Callable[[Message], None]

    def __init__(self, store: Store, share: Plan) -> None:
        self.plan = share
        self._base = store.base()
        self._findings = store.findings()
        self._known = store.coverage()
        self._finished = {
            part: {
                number: programs
                for number, programs in store.finished(part).items()
                if self._is_ours(number)
            }
            for part in Part
        }
        self._late = [
            each
            for each in store.late(store.late_ones())
            if self._is_ours(each.number // share.batch)
        ]
        self._witnessed: list[Message] = []

    def _is_ours(self, batch: int) -> bool:
        return batch % self.plan.shard[1] == self.plan.shard[0] - 1

    def base(self) -> dict[str, Program]:
        return self._base

    def totals(self) -> Totals:
        """Nothing yet: what the store has is the parent's to count."""
        return Totals(
            batches=0,
            programs=0,
            probes=0,
            singles=0,
            heard=0,
            unjudged={},
            seconds=0.0,
            seeded="",
            mutated="",
        )

    def findings(self) -> list[Finding]:
        return self._findings

    def finished(self, part: Part = Part.BATCH) -> dict[int, int]:
        return dict(self._finished[part])

    def quiet(self) -> float:
        """The parent knows."""
        return 0.0

    def late(self, most: int, longest: float = math.inf) -> list[Late]:
        fit = (each for each in self._late if waits(each.program) <= longest)
        return [each for each, _ in zip(fit, range(most), strict=False)]

    def late_ones(self) -> int:
        return len(self._late)

    def commit(self, batch: Outcome, *, seconds: float, complete: bool = True) -> None:
        tally = self._tally(batch.tally, batch.program)
        late = [_late(each) for each in batch.late]
        self.send((_BATCH, batch.number, batch.taken, late, tally, seconds, complete))
        if complete:
            self._finished[Part.BATCH][batch.number] = batch.taken
            self._late += batch.late

    def commit_late(self, done: Sequence[Late], tally: Tally, *, seconds: float) -> None:
        programs = {each.number: each.program for each in done}
        plain = self._tally(tally, programs.__getitem__)
        self.send((_LATE, [_late(each) for each in done], plain, seconds))
        self._late = [each for each in self._late if each.number not in programs]

    def commit_volleys(self, number: int, tally: Tally, *, seconds: float) -> None:
        self.send((_VOLLEYS, number, self._tally(tally, _no_program), seconds))
        self._finished[Part.VOLLEYS][number] = 0

    def count(self, counters: Mapping[str, int]) -> None:
        self.send((_COUNT, dict(counters)))

    def open_sightings(self) -> list[OpenSighting]:
        """None: the parent confirms and reduces."""
        return []

    def witness(
        self, kind: Kind, number: int, program: Program, expected: str, actual: str
    ) -> None:
        """Goes with the finding, which is made of it here: the parent must not look for it, too."""
        self._witnessed.append((_WITNESS, kind, number, dumps(program), expected, actual))

    def settle(self, kind: Kind, finding: Finding) -> bool:
        is_new = all(each.id != finding.id for each in self._findings)
        self.flush()
        self.send((_SETTLE, kind, to_record(finding)))
        self._findings = [*self._findings, finding]
        return is_new

    def flush(self) -> None:
        """Send what was held back."""
        for each in self._witnessed:
            self.send(each)
        self._witnessed.clear()

    def _tally(self, tally: Tally, program_of: Callable[[int], Program]) -> Message:
        """With the programs that reached something for the first time as far as is known here."""
        known = self._known
        first = {pair: at for pair, at in tally.first.items() if at < known.get(pair, at + 1)}
        known.update(first)
        needed = {*first.values()} | {
            each.number for each in tally.sightings.values() if each.program is None
        }
        counts = {name: getattr(tally, name) for name in _COUNTS}
        seen = [
            (
                kind,
                each.number,
                dataclasses.astuple(each.violation),
                each.count,
                None if each.program is None else dumps(each.program),
            )
            for kind, each in tally.sightings.items()
        ]
        return counts, first, seen, {at: dumps(program_of(at)) for at in needed}


_COUNTS = tuple(
    each.name for each in dataclasses.fields(Tally) if each.name not in ("first", "sightings")
)


@dataclass(slots=True)
class _Received:
    """See `Outcome`."""

    number: int
    taken: int
    tally: Tally
    late: list[Late]
    programs: Mapping[int, str]

    def program(self, number: int) -> Program:
        return loads(self.programs[number])


def kept(store: Store, message: Message, of: int) -> Tally | None:
    """Keep what a relay has sent, one of so many that send at a time; returns the tally in it, if
    there is one.

    Their seconds are those of the clock, so each counts for a part of them.
    """
    kind, *rest = message
    if kind == _BATCH:
        number, taken, late, plain, seconds, complete = rest
        tally, programs = _tally_of(plain)
        received = _Received(number, taken, tally, [_late_of(each) for each in late], programs)
        store.commit(received, seconds=seconds / of, complete=complete)
        return tally
    if kind == _LATE:
        done, plain, seconds = rest
        tally, _ = _tally_of(plain)
        store.commit_late([_late_of(each) for each in done], tally, seconds=seconds / of)
        return tally
    if kind == _VOLLEYS:
        number, plain, seconds = rest
        tally, _ = _tally_of(plain)
        store.commit_volleys(number, tally, seconds=seconds / of)
        return tally
    if kind == _COUNT:
        store.count(rest[0])
    else:
        seen, number, text, expected, actual = rest
        store.witness(seen, number, loads(text), expected, actual)
    return None


def finding_in(message: Message) -> tuple[Kind, Finding] | None:
    """What a message settles, if it does."""
    if message[0] != _SETTLE:
        return None
    return message[1], from_record(message[2])


def _tally_of(plain: Message) -> tuple[Tally, Mapping[int, str]]:
    counts, first, seen, programs = plain
    sightings = {
        kind: Sighting(number, Violation(*violation), count, text and loads(text))
        for kind, number, violation, count, text in seen
    }
    return Tally(**counts, first=first, sightings=sightings), programs


def _no_program(number: int) -> Program:
    """A suspect's program comes with its sighting."""
    raise KeyError(number)


def _late(each: Late) -> Message:
    return each.number, dumps(each.program), each.seeded, each.mutated


def _late_of(plain: Message) -> Late:
    number, text, seeded, mutated = plain
    return Late(number, loads(text), seeded, mutated)
