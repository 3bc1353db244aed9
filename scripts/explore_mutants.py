"""Explores each wrong stack until something is found, without telling which one it is.

`python scripts/explore_mutants.py [NAME ...] [--limit SECONDS] [--jobs N] [--write FILE]`.
`--write` keeps the result as JSON and, next to it, a table; entries of stacks that are not named
stay as they were.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scapy_tfo.errors import TargetError
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.mutants.registry import all_mutants, named

LIMIT = 60.0
"""Seconds of CPU for each stack."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant; default: all")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of CPU for each")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="JSON; a table goes next to it")
    chosen = parser.parse_args()
    entries: dict[str, Any] = {}
    if chosen.write is not None and chosen.write.exists():
        entries = json.loads(chosen.write.read_text(encoding="utf-8"))["mutants"]
    names = chosen.names or [each.name for each in all_mutants() if not each.equivalent]
    with ProcessPoolExecutor(chosen.jobs) as pool:
        explored = pool.map(partial(entry_of, limit=chosen.limit), names)
        for name, entry in zip(names, explored, strict=True):
            entries[name] = entry
            print(f"{name}: {entry.get('rule', 'not found')}", flush=True)
    entries = dict(sorted(entries.items()))
    if chosen.write is not None:
        held = json.dumps({"limit": chosen.limit, "mutants": entries}, indent=1)
        chosen.write.write_text(held + "\n", encoding="utf-8")
        table = chosen.write.with_suffix(".md")
        table.write_text(table_of(entries, chosen.limit), encoding="utf-8")
    return 0


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
    if firm:
        first = min(firm, key=lambda each: each.schedule.size)
        entry |= {"rule": first.problem.rule, "schedule": str(first.schedule)}
        entry |= {"before": len(first.before)}
    return entry


def table_of(entries: Mapping[str, Mapping[str, Any]], limit: float) -> str:
    """The table as Markdown."""
    found = sum("rule" in each for each in entries.values())
    lines = [
        "# Wrong stacks that exploring finds",
        "",
        f"{found} of {len(entries)} within {limit:g} s of CPU each, as `make explore-mutants` last",
        "found them. A stack that is not found has a dash; some of them are wrong only where a",
        "listener closes, a limit is set, or an application asks for what no schedule has.",
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
