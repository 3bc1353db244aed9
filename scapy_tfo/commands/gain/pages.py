"""`scapy-tfo gain pages`: measures whole pages with and without fast open."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count, described
from scapy_tfo.commands.gain.common import (
    add_line,
    add_outputs,
    check_outputs,
    check_virtual,
    circumstances,
    collect,
    line_of,
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
from scapy_tfo.gain.link_shape import PAPERS
from scapy_tfo.gain.pages.page import MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from scapy_tfo.gain.pages.experiment import Cell
    from scapy_tfo.gain.pages.published import Published

_TEXT = """Measure how much sooner whole pages load with fast open (table 1 of the paper).

A loader that works like a browser, with this kernel's fast open, and a server for all hosts of a
page run in namespaces of their own, with the paper's link in between (as root, or where user
namespaces are allowed; needs the extra 'gain'). Loads with TCP, with fast open, and with TCP once
more take turns: the last are the control, which must save nothing.

Four pages modelled on the paper's four are included: amazon, nytimes, wsj, wikipedia. --har loads a
page that a browser recorded instead. With --browser, Chromium loads the pages, through a relay on
its side that opens its connections with or without fast open, and Chromium's own figures count.

Ctrl-C keeps what was measured."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`pages`."""
    parser = described(below, "pages", "whole pages, as a browser loads them", _TEXT)
    parser.set_defaults(command=_pages)
    add = parser.add_argument
    add("--page", type=some_of(*MODELS), metavar="NAME,...", help="default: all four")
    add("--har", type=Path, action="append", default=[], metavar="FILE", help="a recorded page")
    add("--browser", action="store_true", help="Chromium loads them (Debian package chromium)")
    add("--rtt", type=times, metavar="TIME,...", help="default: 20ms,100ms,200ms")
    told = "loads of each way (default: 20; with --virtual 1, which is exact)"
    add("--times", type=count, metavar="N", help=told)
    add(
        "--persistent",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep connections for further requests, or open one for each (default: keep)",
    )
    add("--parallel", type=count, default=6, metavar="N", help="connections a host (default: 6)")
    add(
        "--window",
        type=count,
        default=3,
        metavar="N",
        help="initial window in segments (default: 3)",
    )
    add_conditions(parser, "--times", virtual=True)
    add_line(parser, PAPERS)
    add_outputs(parser, plot=True)


def _pages(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.pages.chart import draw
    from scapy_tfo.gain.pages.experiment import RTTS, TIMES, WAYS, Plan, all_pages, cells, measure
    from scapy_tfo.gain.pages.har import read_har

    console = check_outputs(chosen)
    recorded = [read_har(path) for path in chosen.har]
    plan = Plan(
        pages=chosen.page or (() if recorded else MODELS),
        rtts=chosen.rtt or RTTS,
        times=chosen.times or (1 if chosen.virtual else TIMES),
        precision=chosen.precision and 100 * chosen.precision,
        most_time=chosen.most_time,
        persistent=chosen.persistent,
        line=line_of(chosen, PAPERS),
        parallel=chosen.parallel,
        window=chosen.window,
        browser=chosen.browser,
    )
    pages = all_pages(plan, recorded)
    wanted = len(pages) * len(plan.rtts) * plan.until.most * len(WAYS)
    around = circumstances(time.time())
    if chosen.virtual:
        from scapy_tfo.gain.virtual.pages import measure

        check_virtual(chosen, plan.line, "browser", "precision", "most_time")
    with conditions(chosen) as kept:
        loads, broken = collect(console, lambda tell: measure(plan, pages, tell), wanted)
        around |= kept.figures
    found = withheld(cells(plan, pages, loads), chosen, "percent")
    figures = {"cells": [asdict(each) for each in found], "loads": [asdict(x) for x in loads]}
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.plot is not None and found:
            at_the_end.callback(draw, found, chosen.plot)
        if chosen.json is not None:
            at_the_end.callback(write_figures, chosen.json, "pages", around, plan, **figures)
        console.print(_table(found))
        named = [(f"{each.title}, {each.rtt * 1000:g} ms", each) for each in found]
        tell_refused(console, named, chosen)
        if found and plan.times > 1:
            tell_few(console, min(each.loads for each in found))
        tell_circumstances(console, around, plan.line, [each.link for each in loads])
        kept.tell(console)
        for each in filter(None, (_note(cell) for cell in found)):
            console.print(each, highlight=False)
    return status(loads, wanted, broken, status_of(found, chosen))


def _table(cells: Sequence[Cell]) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    title = "Page loads: mean seconds with TCP and fast open (TFO), percent sooner (95 %)"
    table = Table(title=title, box=SIMPLE, pad_edge=False)
    table.add_column("page", no_wrap=True)
    for name in ("RTT", "TCP", "TFO", "sooner", "control", "paper", "CS244", "again"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in cells:
        table.add_row(
            each.page,
            f"{each.rtt * 1000:g} ms",
            f"{each.tcp:.2f}",
            f"{each.tfo:.2f}",
            WITHHELD if each.percent is None else shown(each.percent, 1),
            shown(each.control, 1),
            _published(each.paper),
            _published(each.cs244),
            "-" if each.again is None else f"{each.again[0]:.0f}/{each.again[1]:.0f}",
        )
    return table


def _published(found: Published | None) -> str:
    if found is None:
        return "-"
    return f"{found.percent:.0f}"


def _note(cell: Cell) -> str:
    if not cell.why or cell.percent is None:
        return ""
    return f"{cell.title} at {cell.rtt * 1000:g} ms, {cell.percent.value:.1f} %: {cell.why}."
