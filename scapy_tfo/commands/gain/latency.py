"""`scapy-tfo gain latency`: measures one request with and without fast open."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count, described
from scapy_tfo.commands.gain.common import (
    add_line,
    add_outputs,
    check_outputs,
    check_virtual,
    circumstances,
    collect,
    counts,
    line_of,
    make_table,
    shown,
    some_of,
    status,
    tell_circumstances,
    tell_few,
    times,
    write_figures,
)
from scapy_tfo.commands.gain.conditions import (
    WITHHELD,
    add_conditions,
    conditions,
    status_of,
    tell_refused,
    withheld,
)
from scapy_tfo.errors import SetupError
from scapy_tfo.gain.link_shape import BARE
from scapy_tfo.gain.names import CLIENTS, OWN, REFERENCE, SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from scapy_tfo.gain.latency import Cell
    from scapy_tfo.gain.measuring.estimate import Estimate

_TEXT = """Measure the time to the first and the last byte of a request, with and without fast open.

This kernel's client and nginx run in namespaces of their own, with an emulated link in between (as
root, or where user namespaces are allowed; needs the extra 'gain'). Requests with TCP, with fast
open, and with TCP once more take turns: the last are the control, which must save nothing. Other
ends: --client reference, --server reference (together they need no privilege), and --server
nginx-off, whose kernel has fast open off: another control.

--target measures from this host to any HTTP server, as it is: the round-trip time is the one that
the kernel sees in handshakes.

Ctrl-C keeps what was measured."""

_WITHHELD = "saved", "trips", "trips_first"

_OURS = ("client", "server", "rtt", "size")
"""Options for our own ends."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`latency`."""
    parser = described(below, "latency", "one request over several links", _TEXT)
    parser.set_defaults(command=_latency)
    add = parser.add_argument
    add("--rtt", type=times, metavar="TIME,...", help="default: 0,20ms,50ms,100ms,200ms,300ms")
    add("--size", type=counts, metavar="BYTES,...", help="default: 1000,10000,60000,1000000")
    add("--times", type=count, default=20, metavar="N", help="requests of each way (default: 20)")
    for name, there in (("client", CLIENTS), ("server", SERVERS)):
        told = f"{', '.join(there)}, all (default: {there[0]})"
        add(f"--{name}", type=some_of(*there), metavar="NAME,...", help=told)
    add_conditions(parser, "--times", virtual=True)
    add("--target", metavar="URL", help="http://HOST[:PORT]/path, instead of an emulated link")
    add_line(parser, BARE)
    add_outputs(parser, plot=True)


def _latency(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.chart import draw
    from scapy_tfo.gain.latency import Plan, measure

    given = {name: value for name in _OURS if (value := getattr(chosen, name)) is not None}
    line = line_of(chosen, BARE)
    if chosen.target is not None:
        until = chosen.precision, chosen.most_time
        if given or line != BARE or chosen.plot is not None or any(until) or chosen.virtual:
            raise SetupError(
                "--target can be combined with --times, --awake, --accept-noise, --json and "
                "--color only"
            )
        return _target(chosen)
    console = check_outputs(chosen)
    names = {"client": "clients", "server": "servers", "rtt": "rtts", "size": "sizes"}
    plan = Plan(
        times=chosen.times,
        precision=chosen.precision,
        most_time=chosen.most_time,
        line=line,
        **{names.get(name, name): given[name] for name in given},
    )
    around = circumstances(time.time())
    if chosen.virtual:
        from scapy_tfo.gain.virtual.requests import measure_latency as measure

        check_virtual(chosen, line, "client", "server", "precision", "most_time")
        plan = replace(plan, clients=(REFERENCE,), servers=(REFERENCE,), times=1)
    with conditions(chosen) as kept:
        cells, broken = collect(console, lambda tell: measure(plan, tell), plan.cells)
        around |= kept.figures
    cells = withheld(cells, chosen, *_WITHHELD)
    figures = [asdict(each) for each in cells]
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.plot is not None and any(each.trips for each in cells):
            at_the_end.callback(draw, cells, chosen.plot)
        if chosen.json is not None:
            at_the_end.callback(write_figures, chosen.json, "latency", around, plan, cells=figures)
        for table in _tables(cells):
            console.print(table)
        tell_refused(console, [(_name(each), each) for each in cells], chosen)
        if cells and not chosen.virtual:
            tell_few(console, min(len(each.samples["tcp"]) for each in cells))
        if all(REFERENCE in (each.client, each.server) for each in cells):
            # Of netem there is no question.
            line = replace(line, link=OWN)
        tell_circumstances(console, around, line, [each.link for each in cells])
        kept.tell(console)
        if chosen.plot is not None and not any(each.trips for each in cells):
            console.print("There are no round trips to draw.")
    return status(cells, plan.cells, broken, status_of(cells, chosen))


def _target(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.target import find, measure

    console = check_outputs(chosen)
    target = find(chosen.target)
    around = circumstances(time.time())
    with conditions(chosen) as kept:
        found = measure(target, chosen.times)
        around |= kept.figures
    (cell,) = withheld([found.cell], chosen, *_WITHHELD)
    found = replace(found, cell=cell)
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.json is not None:
            figures = asdict(found)
            at_the_end.callback(write_figures, chosen.json, "target", around, target, **figures)
        console.print(*_tables([found.cell]))
        tell_refused(console, [(target.host, found.cell)], chosen)
        tell_few(console, chosen.times)
        console.print(f"Answers: {', '.join(found.statuses)}, from {target.address}.")
        if found.refusal:
            console.print(f"{target.host}: {found.refusal}.")
        tell_circumstances(console, around, None, [])
        kept.tell(console)
    return status_of([found.cell], chosen)


def _name(cell: Cell) -> str:
    return f"{cell.client} to {cell.server}, {cell.rtt * 1000:g} ms, {cell.size:,} bytes"


def _saving(cell: Cell, found: Estimate | None) -> str:
    return WITHHELD if cell.refused and found is None else shown(found)


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
                    *(_saving(each, one) for one in (each.trips, each.trips_first)),
                    shown(each.control),
                )
        yield table
