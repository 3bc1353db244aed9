"""`scapy-tfo gain ways`: loads pages with TLS, early data, QUIC and kept connections."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import described
from scapy_tfo.commands.gain.common import (
    add_line,
    add_outputs,
    check_outputs,
    circumstances,
    collect,
    line_of,
    make_table,
    some_of,
    status,
    tell_circumstances,
    times,
    write_figures,
)
from scapy_tfo.gain.link_shape import PAPERS
from scapy_tfo.gain.names import VIRTUAL, WAY_NAMES
from scapy_tfo.gain.pages.page import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from scapy_tfo.gain.secure.ways import Load

_ONE = "request"
_TEXT = """Compare fast open with other ways to save round trips, in virtual time: TLS 1.3 with
early data, QUIC with 0-RTT, connections that are kept; and TCP's ways with and without fast open.

The pages and the link are those of `gain pages`, and `request` is a page of one answer of 1,000
bytes. TCP is the reference's, TLS this host's OpenSSL, QUIC aioquic's (the extra 'quic'). The
client has visited each page before: it has cookies, sessions and tickets. Only the link and the
pages' thinking take time; ciphers take none.

Ctrl-C keeps what was measured."""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`ways`."""
    parser = described(below, "ways", "compared with early data, QUIC and kept connections", _TEXT)
    parser.set_defaults(command=_ways)
    add = parser.add_argument
    add("--page", type=some_of(_ONE, *MODELS), metavar="NAME,...", help="default: all")
    add("--way", type=some_of(*WAY_NAMES), metavar="NAME,...", help="default: all")
    add("--rtt", type=times, metavar="TIME,...", help="default: 20ms,100ms,200ms")
    add_line(parser, PAPERS)
    add_outputs(parser, plot=False)


def _ways(chosen: argparse.Namespace) -> int:
    from scapy_tfo.gain.pages.page import bundled
    from scapy_tfo.gain.secure.ways import REQUEST, RTTS, Plan, measure

    console = check_outputs(chosen)
    plan = Plan(ways=chosen.way or WAY_NAMES, rtts=chosen.rtt or RTTS, line=line_of(chosen, PAPERS))
    names = chosen.page or (_ONE, *MODELS)
    pages = [REQUEST if each == _ONE else bundled(each) for each in names]
    wanted = len(pages) * len(plan.rtts) * len(plan.ways)
    around = {**circumstances(time.time()), "clock": VIRTUAL}
    loads, broken = collect(console, lambda tell: measure(plan, pages, tell), wanted)
    with ExitStack() as at_the_end:
        # Also where nobody reads what is told.
        if chosen.json is not None:
            figures = [asdict(each) for each in loads]
            at_the_end.callback(write_figures, chosen.json, "ways", around, plan, cells=figures)
        for table in _tables(loads):
            console.print(table)
        console.print(
            "In brackets: how much less the load takes than without fast open, in percent.",
            highlight=False,
        )
        tell_circumstances(console, around, plan.line, [VIRTUAL])
    return status(loads, wanted, broken)


def _tables(loads: Sequence[Load]) -> Iterator[Table]:
    """One for each round-trip time: seconds by way and page."""
    from scapy_tfo.gain.secure.ways import WAYS, less

    titles = {each.name: each.title for each in WAYS}
    pages = list(dict.fromkeys(each.page for each in loads))
    for rtt in dict.fromkeys(each.rtt for each in loads):
        table = make_table(f"Seconds at {rtt * 1000:g} ms", "", *pages, left=1)
        there = {(each.way, each.page): each.seconds for each in loads if each.rtt == rtt}
        for way in dict.fromkeys(each.way for each in loads):
            row = []
            for page in pages:
                seconds = there.get((way, page))
                saved = less(there, way, page)
                gained = "" if saved is None else f" ({saved:.0%})".replace("%", "")
                row.append("-" if seconds is None else f"{seconds:.2f}{gained}")
            table.add_row(titles[way], *row)
        yield table
