"""`scapy-tfo gain rate` and `gain load`: short transactions, and what the server takes for them."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from scapy_tfo.arguments import count, described, seconds
from scapy_tfo.gain.choices import AUTO, VETH
from scapy_tfo.gain.line import BARE
from scapy_tfo.gain_front import (
    add_line,
    add_outputs,
    check_outputs,
    circumstances,
    collect,
    counts,
    line_of,
    make_table,
    one_time,
    shown,
    status,
    tell_circumstances,
    tell_few,
    times,
    write_figures,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from scapy_tfo.gain.load import Level
    from scapy_tfo.gain.rate import Point

_RATE = """Measure short transactions a second: connection, request, answer of 100 bytes, one
after another in a closed loop (paper 6.2), with TCP, with fast open, and with TCP again in turn:
the last is the control, whose ratio to TCP has to be 1.

nginx has a core of its own where there are two or more. At an RTT of 0 the link is a veth pair with
nothing between (root alone; else the emulator without delay), with `--link auto` and where nothing
else is asked of it: `own` and `netem` are taken at 0, too. From then on it is emulated. The RTT
that handshakes saw stands beside the one asked for. `model` is what one such round trip less would
give, and at 0.1 ms there is the paper's 1.23. `CPU` is the ratio of the server's for each
transaction, fast open's to TCP's.

Ctrl-C keeps what was measured."""

_LOAD = """Measure what part of its core the server takes at constant rates, with TCP, with fast
open, and with TCP again in turn (paper 6.2, figure 6): requests for 5,000 bytes, each on a
connection of its own. `ratio` is of what a request takes, fast open's to TCP's; `control` is of
TCP's own to TCP's, which has to be 1.

nginx has a core of its own where there are two or more, and the link is a veth pair (root alone),
with `--link auto` and where nothing else is asked of it. What the kernel does there to receive for
the server is counted, too: it has a thread of its own for that. The paper found the two nearly
alike: the ratio stands beside 1.

Ctrl-C keeps what was measured."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`rate` and `load`."""
    parser = described(below, "rate", "short transactions one after another", _RATE)
    parser.set_defaults(command=_rates)
    add = parser.add_argument
    add("--rtt", type=times, metavar="TIME,...", help="default: 0,0.1ms,0.5ms,1ms,5ms,20ms")
    add("--clients", type=count, default=1, metavar="N", help="loops at a time (default: 1)")
    add("--rounds", type=count, default=16, metavar="N", help="of each way (default: 16)")
    add("--seconds", type=seconds, default=0.5, metavar="S", help="for each (default: 0.5)")
    add_line(parser, BARE)
    add_outputs(parser, plot=True)
    parser = described(below, "load", "the server's CPU at constant rates", _LOAD)
    parser.set_defaults(command=_load)
    add = parser.add_argument
    add("--rate", type=counts, metavar="N,...", help="requests a second; default: 500 to 6000")
    add("--clients", type=count, default=4, metavar="N", help="processes (default: 4)")
    add("--rounds", type=count, default=8, metavar="N", help="of each way (default: 8)")
    add("--seconds", type=seconds, default=1.0, metavar="S", help="for each (default: 1)")
    add("--rtt", type=one_time, default=0.0, metavar="TIME", help="default: 0ms, the veth pair")
    add_line(parser, BARE)
    add_outputs(parser, plot=True)


def _rates(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.chart import draw_rates
    from scapy_tfo.gain.rate import PAPER, RTTS, Plan, measure

    console = check_outputs(chosen)
    plan = Plan(
        rtts=chosen.rtt or RTTS,
        clients=chosen.clients,
        rounds=chosen.rounds,
        seconds=chosen.seconds,
        line=line_of(chosen, BARE),
    )
    around = circumstances(time.time())
    points, broken = collect(console, measure(plan), len(plan.rtts))
    console.print(_rate_table(points))
    tell_few(console, plan.rounds)
    if points:
        console.print(*_limits(points), highlight=False)
    _tell_early(console, [(f"{each.rtt * 1000:g} ms", each.early) for each in points])
    console.print(f"The paper: a ratio of {PAPER[1]} at {PAPER[0] * 1000:g} ms.")
    automatic = plan.line.is_bare and plan.line.link == AUTO
    if automatic and any(not each.rtt and each.link != VETH for each in points):
        console.print("At 0 that is the emulator without delay: a veth pair takes root.")
    tell_circumstances(console, around, plan.line, [each.link for each in points])
    if chosen.json is not None:
        write_figures(chosen.json, "rate", around, plan, cells=[asdict(each) for each in points])
    if chosen.plot is not None and points:
        draw_rates(points, chosen.plot)
    return status(points, len(plan.rtts), broken)


def _limits(points: Sequence[Point]) -> Iterator[str]:
    """Who kept the rates from being higher."""
    from scapy_tfo.gain.rate import WAITING

    for each in points:
        if each.limit != WAITING:
            yield f"At {each.rtt * 1000:g} ms the {each.limit} limits the rate."
    if any(each.limit == WAITING for each in points):
        yield "Where nothing else is said, they wait for packets and for one another."
    clients, server = (
        max(getattr(each, f"{end}_busy") for each in points) for end in ("client", "server")
    )
    yield f"Clients compute {clients:.0%} of the time at most, the server {server:.0%}."


def _tell_early(console: Console, found: Sequence[tuple[str, float]]) -> None:
    """Say so where fast opens were none, by what was measured."""
    for where, early in found:
        if early < 1:
            console.print(
                f"At {where} the server took the data of {early:.1%} of the SYNs that were looked"
                " at: the others were no fast opens.",
                highlight=False,
            )


def _rate_table(points: Sequence[Point]) -> Table:
    table = make_table(
        "Transactions a second (medians; ± 95 %)",
        *("ms", "seen", "TCP", "fast open", "ratio", "model", "control", "CPU"),
    )
    for each in points:
        table.add_row(
            f"{each.rtt * 1000:g}" + (", veth" if each.link == VETH else ""),
            f"{each.measured * 1000:.3g}",
            f"{each.tcp:,.0f}",
            f"{each.tfo:,.0f}",
            shown(each.ratio),
            "-" if each.predicted is None else f"{each.predicted:.2f}",
            shown(each.control),
            shown(each.cpu),
        )
    return table


def _load(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.chart import draw_levels
    from scapy_tfo.gain.load import RATES, Plan, measure

    console = check_outputs(chosen)
    plan = Plan(
        rates=chosen.rate or RATES,
        clients=chosen.clients,
        rounds=chosen.rounds,
        seconds=chosen.seconds,
        rtt=chosen.rtt,
        line=line_of(chosen, BARE),
    )
    around = circumstances(time.time())
    levels, broken = collect(console, measure(plan), len(plan.rates))
    console.print(_load_table(levels))
    tell_few(console, plan.rounds)
    for each in levels:
        if each.limit:
            reached = f"{each.tcp_rate:,.0f}/s with TCP, {each.tfo_rate:,.0f}/s with fast open"
            console.print(f"Of {each.rate:,}/s were reached: {reached}.", highlight=False)
    _tell_early(console, [(f"{each.rate:,}/s", each.early) for each in levels])
    console.print("The paper: nearly the same with and without, so a ratio of about 1.")
    if any(not each.whole for each in levels):
        console.print("The server's process alone: what the kernel receives for it is not in this.")
    tell_circumstances(console, around, plan.line, [each.link for each in levels])
    if chosen.json is not None:
        write_figures(chosen.json, "load", around, plan, cells=[asdict(each) for each in levels])
    if chosen.plot is not None and levels:
        draw_levels(levels, chosen.plot)
    return status(levels, len(plan.rates), broken)


def _load_table(levels: Sequence[Level]) -> Table:
    table = make_table(
        "Part of its core that the server takes (medians; ± 95 %)",
        *("requests/s", "TCP", "fast open", "ratio", "control", "clients busy", "limit"),
    )
    for each in levels:
        table.add_row(
            f"{each.rate:,}",
            f"{each.tcp.value:.1%}",
            f"{each.tfo.value:.1%}",
            shown(each.ratio),
            shown(each.control),
            f"{each.client_busy:.0%}",
            each.limit,
        )
    return table
