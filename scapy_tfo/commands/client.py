"""`scapy-tfo client`: judge any client that a command can start."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import add_color, described, duration, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scapy_tfo.client_laws.schedules.runs import Bounds
    from scapy_tfo.clients.judge import Options
    from scapy_tfo.clients.relay.upstream import Endpoint
    from scapy_tfo.suite.registry import Case
    from scapy_tfo.suite.result import Run

SUMMARY = "judge a client, clause by clause"

_DESCRIPTION = """Judge a client, clause by clause: the suite plays its servers.

  scapy-tfo client -- curl --tcp-fastopen http://{host}:{port}/
  scapy-tfo client -- my-client {host} {port} {file}
  scapy-tfo client lab:curl        a ready-made client; also lab:python-msg
                                   (sendto with MSG_FASTOPEN) and
                                   lab:python-connect (TCP_FASTOPEN_CONNECT)
  scapy-tfo client sim:reference   the reference client in virtual time
  scapy-tfo client sim:NAME        a mutant that --mutants lists, or a client
                                   that 'scapy-tfo variants' lists, likewise

The command is started once for each connection, with {host} and {port} filled
in. It runs in a network namespace in which the suite owns every address; this
needs root, or a host that allows user namespaces. With {file}, the command must
send that file, read until the server closes, and write what it read to standard
output. Without {file}, it is treated as an HTTP client that makes a GET request
and prints the answer.

--ssh USER@HOST starts the client on another host. It needs --address
198.51.100.0/20, which makes a TUN device on this host that leads to all
servers. The other host needs a route to that network through this one.

In every case, the data that the client sends must arrive complete and exactly
once. Every connection is also checked against rules of plain TCP; a broken rule
is a failure of its own.

exit status:
  0  nothing failed
  1  a requirement failed (MUST, step or robust; SHOULD with --strict), or
     the client never uses fast open and --require-fast-open is given
  2  wrong usage or set-up
  3  the client could not be judged: not even a plain connection succeeds
  70  an internal error of scapy-tfo, with a file to attach to a bug report
  130 interrupted; the reports contain the cases that were finished
  141 the reader of the output closed it, as in | head"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`client`."""
    parser = described(commands, "client", SUMMARY, _DESCRIPTION)
    parser.set_defaults(command=_run)
    add = parser.add_argument
    add("words", nargs="*", metavar="COMMAND", help="a command after --; or lab:NAME, sim:NAME")
    add("--only", type=listed, action="extend", default=[], metavar="ID", help="only these cases")
    add("--exclude", type=listed, action="extend", default=[], metavar="ID", help="not these cases")
    add("--slow", action="store_true", help="also run cases that wait for long timers")
    add("--strict", action="store_true", help="a failed SHOULD fails the run")
    add(
        "--require-fast-open",
        action="store_true",
        help="fail a client that never sends a SYN with a cookie and data",
    )
    add("-4", dest="families", action="append_const", const=4, help="judge over IPv4 only")
    add("-6", dest="families", action="append_const", const=6, help="judge over IPv6 only")
    add(
        "--dialogue",
        choices=("raw", "http", "post"),
        default="",
        help="what the client speaks (default: raw with {file}, else http)",
    )
    add(
        "--address",
        action="append",
        default=[],
        metavar="ADDRESS/PREFIX",
        help="play the servers in this network namespace instead, at this address and the "
        "following ones",
    )
    add("--ssh", default="", metavar="USER@HOST", help="start the command there (needs --address)")
    add(
        "--patience",
        type=duration,
        metavar="TIME",
        help="time limit for actions that the client does at once, such as starting, as 4s or "
        "500ms (default: 1.5s; with --ssh: 5s)",
    )
    add(
        "--behind",
        default="",
        metavar="BOX[+BOX]",
        help="put this middlebox between a sim: client and the servers ('scapy-tfo path --boxes' "
        "lists them)",
    )
    add("--label", metavar="TEXT", default="", help="a name for the run, kept in results.json")
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--junit", type=Path, metavar="FILE", help="also write the results as JUnit XML")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write the reports to this directory (default: tfo-results/<UTC time>)",
    )
    add("--quiet", action="store_true", help="print only the summary, no progress")
    add_color(parser)
    add("--list", action="store_true", help="print the cases, and judge nothing")
    add("--mutants", action="store_true", help="print the clients that are wrong on purpose")
    _add_chance(parser)


def _add_chance(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--relay",
        type=_endpoint,
        metavar="HOST:PORT",
        help="let this server answer: for clients of TLS, DNS or any other protocol",
    )
    add(
        "--serve",
        default="",
        metavar="SERVER",
        help="start this server, and let it answer: nginx, nginx-tls, openssl (HTTPS), dnsmasq, or "
        "a command, as one word, that listens on 127.0.0.1 and {port}",
    )
    add(
        "--plain",
        default="",
        metavar="COMMAND",
        help="the same client without fast open, as one word: allows the cases that need it",
    )
    add(
        "--times",
        type=int,
        default=0,
        metavar="N",
        help="judge N random conversations of many connections, instead of the cases",
    )
    add(
        "--seed",
        type=int,
        metavar="N",
        help="number of the first of these conversations (default: 0)",
    )
    add(
        "--explore",
        action="store_true",
        help="play schedules instead of the cases: whole conversations with a real server, whose "
        "packets are lost, late, doubled, swapped or corrupted; --seed decides their order, and "
        "--times limits their number",
    )
    add(
        "--for",
        dest="seconds",
        type=duration,
        metavar="TIME",
        help="with --explore: time in which new schedules begin, as 30s or 10m (default: 1m)",
    )
    add(
        "--schedule",
        default="",
        metavar="SCHEDULE",
        help="play only this schedule, as a report of --explore names it",
    )


def _endpoint(text: str) -> Endpoint:
    from scapy_tfo.clients.relay.upstream import Endpoint

    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT, as in 127.0.0.1:443")
    return Endpoint(host.strip("[]"), int(port))


def _run(chosen: argparse.Namespace) -> int:
    from scapy_tfo import spec, tcp_rules
    from scapy_tfo.clients.judge import PATIENCE, PATIENCE_BY_SSH, Options
    from scapy_tfo.commands import listing, terminal
    from scapy_tfo.commands.console import make_console
    from scapy_tfo.errors import none_of
    from scapy_tfo.mutants.registry import all_client_mutants
    from scapy_tfo.runner.judging.verdicts import with_breaches
    from scapy_tfo.runner.record import Record

    cases = _chosen_cases(chosen)
    if chosen.list:
        listing.show_cases(cases)
        return 0
    if chosen.mutants:
        listing.show_mutants(all_client_mutants(), "scapy-tfo client sim:NAME")
        return 0
    spec.load()
    rules = tcp_rules.load()
    reports = terminal.Reports(
        strict=chosen.strict, json=chosen.json, junit=chosen.junit, out=chosen.out
    )
    reports.check()
    console = make_console(chosen.color)
    record, started, clock = Record(), time.time(), time.monotonic()
    with terminal.progress(console, reports.keep, quiet=chosen.quiet) as (plan, show):
        options = Options(
            slow=chosen.slow,
            families=chosen.families,
            patience=chosen.patience or (PATIENCE_BY_SSH if chosen.ssh else PATIENCE),
            stops_early=True,
            require_fast_open=chosen.require_fast_open,
            on_plan=record.planning(plan),
            on_result=record.taking(show),
            record=record,
        )
        try:
            run = _judged(chosen, cases, options)
        except KeyboardInterrupt:
            if not record.results:
                raise none_of(len(cases), "cases was judged") from None
            run = record.run(" ".join(chosen.words), started, time.monotonic() - clock)
    run = replace(with_breaches(run, rules), label=chosen.label)
    return reports.write(run, console)


def _chosen_cases(chosen: argparse.Namespace) -> Sequence[Case]:
    from scapy_tfo.client_laws.chance import conversations
    from scapy_tfo.client_laws.registry import all_laws
    from scapy_tfo.clients.registry import all_cases
    from scapy_tfo.errors import SetupError
    from scapy_tfo.suite.registry import select

    if chosen.times < 0 or (chosen.seed or 0) < 0:
        raise SetupError("--times and --seed take no negative number")
    if chosen.explore or chosen.schedule:
        _check_explored(chosen)
        return ()
    if chosen.seconds is not None:
        raise SetupError("--for needs --explore: cases are judged until all are done")
    if chosen.seed is not None and not chosen.times:
        raise SetupError(
            f"--seed is the number of the first conversation that --times N draws: to judge that "
            f"one alone, give --seed {chosen.seed} --times 1"
        )
    if chosen.times:
        first = chosen.seed or 0
        if chosen.only or chosen.exclude:
            raise SetupError("--only and --exclude choose cases, which --times does without")
        return conversations(range(first, first + chosen.times))
    return select((*all_cases(), *all_laws()), chosen.only, chosen.exclude)


def _check_explored(chosen: argparse.Namespace) -> None:
    from scapy_tfo.errors import SetupError

    if chosen.only or chosen.exclude:
        raise SetupError("--only and --exclude choose cases, which --explore does without")
    if chosen.relay or chosen.serve or chosen.behind:
        raise SetupError(
            "--explore has a server and a path of its own: it takes no --relay, --serve or --behind"
        )


def _check(chosen: argparse.Namespace) -> None:
    """Raise SetupError for options that do not go together."""
    from scapy_tfo.errors import SetupError

    words, answers = chosen.words, bool(chosen.relay) + bool(chosen.serve) + bool(chosen.dialogue)
    is_one = len(words) == 1
    is_simulated = is_one and words[0].startswith("sim:")
    if chosen.dialogue and is_one and words[0].startswith(("sim:", "lab:")):
        raise SetupError(
            "--dialogue needs a command after --: what ready-made clients speak is known"
        )
    if (chosen.plain or chosen.relay or chosen.serve) and is_one:
        raise SetupError(
            "--plain, --relay and --serve need a command after --: lab: and sim: need none of them"
        )
    if answers > 1:
        raise SetupError(
            "--relay, --serve and --dialogue are alternatives: with the first two, a server answers"
        )
    if is_simulated and (chosen.ssh or chosen.address):
        raise SetupError("--ssh and --address do not go with sim: clients, which run in memory")
    if chosen.behind and not is_simulated:
        raise SetupError(
            "--behind works only with sim:reference and sim:NAME: other clients have a real path"
        )
    if chosen.ssh and not chosen.address:
        raise SetupError("--ssh needs --address: the other host needs a route to the servers")
    if chosen.ssh and is_one:
        raise SetupError("--ssh needs a command after --: ready-made clients run on this host")


def _bounds(chosen: argparse.Namespace) -> Bounds:
    """Of an exploration."""
    from scapy_tfo.client_laws.schedules.runs import Bounds
    from scapy_tfo.client_laws.schedules.schedule import schedule_of

    return Bounds(
        seconds=chosen.seconds or 60.0,
        times=chosen.times or None,
        seed=chosen.seed or 0,
        schedule=schedule_of(chosen.schedule) if chosen.schedule else None,
    )


def _judged(chosen: argparse.Namespace, cases: Sequence[Case], options: Options) -> Run:
    import asyncio
    from contextlib import ExitStack

    from scapy_tfo import spec
    from scapy_tfo.client_laws.schedules.runs import explore_client, explore_simulated
    from scapy_tfo.clients.command import CommandClient, commands, ready_made
    from scapy_tfo.clients.environment import Here, Namespace
    from scapy_tfo.clients.judge import judge
    from scapy_tfo.clients.relay.started import serving
    from scapy_tfo.clients.simulated import simulate
    from scapy_tfo.middleboxes.registry import boxes_named
    from scapy_tfo.runner.interrupts import interrupts_held

    _check(chosen)
    bounds = _bounds(chosen) if chosen.explore or chosen.schedule else None
    words, is_one = chosen.words, len(chosen.words) == 1
    if is_one and words[0].startswith("sim:"):
        boxes = boxes_named(chosen.behind) if chosen.behind else ()
        with interrupts_held():
            if bounds is not None:
                return explore_simulated(words[0], spec.load(), options, bounds)
            return simulate(words[0], cases, spec.load(), options, boxes)
    with ExitStack() as held:
        if is_one and words[0].startswith("lab:"):
            command = ready_made(words[0].removeprefix("lab:"))
        else:
            relay = held.enter_context(serving(chosen.serve)) if chosen.serve else chosen.relay
            command = commands(
                words, dialogue=chosen.dialogue, ssh=chosen.ssh, plain=chosen.plain, relay=relay
            )
        place = Here(chosen.address) if chosen.address else Namespace()
        client = CommandClient(command, place)
        held.callback(client.close)
        if bounds is not None:
            return asyncio.run(explore_client(client, spec.load(), options, bounds))
        return asyncio.run(judge(client, cases, spec.load(), options))
