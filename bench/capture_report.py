"""Measures `scapy-tfo capture report` against `tshark -q -z tfo,outcome`, on one capture.

The capture is that of bench/dissector.py: --share says how many in a hundred connections use Fast
Open. The two run at the same time on the same CPU, so that other work on the machine slows both
equally. The measures are CPU time, with that of tshark in a report, and the maximum resident memory
of tshark in either, and of the report's own process; each ratio is the median over the rounds.

    python bench/capture_report.py [--connections N] [--share N] [--rounds N] [--json] [--check]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from known_mix import PACKETS, SHARE, expected, write_capture

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.2
"""Of the ratio of CPU time that must not be exceeded."""

MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
"""Runs a command; its memory is that of the largest process that it waited for."""

OWN = """
import resource, sys
from scapy_tfo.cli import main
status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
sys.exit(status)
"""


def run_together(commands: list[list[str]]) -> list[tuple[float, float, str]]:
    """Run programs at the same time on one CPU to their ends: seconds of CPU, MiB, and what they
    said beside their output. Raises SystemExit where one fails."""
    cpu = max(os.sched_getaffinity(0))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MEASURED, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
        )
        for command in commands
    ]
    found = []
    for process, command in zip(processes, commands, strict=True):
        out, said = process.communicate()
        status, seconds, memory = out.split()
        if int(status):
            raise SystemExit(f"{' '.join(command)} ended with status {status}: {said}")
        found.append((float(seconds), float(memory), said))
    return found


def measure(connections: int, rounds: int, share: int) -> dict[str, Any]:
    """The ratio, what it is of, and whether the report counts what is in the capture."""
    plugin = ["-X", f"lua_script:{ROOT / 'dissector' / 'tfo.lua'}"]
    with tempfile.TemporaryDirectory() as directory:
        capture, document = Path(directory, "mix.pcap"), Path(directory, "report.json")
        write_capture(capture, connections, share)
        Path(directory).chmod(0o755)
        table = ["tshark", "-n", *plugin, "-q", "-z", "tfo,outcome", "-r", str(capture)]
        report = [sys.executable, "-c", OWN, "capture", "report", str(capture)]
        rows: list[tuple[float, float, float, float, float]] = []
        for _ in range(rounds):
            (ours, memory, said), (theirs, other, _) = run_together([report, table])
            rows.append((ours, theirs, memory, other, float(said.split()[-1])))
        subprocess.run(
            [*report, "--json", str(document)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        counted = json.loads(document.read_text())["outcomes"]
    wanted = {name: row.connections for name, row in expected(connections, share).items()}
    report_s, table_s, report_mib, table_mib, own = map(statistics.median, zip(*rows, strict=True))
    return {
        "packets": connections * PACKETS,
        "share": share,
        "rounds": rounds,
        "report": report_s,
        "table": table_s,
        "ratio": round(statistics.median(each[0] / each[1] for each in rows), 2),
        "tshark in the report, MiB": round(report_mib),
        "tshark for the table, MiB": round(table_mib),
        "the report itself, MiB": round(own),
        "is exact": {name: row["connections"] for name, row in counted.items()} == wanted,
    }


def main() -> int:
    """Print the figures; 1 if the counts are wrong, or with --check the ratio is over its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--connections", type=int, default=100_000, help="of ten packets (100000)")
    add("--share", type=int, default=SHARE, help=f"percent of them with fast open ({SHARE})")
    add("--rounds", type=int, default=3, help="how often both are run (3)")
    add("--json", action="store_true", help="print one JSON object")
    add("--check", action="store_true", help="fail if the ratio is over its limit")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.connections < 1 or not 1 <= arguments.share <= 100:
        parser.error("--rounds and --connections must be 1 or more, --share from 1 to 100")
    result = measure(arguments.connections, arguments.rounds, arguments.share)
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:27} {value if isinstance(value, bool) else f'{value:10,.2f}'}")
    return int(not result["is exact"] or (arguments.check and result["ratio"] > LIMIT))


if __name__ == "__main__":
    sys.exit(main())
