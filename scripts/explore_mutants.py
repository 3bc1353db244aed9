"""Explores each wrong stack until something is found, without telling which one it is.

`python scripts/explore_mutants.py [NAME ...] [--limit SECONDS] [--jobs N] [--write FILE]
[--resume]`.
`--write` keeps the result as JSON and, next to it, a table, after each stack; entries of stacks
that are not named stay as they were. `--resume` leaves out the stacks that have one. Their order is
one of chance, so that what is interrupted is a sample.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.explore.conversation.schedule import PROGRAM, to_json
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.mutants.registry import all_mutants, named

TABLES = Path(__file__).parent.parent / "docs" / "generated"
LIMIT = 60.0
"""Seconds of CPU for each stack."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant; default: all")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of CPU for each")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="JSON; a table goes next to it")
    parser.add_argument("--resume", action="store_true", help="leave out stacks that have an entry")
    chosen = parser.parse_args()
    entries: dict[str, Any] = {}
    if chosen.write is not None and chosen.write.exists():
        entries = json.loads(chosen.write.read_text(encoding="utf-8"))["mutants"]
    every = [each.name for each in all_mutants() if not each.equivalent]
    names = chosen.names or every
    if chosen.resume:
        names = [each for each in names if each not in entries]
    random.Random(0).shuffle(names)
    with ProcessPoolExecutor(chosen.jobs) as pool:
        explored = pool.map(partial(entry_of, limit=chosen.limit), names)
        for name, entry in zip(names, explored, strict=True):
            entries[name] = entry
            print(f"{name}: {entry.get('rule', 'not found')}", flush=True)
            if chosen.write is not None:
                write(chosen.write, entries, len(every), chosen.limit)
    return 0


def write(path: Path, entries: dict[str, Any], count: int, limit: float) -> None:
    """The entries and the table. count: of the stacks that there are."""
    held = {"limit": limit, "mutants": dict(sorted(entries.items()))}
    path.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(table_of(held["mutants"], count, limit), encoding="utf-8")


def caught_elsewhere() -> tuple[set[str], set[str]]:
    """Stacks that the cases catch, and that the fuzzer does, by their tables."""
    cases = json.loads((TABLES / "matrix.json").read_text(encoding="utf-8"))["mutants"]
    fuzz = json.loads((TABLES / "fuzz-mutants.json").read_text(encoding="utf-8"))["mutants"]
    found = {name for name, entry in fuzz.items() if entry.get("clause")}
    return {name for name, case in cases.items() if case}, found


def entry_of(name: str, limit: float) -> dict[str, Any]:
    """What exploring a stack shows within so many seconds of CPU."""
    began = time.process_time()

    def stop() -> bool:
        return explorer.result.failed or time.process_time() - began > limit

    try:
        explorer = Explorer(named(name).name, stop=stop)
    except TargetError as error:
        return {"rule": "not served", "schedule": str(error), "schedules": 0}
    result = explorer.explore()
    entry: dict[str, Any] = {"schedules": result.total}
    firm = [each for each in result.found.values() if not each.is_advice]
    told = firm or list(result.found.values())
    if told:
        first = min(told, key=lambda each: each.schedule.size)
        entry |= {} if firm else {"advice": True}
        entry |= {"rule": first.problem.rule, "schedule": str(first.schedule)}
        entry |= {"before": len(first.before), "played": to_json(first.schedule)}
    return entry


def table_of(entries: Mapping[str, Mapping[str, Any]], count: int, limit: float) -> str:
    """The table as Markdown. count: of the stacks that there are."""
    found = {name for name, each in entries.items() if "rule" in each}
    cases, fuzz = caught_elsewhere()
    share = 100 * len(found) / len(entries)
    advice = sum("advice" in entries[each] for each in found)
    programs = sum(entries[each].get("schedule", "").startswith(PROGRAM) for each in found)
    missed = len(found - cases), len(found - fuzz), len(found - cases - fuzz)
    lines = [
        "# Wrong stacks that exploring finds",
        "",
        f"{len(found)} of {len(entries)} ({share:.0f} in 100) within {limit:g} s of CPU each, as",
        f"`make explore-mutants` last found them, which tried {len(entries)} of {count} stacks,",
        f"chosen by chance. {programs} are told by a program of the fuzzer behind schedules, the",
        f"others by schedules. {advice} break advice alone (a SHOULD), which explore tells and",
        f"which fails no run. Cases miss {missed[0]} of those found, the fuzzer misses",
        f"{missed[1]}, and both miss {missed[2]}. A stack that is not found has a dash; some are",
        "wrong only where an application asks for what no schedule has.",
        "",
        "| stack | rule | schedules | smallest schedule |",
        "|---|---|--:|---|",
    ]
    for name, each in entries.items():
        rule, schedule = each.get("rule", "-"), each.get("schedule", "")
        behind = f" (behind {each['before']} others)" if each.get("before") else ""
        lines.append(f"| {name} | {rule} | {each['schedules']:,} | {schedule}{behind} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
