"""`scapy-tfo gain rate` and `gain load`: measure short transactions and the server's CPU time."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count, described, duration
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
    one_time,
    shown,
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
from scapy_tfo.gain.names import AUTO, VETH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from scapy_tfo.gain.load import Level
    from scapy_tfo.gain.measuring.rounds import Tell
    from scapy_tfo.gain.rate import Plan, Point

    Measuring = Callable[[Plan, Tell], Iterator[Point]]

_RATE = """Measure short transactions a second: connection, request, answer of 100 bytes, one
after another in a closed loop (paper 6.2), with TCP, with fast open, and with TCP again in turn:
the last is the control, whose ratio to TCP has to be 1.

nginx has a core of its own if there are two or more. At an RTT of 0 the link is a veth pair with
nothing in between (only as root; else the emulator without delay), with `--link auto` and without
other options of the link: `own` and `netem` also apply at 0. At all other RTTs the link is
emulated. `seen` is the RTT that handshakes saw. `model` is the ratio if each transaction took one
such round trip less; at 0.1 ms the paper's ratio is 1.23. `CPU` is the ratio of the server's CPU
time for a transaction, fast open's to TCP's.

Ctrl-C keeps what was measured."""

_LOAD = """Measure what part of its core the server uses at constant rates, with TCP, with fast
open, and with TCP again in turn (paper 6.2, figure 6): requests for 5,000 bytes, each on a
connection of its own. `ratio` compares the CPU time of a request with fast open to TCP's;
`control` compares TCP's second measurement to TCP's, and has to be 1.

nginx has a core of its own if there are two or more, and the link is a veth pair (only as root),
with `--link auto` and without other options of the link. The kernel's work to receive for the
server on this pair is counted, too: a kernel thread does it. The paper found the load nearly the
same with and without fast open, a ratio of about 1.

Ctrl-C keeps what was measured."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`rate` and `load`."""
    parser = described(below, "rate", "short transactions, one after another", _RATE)
    parser.set_defaults(command=_rates)
    add = parser.add_argument
    add("--rtt", type=times, metavar="TIME,...", help="default: 0,0.1ms,0.5ms,1ms,5ms,20ms")
    add("--clients", type=count, default=1, metavar="N", help="loops at the same time (default: 1)")
    add("--rounds", type=count, default=16, metavar="N", help="rounds of each way (default: 16)")
    add(
        "--seconds",
        type=duration,
        default=0.5,
        metavar="TIME",
        help="time of each round (default: 0.5s)",
    )
    add(
        "--compute",
        type=one_time,
        default=0.0,
        metavar="TIME",
        help="with --virtual: computing time of the ends for each transaction (default: 0ms)",
    )
    add_conditions(parser, "--rounds", virtual=True)
    add_line(parser, BARE)
    add_outputs(parser, plot=True)
    parser = described(below, "load", "the server's CPU at constant rates", _LOAD)
    parser.set_defaults(command=_load)
    add = parser.add_argument
    add("--rate", type=counts, metavar="N,...", help="requests a second; default: 500 to 6000")
    add("--clients", type=count, default=4, metavar="N", help="processes (default: 4)")
    add("--rounds", type=count, default=8, metavar="N", help="rounds of each way (default: 8)")
    add("--seconds", type=duration, default=1.0, metavar="TIME", help="each round (default: 1s)")
    add("--rtt", type=one_time, default=0.0, metavar="TIME", help="default: 0ms, the veth pair")
    add_conditions(parser, "--rounds")
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
        precision=chosen.precision,
        most_time=chosen.most_time,
        line=line_of(chosen, BARE),
    )
    measuring: Measuring = _virtually(plan, chosen) if chosen.virtual else measure
    if chosen.compute and not chosen.virtual:
        raise SetupError("--compute needs --virtual: real ends take the time that they take")
    around = circumstances(time.time())
    with conditions(chosen) as kept:
        points, broken = collect(console, lambda tell: measuring(plan, tell), len(plan.rtts))
        around |= kept.figures
    points = withheld(points, chosen, "ratio", "predicted", "cpu")
    figures = [asdict(each) for each in points]
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.plot is not None and points:
            at_the_end.callback(draw_rates, points, chosen.plot)
        if chosen.json is not None:
            at_the_end.callback(write_figures, chosen.json, "rate", around, plan, cells=figures)
        console.print(_rate_table(points))
        tell_refused(console, [(f"{each.rtt * 1000:g} ms", each) for each in points], chosen)
        if points:
            if not chosen.virtual:
                tell_few(console, min(len(each.samples["tcp"]) for each in points))
            console.print(*_limits(points), highlight=False)
        _tell_early(console, [(f"{each.rtt * 1000:g} ms", each.early) for each in points])
        console.print(f"The paper: a ratio of {PAPER[1]} at {PAPER[0] * 1000:g} ms.")
        automatic = not chosen.virtual and plan.line.is_bare and plan.line.link == AUTO
        if automatic and any(not each.rtt and each.link != VETH for each in points):
            console.print("At 0 the link is the emulator without delay: a veth pair needs root.")
        tell_circumstances(console, around, plan.line, [each.link for each in points])
        kept.tell(console)
    return status(points, len(plan.rtts), broken, status_of(points, chosen))


def _virtually(plan: Plan, chosen: argparse.Namespace) -> Measuring:
    from scapy_tfo.gain.virtual.requests import measure_rate

    check_virtual(chosen, plan.line, "precision", "most_time")
    if plan.clients > 1:
        raise SetupError("--clients cannot be combined with --virtual")
    if not min(plan.rtts) and not chosen.compute:
        raise SetupError("at 0 nothing takes time on virtual time: give --rtt, or --compute")
    return partial(measure_rate, compute=chosen.compute)


def _limits(points: Sequence[Point]) -> Iterator[str]:
    """Who kept the rates from being higher."""
    from scapy_tfo.gain.rate import WAITING

    for each in points:
        if each.limit != WAITING:
            yield f"At {each.rtt * 1000:g} ms the {each.limit} limits the rate."
    if any(each.limit == WAITING for each in points):
        yield "Otherwise client and server wait for packets and for each other."
    clients, server = (
        max(getattr(each, f"{end}_busy") for each in points) for end in ("client", "server")
    )
    yield f"Clients compute {clients:.0%} of the time at most, the server {server:.0%}."


def _tell_early(console: Console, found: Sequence[tuple[str, float]]) -> None:
    """Say so where fast opens were none, by what was measured."""
    for where, early in found:
        if early < 1:
            console.print(
                f"At {where} the server took the data of {early:.1%} of the SYNs that were"
                " examined: the others were not fast opens.",
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
            WITHHELD if each.ratio is None else shown(each.ratio),
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
        precision=chosen.precision,
        most_time=chosen.most_time,
        rtt=chosen.rtt,
        line=line_of(chosen, BARE),
    )
    around = circumstances(time.time())
    with conditions(chosen) as kept:
        levels, broken = collect(console, lambda tell: measure(plan, tell), len(plan.rates))
        around |= kept.figures
    levels = withheld(levels, chosen, "ratio")
    figures = [asdict(each) for each in levels]
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.plot is not None and levels:
            at_the_end.callback(draw_levels, levels, chosen.plot)
        if chosen.json is not None:
            at_the_end.callback(write_figures, chosen.json, "load", around, plan, cells=figures)
        console.print(_load_table(levels))
        tell_refused(console, [(f"{each.rate:,}/s", each) for each in levels], chosen)
        if levels:
            tell_few(console, min(len(each.samples["tcp"]) for each in levels))
        for each in levels:
            if each.limit:
                reached = f"{each.tcp_rate:,.0f}/s with TCP, {each.tfo_rate:,.0f}/s with fast open"
                console.print(f"{each.rate:,}/s was not reached: {reached}.", highlight=False)
        _tell_early(console, [(f"{each.rate:,}/s", each.early) for each in levels])
        console.print("The paper: nearly the same with and without fast open, a ratio of about 1.")
        if any(not each.whole for each in levels):
            console.print("These figures leave out the kernel's work to receive for the server.")
        tell_circumstances(console, around, plan.line, [each.link for each in levels])
        kept.tell(console)
    return status(levels, len(plan.rates), broken, status_of(levels, chosen))


def _load_table(levels: Sequence[Level]) -> Table:
    table = make_table(
        "Part of its core that the server uses (medians; ± 95 %)",
        *("requests/s", "TCP", "fast open", "ratio", "control", "clients busy", "limit"),
    )
    for each in levels:
        table.add_row(
            f"{each.rate:,}",
            f"{each.tcp.value:.1%}",
            f"{each.tfo.value:.1%}",
            WITHHELD if each.refused and each.ratio is None else shown(each.ratio),
            shown(each.control),
            f"{each.client_busy:.0%}",
            each.limit,
        )
    return table
