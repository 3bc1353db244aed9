"""Makes all figures and pictures of docs/gain*.md anew: `python scripts/gain_figures.py`.

It runs the experiments of `scapy-tfo gain`, in 15 minutes at most (--for), keeps what they found in
docs/generated/gain.json, and writes the tables and pictures of the documents from that. Cells that
are not measured this time stay as they were found before: within the 15 minutes that is true of the
pages at 20 and 200 ms, and of the pages with a connection for each request, which --long measures,
too (two hours), and of those in Chromium, which --browser measures (two more), and of a kernel on
virtual time, which --kernel builds (docs/stacks/uml/time-travel.sh) and measures (ten minutes).
Run it as root, on a machine that has nothing else to do: cells whose control does not hold are
shown as no result.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gain_tables import placed

from scapy_tfo.commands.arguments import duration
from scapy_tfo.gain.pages.page import bundled

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "tfo-results"
TIME_TRAVEL = ROOT / "docs" / "stacks" / "uml" / "time-travel.sh"
KEPT = ROOT / "docs" / "generated" / "gain.json"
DOCUMENTS = [ROOT / "docs" / name for name in ("gain.md", "gain-pages.md")]
BUDGET = 900.0
_RESULTS = 0, 3
"""Exit statuses with figures: 3 is that of a run with cells that are no result."""

_SAMPLES = "samples", "loads"
_PAPERS = {"down": 4e6, "up": 256e3}
PAPERS_COMPUTE = "0.148ms"
"""What the paper's ends took for a transaction: 1 / 2,876 s less two round trips of 0.1 ms."""

_RATES = "--rtt", "0.1ms,0.5ms,1ms,5ms,20ms"
_ENDS = "--rtt", "20ms,100ms", "--size", "1000,60000", "--client", "all", "--server", "all"


@dataclass(frozen=True)
class Run:
    """name: of the experiment's figures. words: after `scapy-tfo gain`. share: part of the time
    that it may take, None where it takes seconds. plot: of its picture in docs/. kernel: it is run
    by a kernel on virtual time."""

    name: str
    words: Sequence[str]
    share: float | None = None
    plot: str = ""
    kernel: bool = False


def runs(*, long: bool, browser: bool = False, kernel: bool = False) -> list[Run]:
    """What to run, in this order."""
    some = [] if long else ["--rtt", "100ms"]
    times = "20" if long else "6"
    found = [
        Run("latency-virtual", ["latency", "--virtual"]),
        Run("rate-virtual", ["rate", "--virtual", *_RATES]),
        Run("rate-computing", ["rate", "--virtual", *_RATES, "--compute", PAPERS_COMPUTE]),
        Run("pages-virtual", ["pages", "--virtual", "--times", "6"]),
        Run("pages-each-virtual", ["pages", "--virtual", "--no-persistent"]),
        Run("ways", ["ways", "--page", "request,wikipedia,amazon", "--rtt", "20ms,100ms"]),
        Run("rate", ["rate", "--precision", "3%", "--rounds", "12"], 0.10, "gain-rate.svg"),
        Run("load", ["load", "--seconds", "500ms", "--precision", "3%"], 0.12, "gain-load.svg"),
        Run("cost", ["cost", "--volleys", "1500"]),
        Run("latency", ["latency", "--precision", "2%", "--times", "6"], 0.25, "gain-latency.svg"),
        Run("ends", ["latency", *_ENDS, "--times", "6"], 0.10),
        Run("pages", ["pages", "--times", times, *some], None if long else 0.30),
    ]
    if long:
        found.append(Run("pages-each", ["pages", "--no-persistent", "--times", "10"]))
    if kernel:
        found += _by_a_kernel()
    if browser:
        found.append(Run("pages-browser", ["pages", "--browser", "--times", "20"]))
    return found


def _by_a_kernel() -> list[Run]:
    """By a kernel on virtual time. Its clock stands still while our emulator waits busily."""
    link = ["--link", "netem", "--awake", "none"]
    return [
        Run("latency-kernel", ["latency", *link, "--times", "6"], kernel=True),
        Run("rate-kernel", ["rate", *link, *_RATES, "--rounds", "6"], kernel=True),
        Run("pages-kernel", ["pages", *link, "--times", "6"], kernel=True),
    ]


def measured(run: Run, budget: float) -> dict[str, Any] | None:
    """The file that the experiment writes, without the samples; None where it failed, which is
    told."""
    # A kernel on virtual time has a /tmp of its own.
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as place:
        path = Path(place, "figures.json")
        words = [*run.words, "--json", str(path)]
        if run.plot:
            words += ["--plot", str(ROOT / "docs" / run.plot)]
        if run.share is not None:
            words += ["--for", f"{budget * run.share:.0f}s"]
        print(f"scapy-tfo gain {' '.join(words)}", flush=True)
        before = [str(TIME_TRAVEL)] if run.kernel else []
        own = [sys.executable, "-m", "scapy_tfo", "gain", *words]
        done = subprocess.run([*before, *own], check=False)
        if done.returncode not in _RESULTS or not path.exists():
            print(f"gain_figures: {run.name} ended with status {done.returncode}", file=sys.stderr)
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return without_samples(found)


def without_samples(found: dict[str, Any]) -> dict[str, Any]:
    """What is kept; of a page's cells also the seconds that bytes and requests take at least."""
    kept = {name: value for name, value in found.items() if name not in _SAMPLES}
    if "cells" in kept:
        kept["cells"] = [
            {name: value for name, value in each.items() if name not in _SAMPLES}
            for each in kept["cells"]
        ]
    if kept["experiment"] == "pages":
        for each in kept["cells"]:
            # Cells of several runs may stand in one table.
            each["run"] = {name: kept.get(name) for name in ("time", "surroundings")}
            page = bundled(each["page"])
            each["bytes_need"] = page.size * 8 / _PAPERS["down"]
            each["requests_need"] = page.request * len(page.resources) * 8 / _PAPERS["up"]
    return kept


def merged(before: dict[str, Any] | None, found: dict[str, Any]) -> dict[str, Any]:
    """The new figures, with the cells of before that were not measured this time."""
    if before is None or "cells" not in found:
        return found
    cells = {_key(each): each for each in (*before["cells"], *found["cells"])}
    return {**found, "cells": [cells[key] for key in sorted(cells)]}


def _key(cell: dict[str, Any]) -> tuple[Any, ...]:
    names = "client", "server", "page", "rtt", "rate", "size", "way"
    return tuple(cell[name] for name in names if name in cell)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--long", action="store_true", help="all pages, 20 loads each way: two hours"
    )
    parser.add_argument("--browser", action="store_true", help="pages in Chromium: two hours more")
    parser.add_argument(
        "--kernel", action="store_true", help="a kernel on virtual time: ten minutes more"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="run only this experiment")
    parser.add_argument("--tables", action="store_true", help="measure nothing, write the tables")
    parser.add_argument("--for", dest="budget", type=duration, default=BUDGET, metavar="TIME")
    chosen = parser.parse_args()
    stored = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    failed = 0
    every = runs(long=chosen.long, browser=chosen.browser, kernel=chosen.kernel)
    for run in () if chosen.tables else every:
        if chosen.only and run.name not in chosen.only:
            continue
        found = measured(run, chosen.budget)
        if found is None:
            failed += 1
            continue
        stored[run.name] = merged(stored.get(run.name), found)
        KEPT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    for path in DOCUMENTS:
        path.write_text(placed(path.read_text(encoding="utf-8"), stored), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
