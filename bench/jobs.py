"""Measures what a campaign gains from a second sending process.

    python bench/jobs.py [SECONDS] [TARGET...]      (default: 20 seconds; sim:reference, lab:linux)

For each target a campaign with one job and one with as many as there are processors take turns,
twice, each for so many seconds of the clock. Prints programs a second of the clock, as the campaign
itself counts them in its `results.json`, and how many times as many the second one sent. `make
compiled` makes an environment whose Python runs it compiled.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from scapy_tfo.executor import play

SECONDS = 20.0
TARGETS = ("sim:reference", "lab:linux")
ROUNDS = 2


def main(arguments: list[str]) -> int:
    """Measure and print."""
    seconds = float(arguments[0]) if arguments else SECONDS
    how = "interpreted" if play.__file__.endswith(".py") else "compiled"
    jobs = os.cpu_count() or 1
    print(f"{how}, Python {platform.python_version()}, Linux {platform.release()}")
    for target in arguments[1:] or TARGETS:
        sent = {1: 0.0, jobs: 0.0}
        for number in range(ROUNDS):
            for each in sent:
                sent[each] += rate(target, seconds, each, seed=number) / ROUNDS
        told = ", ".join(f"{rate:,.0f} with {each} job(s)" for each, rate in sent.items())
        print(f"{target}: programs a second of the clock: {told}; {sent[jobs] / sent[1]:.2f} times")
    return 0


def rate(target: str, seconds: float, jobs: int, seed: int) -> float:
    """Programs a second of the clock. Raises CalledProcessError if the campaign could not run."""
    with tempfile.TemporaryDirectory() as folder:
        limits = ["--for", f"{seconds:.0f}s", "--jobs", f"{jobs}", "--seed", f"{seed}"]
        command = [sys.executable, "-m", "scapy_tfo", "fuzz", target, *limits, "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode > 1:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        results = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
    return float(results["sequences"]) / float(results["clock_seconds"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
