"""Whether each mutant gets live, through the kernel, the verdicts that it gets in simulation.

`python scripts/compare.py [NAME ...] [--jobs N] [--families 4|6|46]`; all stacks by default.
Exits with 1 where a verdict differs or a stack could not be judged, with 2 where the host does
not allow it.
"""

from __future__ import annotations

import argparse
import sys
import time

from scapy_tfo.errors import SetupError
from scapy_tfo.suite.compare import LIMIT, compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="reference, or a mutant's name")
    parser.add_argument("--jobs", type=int, metavar="N", help="stacks at a time")
    parser.add_argument("--families", choices=("4", "6", "46"), default="46")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one stack")
    chosen = parser.parse_args()
    began = time.perf_counter()
    stacks = compared = failed = differing = stopped = 0
    for found in compare(
        chosen.names or None,
        families=[int(each) for each in chosen.families],
        processes=chosen.jobs,
        limit=chosen.limit,
    ):
        stacks += 1
        compared += found.compared
        failed += found.failed
        differing += len(found.differences)
        stopped += bool(found.stopped)
        told = found.stopped or f"{found.compared} verdicts, {found.failed} of them FAIL"
        print(f"{found.stack}: {told}, {len(found.differences)} differ ({found.seconds:.1f} s)")
        for each in found.differences:
            print(f"    {each.live.case} [ipv{each.live.family}]")
            for where, result in (("simulated", each.simulated), ("live", each.live)):
                print(f"        {where}: {result.verdict}, {result.reason or '-'}", flush=True)
    seconds = time.perf_counter() - began
    print(
        f"{stacks} stacks, {compared} verdicts each way, {failed} of them FAIL: "
        f"{differing} differ, {stopped} stacks could not be judged; {seconds:.0f} s"
    )
    return int(bool(differing or stopped))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        print(f"compare: {error}", file=sys.stderr)
        sys.exit(2)
