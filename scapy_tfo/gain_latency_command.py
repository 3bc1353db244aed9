"""`scapy-tfo gain latency`: one request, with fast open and without."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from scapy_tfo.arguments import count, described
from scapy_tfo.errors import SetupError
from scapy_tfo.gain_front import (
    add_outputs,
    bit_rate,
    check_outputs,
    collect,
    counts,
    make_table,
    shown,
    some_of,
    status,
    tell_few,
    times,
    write_figures,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from scapy_tfo.gain.latency import Cell

_TEXT = """Measure one request with fast open and without: its first byte and its last.

This kernel's client and nginx, each in a namespace of its own, with an emulated link between (as
root, or where user namespaces are allowed; needs the extra 'gain'). Requests with TCP, with fast
open, and with TCP once more take turns: the last are the control, which must save nothing. Other
ends: --client reference, --server reference (together they need no privilege), and --server
nginx-off, whose kernel has fast open off: another control.

With --target, from this host to any HTTP server, as it is: the round-trip time is what the kernel
sees in handshakes.

Ctrl-C keeps what was measured."""

_LINK = ("client", "server", "rtt", "size", "down", "up", "queue")
"""Options of a link of ours."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`latency`."""
    parser = described(below, "latency", "one request over several links", _TEXT)
    parser.set_defaults(command=_latency)
    add = parser.add_argument
    add("--rtt", type=times, metavar="TIME,...", help="default: 0,20ms,50ms,100ms,200ms,300ms")
    add("--size", type=counts, metavar="BYTES,...", help="default: 1000,10000,60000,1000000")
    add("--times", type=count, default=20, metavar="N", help="requests of each way (default: 20)")
    add("--down", type=bit_rate, metavar="RATE", help="of the link to the client, as 4M")
    add("--up", type=bit_rate, metavar="RATE", help="and from it, as 256k")
    add("--queue", type=count, metavar="BYTES", help="in front of each rate (default: 131072)")
    ends = some_of("kernel", "reference")
    add("--client", type=ends, metavar="NAME,...", help="kernel, reference (default: kernel)")
    ends = some_of("nginx", "nginx-off", "reference")
    add(
        "--server", type=ends, metavar="NAME,...", help="nginx (default), nginx-off, reference, all"
    )
    add("--target", metavar="URL", help="http://HOST[:PORT]/path, instead of a link of ours")
    add_outputs(parser, plot=True)


def _latency(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.chart import draw
    from scapy_tfo.gain.latency import Plan, measure

    given = {name: value for name in _LINK if (value := getattr(chosen, name)) is not None}
    if chosen.target is not None:
        if given or chosen.plot is not None:
            raise SetupError("--target goes with --times, --json and --color alone")
        return _target(chosen)
    console = check_outputs(chosen)
    names = {"client": "clients", "server": "servers", "rtt": "rtts", "size": "sizes"}
    plan = Plan(times=chosen.times, **{names.get(name, name): given[name] for name in given})
    cells, broken = collect(console, measure(plan), plan.cells)
    for table in _tables(cells):
        console.print(table)
    tell_few(console, plan.times)
    if chosen.json is not None:
        write_figures(chosen.json, "latency", plan, cells=[asdict(each) for each in cells])
    if chosen.plot is not None:
        if any(each.trips for each in cells):
            draw(cells, chosen.plot)
        else:
            console.print("There are no round trips to draw.")
    return status(cells, plan.cells, broken)


def _target(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.target import find, measure

    console = check_outputs(chosen)
    target = find(chosen.target)
    found = measure(target, chosen.times)
    console.print(*_tables([found.cell]))
    tell_few(console, chosen.times)
    console.print(f"Answers: {', '.join(found.statuses)}, from {target.address}.")
    if found.refusal:
        console.print(f"{target.host}: {found.refusal}.")
    if chosen.json is not None:
        write_figures(chosen.json, "target", target, **asdict(found))
    return 0


def _tables(cells: Sequence[Cell]) -> Iterator[Table]:
    """One for each pair of ends."""
    for client, server in dict.fromkeys((each.client, each.server) for each in cells):
        table = make_table(
            f"One request: client {client}, server {server} (ms; medians; ± 95 %)",
            *("RTT", "bytes", "TCP", "fast open", "taken"),
            *("saved", "to 1st byte", "control"),
        )
        for each in cells:
            if (each.client, each.server) == (client, server):
                table.add_row(
                    f"{each.rtt * 1000:.4g}",
                    f"{each.size:,}",
                    f"{each.tcp * 1000:.4g}",
                    f"{each.tfo * 1000:.4g}",
                    f"{each.early:.0%}",
                    shown(each.trips),
                    shown(each.trips_first),
                    shown(each.control),
                )
        yield table
