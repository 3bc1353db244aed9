"""Checks that each mutant gets the same verdicts live, through the kernel, as in simulation.

`python scripts/compare.py [NAME ...] [--jobs N] [--families 4|6|46]`; all stacks by default.
Exits with 1 if a verdict differs and repetition does not explain it, if a stack could not be
judged, or if a mutant that fails in simulation fails nothing live; with 2 if the host does not
allow it.
"""

from __future__ import annotations

import argparse
import sys
import time

from scapy_tfo.errors import SetupError
from scapy_tfo.trust.compare import LIMIT, Comparison, compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="reference, or a mutant's name")
    parser.add_argument("--jobs", type=int, metavar="N", help="stacks at a time")
    parser.add_argument("--families", choices=("4", "6", "46"), default="4")
    parser.add_argument(
        "--touched",
        action="store_true",
        help="skip live cases in which the mutant behaves like the reference in simulation",
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one stack")
    chosen = parser.parse_args()
    began = time.perf_counter()
    found = []
    for each in compare(
        chosen.names or None,
        families=[int(digit) for digit in chosen.families],
        every=not chosen.touched,
        processes=chosen.jobs,
        limit=chosen.limit,
    ):
        show(each)
        found.append(each)
    differences = [each for one in found for each in one.differences]
    repeated = sum(each.by_repetition for each in differences)
    judged = sum(each.judged for each in found)
    escaped = [each.stack for each in found if each.failed and not each.failed_live]
    stopped = [each.stack for each in found if each.stopped]
    print(
        f"{len(found)} stacks in {time.perf_counter() - began:.0f} s: "
        f"{judged} verdicts in simulation, {sum(each.compared for each in found)} of them also "
        "sought live; of these "
        f"{sum(each.failed for each in found)} FAIL in simulation and "
        f"{sum(each.failed_live for each in found)} live; {len(differences) - repeated} differ, "
        f"{repeated} more because cases are repeated live; "
        f"{sum(each.unsteady for each in found)} differed until repeated"
    )
    for what, names in (("caught in simulation only", escaped), ("could not be judged", stopped)):
        if names:
            print(f"{what}: {', '.join(names)}")
    return int(len(differences) > repeated or bool(escaped or stopped))


def show(found: Comparison) -> None:
    """One line for a stack, and three for each difference."""
    first = f", {found.unsteady} more until repeated" if found.unsteady else ""
    print(
        f"{found.stack}: "
        + (found.stopped or f"{found.compared} of {found.judged} verdicts, {found.failed} FAIL")
        + f", {len(found.differences)} differ{first} ({found.seconds:.1f} s)",
    )
    for each in found.differences:
        why = " (by repetition)" if each.by_repetition else ""
        print(f"    {each.live.case} [ipv{each.live.family}]{why}")
        for where, result in (("simulated", each.simulated), ("live", each.live)):
            print(f"        {where}: {result.verdict}, {result.reason or '-'}")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        print(f"compare: {error}", file=sys.stderr)
        sys.exit(2)
