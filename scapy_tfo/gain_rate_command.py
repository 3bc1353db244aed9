"""`scapy-tfo gain rate`: short transactions in a closed loop (paper 6.2)."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from scapy_tfo.arguments import count, described
from scapy_tfo.gain_front import (
    add_outputs,
    check_outputs,
    collect,
    shown,
    status,
    times,
    write_figures,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from scapy_tfo.gain.rate import Point

_TEXT = """Measure short transactions a second: connection, request, answer of 100 bytes, one
after another in a closed loop (paper 6.2), with TCP and with fast open in turn.

The rate's ratio stands beside what one round trip less predicts, and at 0.1 ms beside the paper's
1.23. Over the emulated link a packet takes some 0.05 ms even at 0: a link without any way is not
what this measures. CPU is the server's for each transaction, fast open's to TCP's.

Ctrl-C keeps what was measured."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`rate`."""
    parser = described(below, "rate", "short transactions one after another", _TEXT)
    parser.set_defaults(command=_rates)
    add = parser.add_argument
    add("--rtt", type=times, metavar="TIME,...", help="default: 0,0.1ms,0.5ms,1ms,5ms,20ms")
    add("--clients", type=count, default=1, metavar="N", help="loops at a time (default: 1)")
    add("--rounds", type=count, default=8, metavar="N", help="of each way (default: 8)")
    add_outputs(parser, plot=False)


def _rates(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.rate import RTTS, Plan, measure

    console = check_outputs(chosen)
    plan = Plan(rtts=chosen.rtt or RTTS, clients=chosen.clients, rounds=chosen.rounds)
    points, interrupted = collect(console, measure(plan), len(plan.rtts))
    console.print(_table(points))
    if chosen.json is not None:
        write_figures(chosen.json, "rate", plan, cells=[asdict(each) for each in points])
    return status(points, len(plan.rtts), interrupted)


def _table(points: Sequence[Point]) -> Table:
    from rich.table import Table

    from scapy_tfo.gain.rate import PAPER

    table = Table(title="Transactions a second with TCP and with fast open (± to the end of 95 %)")
    for name in ("RTT", "TCP", "fast open", "ratio", "predicted", "paper", "CPU ratio", "limit"):
        table.add_column(name, justify="right")
    for each in points:
        table.add_row(
            f"{each.rtt * 1000:g} ms",
            f"{each.tcp:,.0f}",
            f"{each.tfo:,.0f}",
            shown(each.ratio),
            f"{each.predicted:.2f}",
            f"{PAPER[1]:.2f}" if each.rtt == PAPER[0] else "",
            shown(each.cpu),
            each.limit,
        )
    return table
