"""Judges paths with random middleboxes, and compares what is said with what the boxes did.

`python scripts/fuzz_paths.py [--number N] [--first SEED] [--jobs N] [--show]` prints how many
boxes touched nothing, how many were called what, and each wrong word. Exits with 1 if there is
one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from scapy_tfo.path.fuzzing import Judged, judged


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--number", type=int, default=1000, metavar="N", help="boxes to judge")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first one's seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="at a time")
    parser.add_argument("--show", action="store_true", help="print what is said of each")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.number)
    said: Counter[str] = Counter()
    idle = wrong = broken = 0
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for each in pool.map(judged, seeds, chunksize=4):
            said[each.verdict] += 1
            idle += each.idle
            broken += each.broken > 0
            wrong += bool(each.wrong)
            if each.wrong or chosen.show:
                _show(each)
    print(f"{chosen.number} boxes; {idle} touched no packet, {broken} left a connection not whole")
    print("; ".join(f"{verdict}: {times}" for verdict, times in said.most_common()))
    print(f"boxes of which something wrong was said: {wrong}")
    return 1 if wrong else 0


def _show(each: Judged) -> None:
    print(f"{each.name}: {each.summary}")
    print(f"  {each.verdict}, {each.broken} connections not whole")
    for says in each.says:
        print(f"  {says}")
    for word in each.wrong:
        print(f"  WRONG: {word}")


if __name__ == "__main__":
    sys.exit(main())
