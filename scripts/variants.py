"""Runs every variant and every row against all cases and the fuzzer, which must blame none.

Writes docs/generated/variants.md with --write. Exits with 1 if a case fails a requirement whose
failure fails a run, if a SHOULD is failed by a variant that gives up none, or if the fuzzer finds
something.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from scapy_tfo.report.tables.variants import variants_markdown
from scapy_tfo.trust.legal import Trial, every_name, tried

PROGRAMS = 5000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a variant or row; default: all")
    parser.add_argument("--programs", type=int, default=PROGRAMS, metavar="N", help="to fuzz with")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table to this file")
    chosen = parser.parse_args()
    trials: list[Trial] = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        names = chosen.names or every_name()
        for trial in pool.map(partial(tried, programs=chosen.programs), names):
            trials.append(trial)
            print(*trial.told(), sep="\n", flush=True)
    if chosen.write is not None:
        chosen.write.write_text(variants_markdown(trials, chosen.programs), encoding="utf-8")
    blamed = [each.name for each in trials if each.blames]
    print(f"{len(trials)} legal stacks, {len(blamed)} of them blamed")
    return int(bool(blamed))


if __name__ == "__main__":
    sys.exit(main())
