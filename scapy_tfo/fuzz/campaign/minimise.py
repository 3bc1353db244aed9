"""Makes a corpus smaller that covers as much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scapy_tfo.executor.bench import Bench
from scapy_tfo.program.fingerprint import text_hash
from scapy_tfo.program.program import Program


def minimised(bench: Bench, programs: Iterable[Program]) -> tuple[list[Program], int]:
    """Few and short programs that together cover what all of them cover at a target, and the number
    of states, edges and pairs that is.

    For each of these, the rarest first, the shortest program that covers it is taken, unless one
    that is taken already does. Raises TargetError where the target has gone.
    """
    some = {text_hash(repr(each)): each for each in programs}
    ordered = [some[each] for each in sorted(some)]
    counts = bench.counts
    wanted, counts.edges, counts.target = counts.edges, True, True
    try:
        covered = dict(_covered(bench, ordered))
    finally:
        counts.edges, counts.target = wanted, False
    by_name: dict[str, list[int]] = {}
    for number in sorted(covered):
        for name in covered[number]:
            by_name.setdefault(name, []).append(number)
    kept: set[int] = set()
    for name in sorted(by_name, key=lambda name: (len(by_name[name]), name)):
        if kept.isdisjoint(by_name[name]):
            kept.add(min(by_name[name], key=lambda number: (len(ordered[number].steps), number)))
    return [ordered[number] for number in sorted(kept)], len(by_name)


def _covered(bench: Bench, programs: list[Program]) -> Iterator[tuple[int, frozenset[str]]]:
    for number, verdict in bench.run(enumerate(programs)):
        yield number, verdict.reached | verdict.edges
