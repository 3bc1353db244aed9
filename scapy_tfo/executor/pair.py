"""Two targets as one bench: sends each program to both, and reports where they differ."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from scapy_tfo.executor.bench import Bench
from scapy_tfo.executor.conduct import Counts
from scapy_tfo.executor.differences import difference
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.program.program import Program, waits

AGAINST = " against "
"""Between the names of two targets."""

FEW, AT_ONCE = 32, 512
"""Programs that one target is given before the other: at first, and at most."""

QUICK = 1.0
"""Seconds that both targets may take for so many before fewer are given: a campaign whose time is
over waits for those that were given."""

LONGEST = 10.0
"""Seconds that a program may wait where a target is live: each wait is waited for twice, and many
times when a difference is reduced."""

_END = "finish"
_TOO_LONG = Verdict(unjudged="it waits for too long to be compared")


class PairBench:
    """See `Bench`. first: the target; second: what it is compared with; both watch their runs.

    A program that is not to end by showing that each flow still works does so all the same: what
    a stack did unseen shows there.
    """

    def __init__(self, first: Bench, second: Bench, profile: Profile) -> None:
        self.name = f"{first.name}{AGAINST}{second.name}"
        self.families = tuple(each for each in first.families if each in second.families)
        self.profile = profile
        self._benches = first, second
        # Two targets are compared by what comes, not judged.
        self.counts = first.counts = second.counts = Counts(every=0)

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        source, at_once = iter(programs), FEW
        while some := list(islice(source, at_once)):
            began = time.monotonic()
            short = [(number, _shown(each)) for number, each in some if not self._is_long(each)]
            ours, theirs = (dict(bench.run(short)) for bench in self._benches)
            quick = time.monotonic() - began < QUICK
            at_once = min(2 * at_once, AT_ONCE) if quick else max(at_once // 2, FEW)
            for number, _ in some:
                is_short = number in ours and number in theirs
                yield number, _compared(ours[number], theirs[number]) if is_short else _TOO_LONG

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        """The packets of the first target, then those of the other, marked so."""
        first, second = self._benches
        if self._is_long(program):
            return _TOO_LONG, ()
        ours, packets = first.trace(_shown(program))
        theirs, others = second.trace(_shown(program))
        marked = [replace(each, other=True) for each in others]
        return _compared(ours, theirs), (*packets, *marked)

    def alive(self) -> str:
        for bench in self._benches:
            ill = bench.alive()
            if ill:
                return f"{bench.name}: {ill}"
        return ""

    def counters(self) -> dict[str, int]:
        return self._benches[0].counters()

    def close(self) -> None:
        for bench in self._benches:
            bench.close()

    def _is_long(self, program: Program) -> bool:
        return not self.profile.fresh and waits(program) > LONGEST


def _shown(program: Program) -> Program:
    return program if program.end == _END else replace(program, end=_END)


def _compared(ours: Verdict, theirs: Verdict) -> Verdict:
    unjudged = ours.unjudged or theirs.unjudged
    found = None if unjudged else difference(ours, theirs)
    return Verdict(
        violations=() if found is None else (found,),
        reached=ours.reached | theirs.reached,
        edges=ours.edges | theirs.edges,
        sent=ours.sent + theirs.sent,
        heard=ours.heard + theirs.heard,
        unjudged=unjudged,
    )
