"""The options of `scapy-tfo pkt run`."""

from __future__ import annotations

import argparse
from pathlib import Path

from scapy_tfo.commands.arguments import Parser, duration, port

SUMMARY = "run scripts on this kernel, against a target, or with packetdrill itself"
DESCRIPTION = """Run packetdrill scripts: files, or all *.pkt files in and below directories.

Without --target, the kernel of this machine is tested: each script has its own
network namespace and TUN device, and many run at a time. Packets and their
times, by the kernel's own time stamps, are compared with the script; every
difference is reported, not only the first.

With --target, the packets go to a target, named as for 'scapy-tfo test'. Its
application is assumed to make the script's system calls; a script with calls
that the application would not make is refused.

With --client, the scripts are for clients, and play the server for a command,
named as for 'scapy-tfo client':

  scapy-tfo pkt run foo.pkt --client -- my-client {host} {port} {file}
  scapy-tfo pkt run foo.pkt --client lab:curl

The command starts when a script connects, in a network namespace of its own,
with {host} and {port} filled in; {file} is a file with as many bytes as the
script writes. A script with calls that the client would not make is refused.

--engine packetdrill runs packetdrill itself, which must be on PATH (Fedora,
EPEL, openSUSE, nixpkgs and FreeBSD have a package), one script after another.
--engine both compares the two engines.

Scripts run over IPv4, unless their name (*v6.pkt) or their --ip_version says
otherwise. Symbols are defined in symbols.toml, in the directory of the scripts
or above it; -D overrides them.

exit status:
  0  all scripts passed
  1  a script failed, the engines disagree, or a rule of plain TCP was broken
     (--watch)
  2  a script cannot be run, or wrong usage
  3  the target could not be judged: no control handshake succeeds
  70  an internal error of scapy-tfo, with a file to attach to a bug report
  130 interrupted; the reports contain the scripts that were finished
  141 the reader of the output closed it, as in | head"""

LOCAL, PACKETDRILL, BOTH = "local", "packetdrill", "both"
EVERY_VERSION = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.set_defaults(words=[])
    if isinstance(parser, Parser):
        parser.behind = "words"
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="a script, or a directory of scripts (default: this project's own)",
    )
    add(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="take only scripts that check this requirement (ACC-2); may be repeated",
    )
    add(
        "--slow",
        action="store_true",
        help="also run the scripts of a directory that wait for long timers",
    )
    add(
        "--engine",
        choices=(LOCAL, PACKETDRILL, BOTH),
        default=LOCAL,
        help="the engine that runs the scripts (default: local, this project's own)",
    )
    add(
        "--watch",
        action="store_true",
        help="also check every connection of a script against the rules of plain TCP; a broken "
        "rule fails the run",
    )
    _add_target(parser)
    _add_settings(parser)
    _add_reports(parser)
    _add_client(parser)


def _add_target(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--target", metavar="TARGET", help="test this instead of the kernel: HOST:PORT, lab:NAME")
    add(
        "--assume-app",
        choices=("echo", "http", "file", "none"),
        help="with --target: application on the target, echo, http or none (default: echo); with "
        "--client: file, which sends {file}, reads until the server closes and then closes, or "
        "none, an unknown application (default: file if there is {file})",
    )
    add(
        "--source",
        nargs="+",
        action="extend",
        default=[],
        metavar="ADDRESS",
        help="with --target: send from these addresses",
    )
    add("--iface", metavar="NAME", help="with --target: send on this interface")
    for role, what in (
        ("plain", "fast open off"),
        ("second", "fast open on"),
        ("small", "a limit of 4 pending fast opens"),
    ):
        add(
            f"--{role}-port",
            type=port,
            metavar="N",
            help=f"with --target: another port of it, {what}",
        )


def _add_client(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--address",
        action="append",
        default=[],
        metavar="ADDRESS/PREFIX",
        help="with --client: play the servers in this network namespace instead, at this address "
        "and the following ones; commands of the scripts are not run then",
    )
    add(
        "--ssh",
        default="",
        metavar="USER@HOST",
        help="with --client and --address: start the command there",
    )
    add(
        "--client",
        nargs="?",
        const="",
        metavar="CLIENT",
        help="run client scripts at lab:NAME or sim:NAME, or, without a name, at the command "
        "after --",
    )


def _add_settings(parser: argparse.ArgumentParser) -> None:
    from scapy_tfo.pkt.language.settings import VERSIONS

    add = parser.add_argument
    add(
        "--ip-version",
        choices=(*VERSIONS, EVERY_VERSION),
        action="append",
        metavar="VERSION",
        help=f"run scripts over {', '.join(VERSIONS)} or {EVERY_VERSION}; may be repeated",
    )
    add(
        "-D",
        "--define",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="define a symbol of the scripts; may be repeated",
    )
    add(
        "--tolerance-usecs",
        metavar="N",
        help="allowed deviation of times in microseconds (default: 4000)",
    )
    add("--mtu", metavar="N", help="MTU of the TUN device in bytes (default: 1500; 1520 for IPv6)")
    add(
        "--timeout",
        type=duration,
        default=180.0,
        metavar="TIME",
        help="time limit of each script, as 90s or 5m (default: 180s)",
    )
    add("--rounds", type=_count, default=1, metavar="N", help="run everything N times")
    add("--jobs", type=_count, metavar="N", help="scripts to run at a time")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the results as JSON, in the format of 'test'",
    )
    add("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write all reports and the capture to this directory",
    )
    add("--quiet", action="store_true", help="print only failures and the summary")


def is_direct(chosen: argparse.Namespace) -> bool:
    """Whether what is tested hands its packets straight to the script: this kernel, a target of
    our own making, or a client in a namespace of ours."""
    if chosen.client is not None:
        return not chosen.address
    return chosen.target is None or chosen.target.startswith(("lab:", "sim:"))


def client_words(chosen: argparse.Namespace) -> tuple[str, ...]:
    """The client of --client, or its command; none where that is not given."""
    if chosen.client is None:
        return ()
    return (chosen.client,) if chosen.client else tuple(chosen.words)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not valid: give a whole number, 1 or more")
    return int(text)
