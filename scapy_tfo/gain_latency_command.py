"""`scapy-tfo gain latency`: one request, with fast open and without."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from scapy_tfo.arguments import count, described
from scapy_tfo.gain_front import (
    add_outputs,
    bit_rate,
    check_outputs,
    collect,
    counts,
    shown,
    status,
    times,
    write_figures,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from scapy_tfo.gain.latency import Cell

_TEXT = """Measure one request with fast open and without: its first byte and its last.

This kernel's client and nginx, each in a namespace of its own, with an emulated link between (as
root, or where user namespaces are allowed; needs the extra 'gain'). Requests with TCP, with fast
open, and with TCP once more take turns: the last are the control, which must save nothing.

Ctrl-C keeps what was measured."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`latency`."""
    parser = described(below, "latency", "one request over several links", _TEXT)
    parser.set_defaults(command=_latency)
    add = parser.add_argument
    add("--rtt", type=times, metavar="TIME,...", help="default: 0,20ms,50ms,100ms,200ms,300ms")
    add("--size", type=counts, metavar="BYTES,...", help="default: 1000,10000,100000,1000000")
    add("--times", type=count, default=20, metavar="N", help="requests of each way (default: 20)")
    add("--down", type=bit_rate, metavar="RATE", help="of the link to the client, as 4M")
    add("--up", type=bit_rate, metavar="RATE", help="and from it, as 256k")
    add("--queue", type=count, default=131072, metavar="BYTES", help="in front of each rate")
    add_outputs(parser, plot=True)


def _latency(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.chart import draw
    from scapy_tfo.gain.latency import RTTS, SIZES, Plan, measure

    console = check_outputs(chosen)
    plan = Plan(
        rtts=chosen.rtt or RTTS,
        sizes=chosen.size or SIZES,
        times=chosen.times,
        down=chosen.down,
        up=chosen.up,
        queue=chosen.queue,
    )
    wanted = len(plan.rtts) * len(plan.sizes)
    cells, interrupted = collect(console, measure(plan), wanted)
    console.print(_table(cells))
    if chosen.json is not None:
        write_figures(chosen.json, "latency", plan, cells=[asdict(each) for each in cells])
    if chosen.plot is not None and any(each.trips for each in cells):
        draw(cells, chosen.plot)
    return status(cells, wanted, interrupted)


def _table(cells: Sequence[Cell]) -> Table:
    from rich.table import Table

    table = Table(title="One request with TCP and with fast open (medians; intervals of 95 %)")
    for name in ("RTT", "bytes", "TCP", "fast open", "round trips saved", "to the first byte"):
        table.add_column(name, justify="right")
    table.add_column("control", justify="right")
    for each in cells:
        table.add_row(
            f"{each.rtt * 1000:g} ms",
            f"{each.size:,}",
            f"{each.tcp * 1000:.1f} ms",
            f"{each.tfo * 1000:.1f} ms",
            shown(each.trips),
            shown(each.trips_first),
            shown(each.control),
        )
    return table
