"""`scapy-tfo capture`: reports the outcome of each fast open in a capture, compares two, and holds
the rules of plain TCP against one."""

from __future__ import annotations

import argparse

from scapy_tfo.commands.captures import compare, judge, report

SUMMARY = "report on the connections in a capture: report, compare, judge"


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`capture` and its subcommands."""
    group = commands.add_parser("capture", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="COMMAND", required=True)
    report.add_command(below)
    compare.add_command(below)
    judge.add_command(below)
