"""`scapy-tfo capture`: reports the outcome of each fast open in a capture, and compares two."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import described

SUMMARY = "report the outcomes of the fast opens in a capture: report, compare"

_REPORT = """Let tshark and the plugin judge every fast open in a capture, and sum up the outcomes.

FILE is any file that tshark can read; nothing has to be installed in Wireshark. A file that was cut
short is reported as far as it goes.

exit status: 0 reported, 2 wrong usage or set-up, no such file, or a file that cannot be read"""

_COMPARE = """Compare captures of both ends of a path, and say what it did to each fast open.

CLIENT was captured at the clients' end, SERVER at the servers', both as pcap or pcapng with whole
TCP headers, without a NAT between them. Packets are paired by sequence number and timestamp; each
that was dropped, changed, delayed, copied or invented on the way is named with its frames. The
clocks need not agree: the fastest packet of each direction is taken for equally fast.

exit status: 0 compared, 2 wrong usage or set-up, no such file, or a file that cannot be read"""


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
    _add_compare(below)


def _add_compare(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = described(
        below, "compare", "say what the path did, by captures of both ends", _COMPARE
    )
    parser.set_defaults(command=_compare)
    parser.add_argument("client", type=Path, metavar="CLIENT", help="a capture of the clients' end")
    parser.add_argument("server", type=Path, metavar="SERVER", help="a capture of the servers' end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write it as JSON")


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


def _compare(chosen: argparse.Namespace) -> int:
    from scapy_tfo.capture.comparison import compare
    from scapy_tfo.report.capture.comparison import comparison_lines, write_comparison
    from scapy_tfo.report.output import check_file

    if chosen.json is not None:
        check_file(chosen.json)
    comparison = compare(chosen.client, chosen.server)
    if chosen.json is not None:
        write_comparison(comparison, chosen.json)
    for line in comparison_lines(comparison):
        print(line)
    return 0
