"""Whether controls of `scapy-tfo gain` hold: `python scripts/gain_controls.py idle`, or `loaded`.

It runs `gain latency`, `rate` and `load` three times, in less than 20 minutes on an idle machine,
and keeps what they found in docs/generated/gain-controls.json: the idle runs beside the loaded
ones. From both it writes the page docs/generated/gain-controls.md. With `loaded`, processes compute
on all cores meanwhile (--busy of them on each). Run it as root. The exit status is 1 where
something that must be so is not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gain_verdicts import MACHINES, page, unmet

from scapy_tfo.commands.arguments import count

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "generated" / "gain-controls.json"
PAGE = KEPT.with_suffix(".md")
RUNS, BUSY = 3, 1
_RESULTS = 0, 3
"""Exit statuses with figures: 3 is that of a run with cells that are no result."""

_EFFECTS = {"latency": "trips", "rate": "ratio", "load": "ratio"}


EXPERIMENTS = (
    "rate --rtt 0.1ms --rounds 16 --seconds 400ms",
    "rate --rtt 0,0.5ms,1ms,5ms,20ms --rounds 8 --seconds 400ms",
    "load --rounds 6 --seconds 500ms",
    "latency --rtt 20ms,50ms,100ms,200ms,300ms --times 6",
)


@contextlib.contextmanager
def computing(processes: int) -> Iterator[None]:
    """So many processes on each core that compute, of ordinary priority. They end with this one."""
    program = (
        "import ctypes, os, signal, sys\n"
        "ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)\n"
        "os.sched_setaffinity(0, {int(sys.argv[2])})\n"
        "while os.getppid() == int(sys.argv[1]):\n"
        "    sum(range(100_000))\n"
    )
    running = []
    try:
        for core in sorted(os.sched_getaffinity(0)) * processes:
            words = [sys.executable, "-c", program, str(os.getpid()), str(core)]
            running.append(subprocess.Popen(words, stdin=subprocess.DEVNULL))
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def measured(command: str) -> dict[str, Any]:
    """What is kept of it. Raises SystemExit."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "figures.json")
        words = [*command.split(), "--json", str(path)]
        print(f"scapy-tfo gain {command}", flush=True)
        done = subprocess.run([sys.executable, "-m", "scapy_tfo", "gain", *words], check=False)
        if done.returncode not in _RESULTS or not path.exists():
            raise SystemExit(f"gain_controls: {command}: status {done.returncode}")
        found = json.loads(path.read_text(encoding="utf-8"))
    return kept(command, found)


def kept(command: str, found: dict[str, Any]) -> dict[str, Any]:
    """The cells, their samples left out, under which conditions, and by which command."""
    names = "rtt", "size", "rate", "tcp", "tfo", "control", "refused"
    cells = [
        {name: each[name] for name in names if name in each}
        | {"effect": each[_EFFECTS[found["experiment"]]], "pairs": len(each["samples"]["tcp"])}
        for each in found["cells"]
    ]
    wanted = "experiment", "tool", "kernel", "time", "awake", "surroundings"
    return {name: found[name] for name in wanted} | {"command": command, "cells": cells}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("machine", nargs="?", choices=MACHINES, help="without: write the page only")
    parser.add_argument("--runs", type=count, default=RUNS, metavar="N")
    parser.add_argument("--busy", type=int, default=BUSY, metavar="N", help="with loaded")
    chosen = parser.parse_args()
    stored = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if chosen.machine:
        busy = chosen.busy if chosen.machine == "loaded" else 0
        began = time.monotonic()
        found: dict[str, Any] = {"busy": busy, "cores": os.cpu_count(), "runs": []}
        with computing(busy):
            for _ in range(chosen.runs):
                found["runs"].append([measured(each) for each in EXPERIMENTS])
                found["seconds"] = time.monotonic() - began
                stored[chosen.machine] = found
                KEPT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(stored), encoding="utf-8")
    print(page(stored))
    return 1 if unmet(stored) else 0


if __name__ == "__main__":
    sys.exit(main())
