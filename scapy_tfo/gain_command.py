"""`scapy-tfo gain`: what fast open gains on this machine, over links of our own."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapy_tfo.arguments import count, described
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from scapy_tfo.gain.latency import Cell
    from scapy_tfo.gain.rate import Point
    from scapy_tfo.gain.saving import Estimate

SUMMARY = "measure what fast open gains"

_LATENCY = """Measure one request with fast open and without: its first byte and its last.

This kernel's client and nginx, each in a namespace of its own, with an emulated link between (as
root, or where user namespaces are allowed; needs the extra 'gain'). Requests with TCP, with fast
open, and with TCP once more take turns: the last are the control, which must save nothing.

Ctrl-C keeps what was measured."""

_RATE_TEXT = """Measure short transactions a second: connection, request, answer of 100 bytes, one
after another in a closed loop (paper 6.2), with TCP and with fast open in turn.

The rate's ratio stands beside what one round trip less predicts, and at 0.1 ms beside the paper's
1.23. Over the emulated link a packet takes some 0.05 ms even at 0: a link without any way is not
what this measures. CPU is the server's for each transaction, fast open's to TCP's.

Ctrl-C keeps what was measured."""

_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|)")
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kMG]?)(?:bit/s)?")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`gain`, and what is below it."""
    group = commands.add_parser("gain", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="EXPERIMENT", required=True)
    parser = described(below, "latency", "one request over several links", _LATENCY)
    parser.set_defaults(command=_latency)
    add = parser.add_argument
    add("--rtt", type=_times, metavar="TIME,...", help="default: 0,20ms,50ms,100ms,200ms,300ms")
    add("--size", type=_sizes, metavar="BYTES,...", help="default: 1000,10000,100000,1000000")
    add("--times", type=count, default=20, metavar="N", help="requests of each way (default: 20)")
    add("--down", type=_rate, metavar="RATE", help="of the link to the client, as 4M")
    add("--up", type=_rate, metavar="RATE", help="and from it, as 256k")
    add("--queue", type=count, default=131072, metavar="BYTES", help="in front of each rate")
    add("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    add("--plot", type=Path, metavar="FILE", help="also draw them, as .png or .svg")
    add("--color", choices=("auto", "always", "never"), default="auto")
    parser = described(below, "rate", "short transactions one after another", _RATE_TEXT)
    parser.set_defaults(command=_rates)
    add = parser.add_argument
    add("--rtt", type=_times, metavar="TIME,...", help="default: 0,0.1ms,0.5ms,1ms,5ms,20ms")
    add("--clients", type=count, default=1, metavar="N", help="loops at a time (default: 1)")
    add("--rounds", type=count, default=8, metavar="N", help="of each way (default: 8)")
    add("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    add("--color", choices=("auto", "always", "never"), default="auto")


def _times(text: str) -> list[float]:
    found = [_TIME.fullmatch(each) for each in text.split(",")]
    if None in found:
        raise argparse.ArgumentTypeError(f"'{text}': write times as 20ms,0.1s")
    return [float(each[1]) / (1000 if each[2] == "ms" else 1) for each in found if each]


def _sizes(text: str) -> list[int]:
    if not all(each.isascii() and each.isdigit() and int(each) for each in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}': write sizes in bytes as 1000,100000")
    return [int(each) for each in text.split(",")]


def _rate(text: str) -> float:
    found = _RATE.fullmatch(text)
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"'{text}': write bits a second as 4M or 256k")
    return float(found[1]) * _UNITS[found[2]]


def _latency(chosen: argparse.Namespace) -> int:
    from scapy_tfo.front import make_console
    from scapy_tfo.gain.chart import draw
    from scapy_tfo.gain.latency import RTTS, SIZES, Plan, measure
    from scapy_tfo.report.output import check_file

    for path in filter(None, (chosen.json, chosen.plot)):
        check_file(path)
    plan = Plan(
        rtts=chosen.rtt or RTTS,
        sizes=chosen.size or SIZES,
        times=chosen.times,
        down=chosen.down,
        up=chosen.up,
        queue=chosen.queue,
    )
    console = make_console(chosen.color)
    cells: list[Cell] = []
    wanted = len(plan.rtts) * len(plan.sizes)
    interrupted = False
    with _progress(console, wanted) as advance:
        try:
            for _ in measure(plan, cells.append):
                advance()
        except KeyboardInterrupt:
            interrupted = True
    console.print(_table(cells))
    if chosen.json is not None:
        _write(chosen.json, "latency", plan, cells)
    if chosen.plot is not None and any(each.trips for each in cells):
        draw(cells, chosen.plot)
    if interrupted:
        print(f"scapy-tfo: interrupted: {len(cells)} of {wanted} measured", file=sys.stderr)
        return 130
    return 0


def _rates(chosen: argparse.Namespace) -> int:
    from scapy_tfo.front import make_console
    from scapy_tfo.gain.rate import RTTS, Plan, measure
    from scapy_tfo.report.output import check_file

    if chosen.json is not None:
        check_file(chosen.json)
    plan = Plan(rtts=chosen.rtt or RTTS, clients=chosen.clients, rounds=chosen.rounds)
    console = make_console(chosen.color)
    points: list[Point] = []
    interrupted = False
    with _progress(console, len(plan.rtts)) as advance:
        try:
            for _ in measure(plan, points.append):
                advance()
        except KeyboardInterrupt:
            interrupted = True
    console.print(_rate_table(points))
    if chosen.json is not None:
        _write(chosen.json, "rate", plan, points)
    if interrupted:
        print(
            f"scapy-tfo: interrupted: {len(points)} of {len(plan.rtts)} measured", file=sys.stderr
        )
        return 130
    return 0


def _rate_table(points: list[Point]) -> Table:
    from rich.table import Table

    from scapy_tfo.gain.rate import PAPER

    table = Table(title="Transactions a second with TCP and with fast open (intervals of 95 %)")
    for name in ("RTT", "TCP", "fast open", "ratio", "predicted", "paper", "CPU ratio", "limit"):
        table.add_column(name, justify="right")
    for each in points:
        table.add_row(
            f"{each.rtt * 1000:g} ms",
            f"{each.tcp:,.0f}",
            f"{each.tfo:,.0f}",
            _shown(each.ratio),
            f"{each.predicted:.2f}",
            f"{PAPER[1]:.2f}" if each.rtt == PAPER[0] else "",
            _shown(each.cpu),
            each.limit,
        )
    return table


def _progress(console: Any, wanted: int) -> Any:
    from contextlib import contextmanager

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    @contextmanager
    def shown() -> Any:
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        quiet = not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
            task = progress.add_task("measuring", total=wanted)
            yield lambda: progress.advance(task)

    return shown()


def _table(cells: list[Cell]) -> Table:
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
            _shown(each.trips),
            _shown(each.trips_first),
            _shown(each.control),
        )
    return table


def _shown(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _write(path: Path, experiment: str, plan: Any, found: Sequence[Any]) -> None:
    import json
    import platform

    figures = {
        "schema": 1,
        "experiment": experiment,
        "kernel": platform.release(),
        "plan": asdict(plan),
        "cells": [asdict(each) for each in found],
    }
    try:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error
