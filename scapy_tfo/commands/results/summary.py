"""`scapy-tfo summary`: tells of a run as CI servers show it."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import described

SUMMARY = "report a run in Markdown, or as annotations of GitHub Actions"

_SUMMARY = """Print a run as Markdown: its counts, and its failures with their reasons.

FILE is a results.json file. With --annotations, print workflow commands of GitHub Actions instead,
one for each failure that no other failure explains.

exit status: 0 printed, whatever it says, 2 wrong usage, or a file that cannot be read"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`summary`."""
    parser = described(commands, "summary", SUMMARY, _SUMMARY)
    parser.set_defaults(command=_summary)
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="results.json of a run, or its directory")
    add("--annotations", action="store_true", help="print workflow commands of GitHub Actions")


def _summary(chosen: argparse.Namespace) -> int:
    from scapy_tfo.report.exchange.github import job_summary, workflow_commands
    from scapy_tfo.report.runs.reading import read_run

    found = read_run(chosen.file)
    if chosen.annotations:
        for line in workflow_commands(found.run, strict=found.strict):
            print(line)
    else:
        print(job_summary(found.run, strict=found.strict, name=found.name), end="")
    return 0
