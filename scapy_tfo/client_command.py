"""`scapy-tfo client`: judge any client that a command can start."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.arguments import described, listed, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scapy_tfo.clients.judge import Options
    from scapy_tfo.suite.registry import Case
    from scapy_tfo.suite.result import Run

SUMMARY = "judge a client, clause by clause"

_DESCRIPTION = """Judge a client, clause by clause: we are the servers that it connects to.

  scapy-tfo client -- curl --tcp-fastopen http://{host}:{port}/
  scapy-tfo client -- my-client {host} {port} {file}
  scapy-tfo client lab:curl        ready-made; also lab:python-msg (sendto with MSG_FASTOPEN) and
                                   lab:python-connect (TCP_FASTOPEN_CONNECT)
  scapy-tfo client sim:reference   the reference client on virtual time, or sim:NAME of --mutants

The command is started once for each connection, in a network namespace of its own in which every
address is ours (as root, or where user namespaces are allowed), with {host} and {port} put in. With
{file}, it must send that file, read until the server closes, and write what it read to standard
output; without, it is taken for an HTTP client that makes a GET request and prints the answer.

A client on another host, started by --ssh USER@HOST, needs a way to us: --address 198.51.100.0/20
makes a TUN device here with all servers behind it, and that host a route to them by way of this
one.

What it sends must arrive whole and once in every case.

exit status:
  0  nothing failed
  1  a requirement failed (MUST, step or robust; SHOULD with --strict)
  2  wrong usage or set-up
  3  the client could not be judged: not even a plain connection succeeds"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`client`."""
    parser = described(commands, "client", SUMMARY, _DESCRIPTION)
    parser.set_defaults(command=_run)
    add = parser.add_argument
    add("words", nargs="*", metavar="COMMAND", help="behind --; or lab:NAME, sim:NAME")
    add("--only", type=listed, action="extend", default=[], metavar="ID", help="these cases only")
    add("--exclude", type=listed, action="extend", default=[], metavar="ID", help="not these")
    add("--slow", action="store_true", help="also cases that wait for long timers")
    add("--strict", action="store_true", help="a SHOULD that is not met fails the run")
    add("-4", dest="families", action="append_const", const=4, help="over IPv4 only")
    add("-6", dest="families", action="append_const", const=6, help="over IPv6 only")
    add("--dialogue", choices=("raw", "http", "post"), default="", help="what the client speaks")
    add(
        "--address",
        action="append",
        default=[],
        metavar="ADDRESS/PREFIX",
        help="answer in this network namespace instead, on this address and those behind it",
    )
    add("--ssh", default="", metavar="USER@HOST", help="start the command there; with --address")
    add(
        "--patience",
        type=seconds,
        metavar="SECONDS",
        help="that the client may take for what it does at once, its start too (default: 1.5; "
        "by ssh: 5)",
    )
    add(
        "--behind",
        default="",
        metavar="BOX[+BOX]",
        help="of sim: clients, with a middlebox between ('scapy-tfo path --boxes' lists them)",
    )
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--junit", type=Path, metavar="FILE", help="also as JUnit XML")
    add("--out", type=Path, metavar="DIR", help="reports and capture (default: tfo-results/...)")
    add("--quiet", action="store_true", help="no line for each case, only the summary")
    add("--color", choices=("auto", "always", "never"), default="auto")
    add("--list", action="store_true", help="print the cases, and judge nobody")
    add("--mutants", action="store_true", help="print the clients that are wrong on purpose")


def _run(chosen: argparse.Namespace) -> int:
    from scapy_tfo import front, listing, spec
    from scapy_tfo.clients.judge import PATIENCE, PATIENCE_BY_SSH, Options
    from scapy_tfo.clients.registry import all_cases
    from scapy_tfo.mutants.registry import all_client_mutants
    from scapy_tfo.suite.registry import select

    cases = select(all_cases(), chosen.only, chosen.exclude)
    if chosen.list:
        listing.show_cases(cases)
        return 0
    if chosen.mutants:
        listing.show_mutants(all_client_mutants(), "scapy-tfo client sim:NAME")
        return 0
    spec.load()
    reports = front.Reports(
        strict=chosen.strict, json=chosen.json, junit=chosen.junit, out=chosen.out
    )
    reports.check()
    console = front.make_console(chosen.color)
    with front.progress(console, len(cases), quiet=chosen.quiet) as show:
        options = Options(
            slow=chosen.slow,
            families=chosen.families,
            patience=chosen.patience or (PATIENCE_BY_SSH if chosen.ssh else PATIENCE),
            on_result=show,
        )
        run = _judged(chosen, cases, options)
    return reports.write(run, console)


def _judged(chosen: argparse.Namespace, cases: Sequence[Case], options: Options) -> Run:
    import asyncio

    from scapy_tfo import spec
    from scapy_tfo.clients.command import CommandClient, commands, ready_made
    from scapy_tfo.clients.judge import judge
    from scapy_tfo.clients.places import Here, Namespace
    from scapy_tfo.clients.simulated import simulate
    from scapy_tfo.errors import SetupError
    from scapy_tfo.middleboxes.registry import boxes_named

    words, addresses = chosen.words, chosen.address
    is_one = len(words) == 1
    if chosen.dialogue and is_one and words[0].startswith(("sim:", "lab:")):
        raise SetupError(
            "--dialogue is for a command behind --: what ready-made clients speak is known"
        )
    if is_one and words[0].startswith("sim:"):
        if chosen.ssh or addresses:
            raise SetupError("--ssh and --address are for a command behind --: sim: is in memory")
        boxes = boxes_named(chosen.behind) if chosen.behind else ()
        return simulate(words[0], cases, spec.load(), options, boxes)
    if chosen.behind:
        raise SetupError("--behind is for sim:reference and sim:NAME: others have a path already")
    if chosen.ssh and not addresses:
        raise SetupError("--ssh needs --address: that host has to reach our servers by a route")
    if chosen.ssh and is_one:
        raise SetupError("--ssh needs a command behind --: ready-made clients run here")
    if is_one and words[0].startswith("lab:"):
        command = ready_made(words[0].removeprefix("lab:"))
    else:
        command = commands(words, dialogue=chosen.dialogue, ssh=chosen.ssh)

    client = CommandClient(command, Here(addresses) if addresses else Namespace())
    try:
        return asyncio.run(judge(client, cases, spec.load(), options))
    finally:
        client.close()
