"""`scapy-tfo lab serve`: its options; what it does is in lab.py, which takes longer to load."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import described, limit, port

_DESCRIPTION = """Run the reference server for curl, for this suite or for any other client.

The server is reached through a TUN device in the current network namespace;
making the device needs CAP_NET_ADMIN. The device, its addresses and its routes
disappear when the command ends. Networks that are in use here are refused."""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`lab`, and `serve` below it."""
    group = commands.add_parser(
        "lab", help="run this suite's own targets, for other tools", allow_abbrev=False
    ).add_subparsers(metavar="COMMAND", required=True)
    parser = described(group, "serve", "run the reference server", _DESCRIPTION)
    parser.set_defaults(command=_serve)
    add = parser.add_argument
    add(
        "--address",
        action="append",
        metavar="ADDRESS[/PREFIX]",
        help="address of the server, at most one of each family (default: 198.51.100.2/24 and "
        "fd00:7413:1::2/64); the kernel gets the first two other addresses of the network",
    )
    add(
        "--app",
        default="http",
        help="application of the server: http (default), echo, mute, close, abort, send:N, "
        "send-close:N, send-abort:N, two-sends:N, half-close:N, reno:N (N bytes); never-reads; "
        "think:N, slow-reader:N, late-close:N, late-accept:N, close-unread:N (N milliseconds); "
        "shared:N (N listeners); signed:N (TCP MD5, key of N times k)",
    )
    add(
        "--mutant",
        default="reference",
        metavar="NAME",
        help="run this mutant or variant instead ('scapy-tfo mutants' and 'scapy-tfo variants' "
        "list them)",
    )
    add("--port", type=port, default=80, metavar="N", help="port to listen on (default: 80)")
    add("--second-port", type=port, metavar="N", help="also listen here, with fast open on")
    add("--plain-port", type=port, metavar="N", help="also listen here, with fast open off")
    add(
        "--small-port",
        type=port,
        metavar="N",
        help="also listen here, with a limit of 4 pending fast opens",
    )
    add(
        "--queue",
        type=limit,
        default=8192,
        metavar="N",
        help="limit of pending fast opens (default: 8192; 0: fast open off)",
    )
    add(
        "--hooks",
        type=Path,
        metavar="PATH",
        help="offer the server's hooks on this Unix socket, for a target file (docs/hooks.md)",
    )


def _serve(chosen: argparse.Namespace) -> int:
    from scapy_tfo.commands.lab import ADDRESSES, Service, serve

    service = Service(
        addresses=chosen.address or ADDRESSES,
        app=chosen.app,
        port=chosen.port,
        second_port=chosen.second_port,
        plain_port=chosen.plain_port,
        small_port=chosen.small_port,
        queue=chosen.queue,
        hooks=chosen.hooks,
        mutant=chosen.mutant,
    )
    return serve(service)
