"""Runs all cases and some programs at the reference and at Linux, and writes how often each rule of
the oracle applied.

Exits with 1 if a rule is broken.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

from scapy_tfo import tcp_rules
from scapy_tfo.executor.live.bench import LiveBench
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.grammar import sent_for
from scapy_tfo.report.tables.watched import Counts, watched_markdown
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request, run

TARGETS = ("sim:reference", "lab:linux")
PROOFS = Path(__file__).parent.parent / "docs" / "generated" / "rule-mutants.json"
PROGRAMS = 4000
"""Of the fuzzer, at each target."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "targets", nargs="*", default=list(TARGETS), metavar="TARGET", help="sim:NAME or lab:linux"
    )
    parser.add_argument("--programs", type=int, default=PROGRAMS, metavar="N", help="to fuzz with")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page to this file")
    chosen = parser.parse_args()
    cases, fuzz = {}, {}
    broken: list[str] = []
    for target in chosen.targets:
        done = run(Request(target=target, options=Options(slow=True, capture=False)))
        cases[f"cases, `{target}`"] = done.watched
        broken += [f"{target}: {each}" for each in done.breaches]
        counts, found = fuzzed(target, chosen.programs)
        fuzz[f"fuzz, `{target}`"] = counts
        broken += [f"{target}: {each}" for each in found]
        print(
            f"{target}: {len(done.watched)} rules exercised by cases, "
            f"{sum(map(bool, counts.values()))} by programs, "
            f"{len(done.breaches) + len(found)} breaches"
        )
    print(*broken, sep="\n")
    if chosen.write is not None:
        proofs = json.loads(PROOFS.read_text(encoding="utf-8"))
        page = watched_markdown(tcp_rules.load(), {**cases, **fuzz}, proofs)
        chosen.write.write_text(page, encoding="utf-8")
    return int(bool(broken))


def fuzzed(target: str, programs: int) -> tuple[Counts, list[str]]:
    """How often each rule applied to programs, and what broke one, in lines."""
    live = target == "lab:linux"
    with closing(LiveBench.lab() if live else SimulatedBench(target)) as bench:
        profile = "live" if live else "sim"
        made = ((seed, sent_for(seed, profile)) for seed in range(programs))
        suspects = [number for number, verdict in bench.run(made) if verdict.violations]
        # A busy host may be late for one of many; alone it has time.
        found = [
            f"program {number}: {each}"
            for number in suspects
            for each in bench.trace(sent_for(number, profile))[0].violations
        ]
        return bench.counts.applied, found


if __name__ == "__main__":
    sys.exit(main())
