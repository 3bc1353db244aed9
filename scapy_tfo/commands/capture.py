"""`scapy-tfo capture`: reports the outcome of each fast open in a capture, compares two, and holds
the rules of plain TCP against one."""

from __future__ import annotations

import argparse
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import described

if TYPE_CHECKING:
    from scapy_tfo.address import Address

SUMMARY = "report on the connections in a capture: report, compare, judge"

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

_JUDGE = """Hold the rules of plain TCP against every connection in captures, at both ends.

Each FILE, pcap or pcapng, is judged by itself. A connection is listed if one of its ends broke a
rule: with the rule, its source, the frames, and the tshark command that shows them. Whether a
server or a client is right with fast open, 'capture report' says.

A capture may lack packets, begin in the middle, have one direction only, or be cut short; what
cannot be judged for such a reason is counted by that reason, and never called a breach. Rules that
need every packet are judged where the file shows that it has them (pcapng with statistics, as
dumpcap and scapy-tfo write it) or where --complete says so. What breaks such a rule in other files
is told apart: it is a breach unless the capture lacks packets. Where a breach was not captured at
the end that it is told of, something between that end and the capture may have done it.

exit status: 0 no rule was broken, 1 a rule was broken (of level MUST or robust), 2 wrong usage or
set-up, no such file, or a file that cannot be read"""


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
    _add_judge(below)


def _add_compare(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = described(
        below, "compare", "say what the path did, by captures of both ends", _COMPARE
    )
    parser.set_defaults(command=_compare)
    parser.add_argument("client", type=Path, metavar="CLIENT", help="a capture of the clients' end")
    parser.add_argument("server", type=Path, metavar="SERVER", help="a capture of the servers' end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write it as JSON")


def _add_judge(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = described(below, "judge", "hold the rules of plain TCP against a capture", _JUDGE)
    parser.set_defaults(command=_judge)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="a capture")
    add(
        "--complete",
        action="store_true",
        help="no packet was dropped while it was captured, and it began before its connections",
    )
    add(
        "--at",
        action="append",
        default=[],
        type=_address,
        metavar="ADDRESS",
        help="it was captured at this host, whose packets it has in the order in which they were "
        "sent",
    )
    add(
        "--no-offloads",
        action="store_true",
        help="no interface put segments together or cut them (TSO, GRO, LRO were off)",
    )
    add("--all", action="store_true", help="list every connection, and what was not judged of it")
    add("--json", type=Path, metavar="FILE", help="also write it as JSON, with each connection")


def _address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no IP address") from error


def _judge(chosen: argparse.Namespace) -> int:
    from scapy_tfo import tcp_rules
    from scapy_tfo.capture.judging.judge import Word, judge_file
    from scapy_tfo.report.capture.judgement import (
        by_judge,
        fails,
        judgement_lines,
        write_judgements,
    )
    from scapy_tfo.report.output import check_file

    if chosen.json is not None:
        check_file(chosen.json)
    rules = by_judge(tcp_rules.load())
    word = Word(complete=chosen.complete, unjoined=chosen.no_offloads, places=frozenset(chosen.at))
    judged = [(path, judge_file(path, word)) for path in chosen.files]
    if chosen.json is not None:
        write_judgements(judged, rules, chosen.json)
    for number, each in enumerate(judged):
        if number:
            print()
        for line in judgement_lines(each, rules, every=chosen.all):
            print(line)
    return 1 if any(fails(judgement, rules) for _, judgement in judged) else 0


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
