"""`scapy-tfo capture report`: reads captures once, and writes each report as they are read."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import described
from scapy_tfo.dissector.source import Source, live, source_of
from scapy_tfo.errors import SetupError
from scapy_tfo.units import seconds_of

if TYPE_CHECKING:
    from scapy_tfo.dissector.connections import Connection

_ABOUT = """Let tshark and the plugin judge every fast open in a capture, and sum up the outcomes.

FILE is any file that tshark can read, '-' for standard input; several are summed up together, each
read by itself. With --interface, dumpcap captures there until Ctrl-C, or as long as --for says.
You need not install anything in Wireshark. If a file was cut short, the report covers the rest.

exit status: 0 reported, 2 wrong usage or set-up, no such file, or a file that cannot be read"""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`capture report`."""
    parser = described(below, "report", "sum up the outcomes", _ABOUT)
    parser.set_defaults(command=_run)
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="a capture; '-' is standard input")
    add("--interface", metavar="NAME", help="capture here instead of reading files")
    add(
        "--for",
        dest="seconds",
        type=_seconds,
        metavar="TIME",
        help="with --interface: how long, as 30s or 5m (default: until Ctrl-C)",
    )
    add(
        "--filter",
        default="",
        metavar="DISPLAYFILTER",
        help="look only at packets that match, e.g. 'tcp.port == 443'",
    )
    add("--json", type=Path, metavar="FILE", help="also write it as JSON, with each connection")
    add("--csv", type=Path, metavar="FILE", help="also write a line of CSV for each connection")
    add("--html", type=Path, metavar="FILE", help="also write it as one HTML page")
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _run(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.dissector import reading
    from scapy_tfo.report.capture.html import write_html
    from scapy_tfo.report.capture.lines import CsvLines, JsonLines, Lines, writing
    from scapy_tfo.report.capture.summary import Summary
    from scapy_tfo.report.capture.text import print_capture
    from scapy_tfo.report.output import check_file

    sources = _sources(chosen)
    for path in filter(None, (chosen.json, chosen.csv, chosen.html)):
        check_file(path)
    for source in sources:
        source.check()
    if chosen.filter:
        reading.try_filter(chosen.filter)
    summary = Summary(reading.program().text)
    with ExitStack() as stack:
        lines: list[Lines] = []
        if chosen.json is not None:
            lines.append(stack.enter_context(writing(chosen.json, JsonLines)))
        if chosen.csv is not None:
            lines.append(stack.enter_context(writing(chosen.csv, CsvLines)))

        def take(each: Connection) -> None:
            summary.take(each)
            for file in lines:
                file.take(each)

        for source in sources:
            summary.end(reading.read(source, take, display_filter=chosen.filter))
        for file in lines:
            file.end(summary)
    if chosen.html is not None:
        write_html(summary, chosen.html)
    # Last, since whoever reads it may have seen enough before its end.
    print_capture(summary, make_console(chosen.color))
    return 0


def _sources(chosen: argparse.Namespace) -> list[Source]:
    if chosen.interface is not None:
        if chosen.files:
            raise SetupError("give files or --interface, not both")
        return [live(chosen.interface, chosen.seconds)]
    if chosen.seconds is not None:
        raise SetupError("--for says how long to capture: give --interface, too")
    if not chosen.files:
        raise SetupError("name a capture, '-' for standard input, or an --interface")
    if chosen.files.count("-") > 1:
        raise SetupError("standard input can be read once only")
    return [source_of(each) for each in chosen.files]
