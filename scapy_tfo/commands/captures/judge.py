"""`scapy-tfo capture judge`: holds the rules of plain TCP against the connections of captures."""

from __future__ import annotations

import argparse
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import described

if TYPE_CHECKING:
    from scapy_tfo.address import Address
    from scapy_tfo.capture.connections import End

_LAST_PORT = 65535

_ABOUT = """Check every connection in captures, at both ends, against the rules of plain TCP.

Each FILE, pcap or pcapng, is judged by itself. A connection is listed if one of its ends broke a
rule: with the rule, its source, the frames, and the tshark command that shows them. 'capture
report' says whether a server or a client handles fast open correctly.

These are the rules that follow from what both ends sent ('traffic' in docs/generated/oracle.md).
Packets with a wrong checksum are left out, as their receiver drops them.

A capture may lack packets, begin in the middle, have only one direction, or be cut short; checks
that this makes impossible are counted by reason, and never called a breach. Rules that need every
packet are judged if the file shows that it is complete (pcapng with statistics, as dumpcap and
scapy-tfo write it) or if --complete says so. In other files, a breach of such a rule is reported
separately: it is a breach unless the capture lacks packets. If a breach was not captured at the
end that it concerns, something between that end and the capture may have caused it.

exit status: 0 no rule was broken, 1 a rule was broken (of level MUST, step or robust), 2 wrong
usage or set-up, no such file, or a file that cannot be read"""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`capture judge`."""
    parser = described(below, "judge", "check a capture against the rules of plain TCP", _ABOUT)
    parser.set_defaults(command=_run)
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
    add(
        "--between",
        nargs=2,
        type=_end,
        metavar=("CLIENT", "SERVER"),
        help="judge only connections of these two, each as 192.0.2.7:443 or [2001:db8::7]:443",
    )
    add("--all", action="store_true", help="list every connection, and what was not judged of it")
    add("--json", type=Path, metavar="FILE", help="also write it as JSON, with each connection")


def _address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no IP address") from error


def _end(text: str) -> End:
    from scapy_tfo.capture.connections import End

    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no address and port, as 192.0.2.7:443")
    return End(_address(host.removeprefix("[").removesuffix("]")), int(port))


def _run(chosen: argparse.Namespace) -> int:
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
    word = Word(
        complete=chosen.complete,
        unjoined=chosen.no_offloads,
        places=frozenset(chosen.at),
        between=frozenset(chosen.between or ()),
    )
    judged = [(path, judge_file(path, word)) for path in chosen.files]
    if chosen.json is not None:
        write_judgements(judged, rules, chosen.json)
    for number, each in enumerate(judged):
        if number:
            print()
        for line in judgement_lines(each, rules, every=chosen.all):
            print(line)
    return 1 if any(fails(judgement, rules) for _, judgement in judged) else 0
