"""`scapy-tfo capture report`: reports the outcome of each fast open in a capture."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import described

SUMMARY = "report the outcomes of the fast opens in a capture: report"

_REPORT = """Let tshark and the plugin judge every fast open in a capture, and sum up the outcomes.

FILE is any file that tshark can read; nothing has to be installed in Wireshark. A file that was cut
short is reported as far as it goes.

exit status: 0 reported, 2 wrong usage or set-up, no such file, or a file that cannot be read"""


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`capture` and its subcommands."""
    group = commands.add_parser("capture", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="COMMAND", required=True)
    parser = described(below, "report", "sum up the outcomes", _REPORT)
    parser.set_defaults(command=_report)
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="a capture")
    add(
        "--filter",
        default="",
        metavar="DISPLAYFILTER",
        help="look only at packets that match, e.g. 'tcp.port == 443'",
    )
    add("--json", type=Path, metavar="FILE", help="also write it as JSON, with each connection")
    add("--html", type=Path, metavar="FILE", help="also write it as one HTML page")
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def _report(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.dissector.connections import read
    from scapy_tfo.report.capture.html import write_html
    from scapy_tfo.report.capture.json import write_json
    from scapy_tfo.report.capture.text import print_capture
    from scapy_tfo.report.output import check_file

    for path in filter(None, (chosen.json, chosen.html)):
        check_file(path)
    reading = read(chosen.file, display_filter=chosen.filter)
    if chosen.json is not None:
        write_json(reading, chosen.json)
    if chosen.html is not None:
        write_html(reading, chosen.html)
    # Last, since whoever reads it may have seen enough before its end.
    print_capture(reading, make_console(chosen.color))
    return 0
