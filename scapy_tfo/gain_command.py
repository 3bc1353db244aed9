"""`scapy-tfo gain`: what fast open gains on this machine, over links of our own."""

from __future__ import annotations

import argparse

from scapy_tfo import (
    gain_cost_command,
    gain_latency_command,
    gain_pages_command,
    gain_rate_command,
)

SUMMARY = "measure what fast open gains"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`gain`, and what is below it."""
    group = commands.add_parser("gain", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="EXPERIMENT", required=True)
    gain_latency_command.add_command(below)
    gain_pages_command.add_command(below)
    gain_rate_command.add_command(below)
    gain_cost_command.add_command(below)
