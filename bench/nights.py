"""Shows what a campaign gains from the one before: nights that go on, against one that is as long.

    python bench/nights.py [--nights N] [--programs N] [TARGET...]

Each of N nights (8) sends so many programs (1,024) of another seed, and begins with the corpus of
the night before. The long one sends as many as all of them, without a corpus, and mutates what
reached a new state or class of reply alone (`--coverage none`). Printed are the edges and pairs of
edges that each covered, and the confirmed findings. Programs are counted, not seconds, so that
other work of the machine changes nothing. Targets are whatever `scapy-tfo fuzz` takes; by default
the reference and a mutant.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from scapy_tfo.executor.target_coverage import TARGET
from scapy_tfo.executor.verdict import TracedPacket, Verdict
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.campaign.shard import Job
from scapy_tfo.fuzz.findings.finding import Status
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.grammar import program_for
from scapy_tfo.fuzz.generation.plan import AUTO, NONE
from scapy_tfo.program.program import Program
from scapy_tfo.targets.benches import ProfiledBench, open_bench

TARGETS = ("sim:reference", "sim:accepts-any-cookie")


class Watched:
    """A bench that notes what is covered, also where the campaign does not ask for it. seen: its
    names, those of the target's own code among them."""

    def __init__(self, bench: ProfiledBench) -> None:
        self._bench = bench
        self.name, self.families = bench.name, bench.families
        self.counts, self.profile = bench.counts, bench.profile
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bench, name)

    def run(self, programs: Iterable[tuple[int, Program]]) -> Iterator[tuple[int, Verdict]]:
        counts = self.counts
        wanted, counts.edges, counts.target = counts.edges, True, True
        for number, verdict in self._bench.run(programs):
            self.seen |= verdict.edges
            yield number, verdict if wanted else replace(verdict, edges=frozenset())

    def trace(self, program: Program) -> tuple[Verdict, Sequence[TracedPacket]]:
        return self._bench.trace(program)

    def alive(self) -> str:
        return self._bench.alive()

    def counters(self) -> dict[str, int]:
        return self._bench.counters()

    def close(self) -> None:
        self._bench.close()

    @property
    def told(self) -> str:
        branches = sum(each.startswith(TARGET) for each in self.seen)
        more = f" and {branches:,} pairs of branches of its own code" if branches else ""
        return f"{len(self.seen) - branches:,} reached{more}"


def night(
    bench: Watched, path: Path, seed: int, programs: int, base: dict[str, Program], coverage: str
) -> tuple[dict[str, Program], set[str]]:
    """Run one; its corpus, and the ids of what it found."""
    job = Job(target=bench.name, seed=seed, base=base, coverage=coverage)
    with closing(Store.create(path, job.plan(bench, (1, 1)), base)) as store:
        Campaign(store, program_for, bench, lambda: bench, programs=programs).run()
        found = {each.id for each in store.findings() if each.status is Status.CONFIRMED}
        return store.corpus(), found


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET")
    parser.add_argument("--nights", type=int, default=8)
    parser.add_argument("--programs", type=int, default=1024)
    chosen = parser.parse_args()
    for target in chosen.targets:
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            chain, corpus, findings = Watched(open_bench(target)), dict[str, Program](), set[str]()
            for number in range(chosen.nights):
                path = place / f"{number}.sqlite"
                corpus, found = night(chain, path, number, chosen.programs, corpus, AUTO)
                findings |= found
                told = f"{chain.told}, {len(findings)} findings"
                print(f"{target}: night {number + 1}: {told}", flush=True)
            chain.close()
            long = Watched(open_bench(target))
            total = chosen.nights * chosen.programs
            _, found = night(long, place / "long.sqlite", 0, total, {}, NONE)
            print(
                f"{target}: one of {total:,} programs: {long.told}, {len(found)} findings",
                flush=True,
            )
            long.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
