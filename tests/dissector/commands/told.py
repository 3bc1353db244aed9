"""Connections as the plugin tells them, and what is reported of them."""

from __future__ import annotations

from rich.console import Console

from scapy_tfo.dissector.connections import Connection, Problem
from scapy_tfo.dissector.reading import Reading
from scapy_tfo.report.capture.summary import Summary
from scapy_tfo.report.capture.text import print_capture


def connection(number: int = 0, outcome: str = "accepted", **fields: object) -> Connection:
    base: dict[str, object] = {
        "began": 1_700_000_000.0 + number,
        "capture": "a.pcapng",
        "client": "192.0.2.1",
        "client_port": 40000,
        "server": "192.0.2.7",
        "port": 80,
        "why": "all of it is acknowledged",
        "frames": (1, 2),
        "sent": 20,
        "acknowledged": 20,
        "resent": 0,
        "rtt": 0.02,
        "first_answer": 0.021,
        "round_trips": 1,
        "cookie": "0011223344556677",
    }
    return Connection(outcome=outcome, **{**base, **fields})  # type: ignore[arg-type]


SEVERAL = (
    connection(0),
    connection(1, rtt=0.04),
    connection(
        2,
        "refused-cookie",
        why="a new cookie came",
        acknowledged=0,
        resent=20,
        round_trips=0,
        frames=(9, 10),
    ),
    connection(
        3,
        "unknown",
        server="2001:db8::7",
        why="capture begins after the SYN",
        frames=(),
        sent=None,
        acknowledged=None,
        resent=None,
        rtt=None,
        first_answer=None,
        round_trips=None,
        problems=(Problem(12, "OPT-1: the length is odd", "warning"),) * 2,
    ),
)


def reading(*connections: Connection, tool: str = "TShark 4.0.17", **fields: object) -> Summary:
    base: dict[str, object] = {"capture": "a.pcapng", "packets": 9, "count": len(connections)}
    summary = Summary(tool)
    for each in connections:
        summary.take(each)
    summary.end(Reading(**{**base, **fields}))  # type: ignore[arg-type]
    return summary


def text_of(what: Summary, width: int = 120) -> str:
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        print_capture(what, console)
    return capture.get()
