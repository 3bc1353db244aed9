"""`scapy-tfo capture compare`: what a path did, by captures of both of its ends."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import described

_ABOUT = """Compare captures of both ends of a path, and report what it did to each fast open.

CLIENT was captured at the clients' end, SERVER at the servers', both as pcap or pcapng with whole
TCP headers. Packets are paired by sequence number and timestamp, connections by addresses and ports
or, behind an address translator, by their ISN; each packet that was dropped, changed, delayed,
copied or invented on the way is named with its frames. For each pair of hosts the output says what
the path does, and what the affected packets have in common, as 'SYNs with data are lost here: 31 of
31; others pass: 33 of 33'. The clocks need not agree: the fastest packets of the two directions are
assumed to be equally fast.

exit status: 0 compared, 2 wrong usage or set-up, no such file, or a file that cannot be read"""


def add_command(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`capture compare`."""
    parser = described(
        below, "compare", "report what the path did, from captures of both ends", _ABOUT
    )
    parser.set_defaults(command=_run)
    parser.add_argument("client", type=Path, metavar="CLIENT", help="a capture of the clients' end")
    parser.add_argument("server", type=Path, metavar="SERVER", help="a capture of the servers' end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write it as JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write it as one HTML page, with diagrams"
    )


def _run(chosen: argparse.Namespace) -> int:
    from scapy_tfo.capture.comparing.comparison import compare
    from scapy_tfo.report.capture.comparison import comparison_lines, write_comparison
    from scapy_tfo.report.capture.lanes import write_lanes
    from scapy_tfo.report.output import check_file

    for path in filter(None, (chosen.json, chosen.html)):
        check_file(path)
    comparison = compare(chosen.client, chosen.server)
    if chosen.json is not None:
        write_comparison(comparison, chosen.json)
    if chosen.html is not None:
        write_lanes(comparison, chosen.html)
    for line in comparison_lines(comparison):
        print(line)
    return 0
