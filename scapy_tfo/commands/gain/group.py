"""`scapy-tfo gain`: measures what fast open gains on this machine, over emulated links."""

from __future__ import annotations

import argparse

from scapy_tfo.commands.gain import cost, latency, pages, rate, ways

SUMMARY = "measure what fast open gains"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`gain`, and what is below it."""
    group = commands.add_parser("gain", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="EXPERIMENT", required=True)
    latency.add_command(below)
    pages.add_command(below)
    rate.add_command(below)
    cost.add_command(below)
    ways.add_command(below)
