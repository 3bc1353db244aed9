"""`scapy-tfo fuzz`: a campaign at a target."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scapy_tfo import (
    fuzz_boofuzz_command,
    fuzz_capture_command,
    fuzz_cluster_command,
    fuzz_run_command,
    fuzz_store_command,
)
from scapy_tfo.arguments import count
from scapy_tfo.errors import SetupError

SUMMARY = "find what no case was written for: checked packet sequences, by the thousand"
DESCRIPTION = """Send programs made of seeds to a target, and judge each reply by what is allowed.

TARGET is HOST[:PORT] where an echo application listens, lab:linux (this kernel, in a namespace of
its own; as root), sim:reference, or sim:NAME of 'scapy-tfo mutants'. What is not allowed is tried
again, reduced to the few packets that matter, and kept with its requirement: as JSON, capture,
packetdrill script and pytest test.

Other commands, on what a campaign has kept:
  scapy-tfo fuzz list                    its findings
  scapy-tfo fuzz show ID                 one of them, with its packets
  scapy-tfo fuzz replay ID|FILE          run it again
  scapy-tfo fuzz export ID --format ...  make a file of it
  scapy-tfo fuzz merge OUT STORE...      join the stores of shards

'scapy-tfo fuzz boofuzz TARGET' runs a campaign as a boofuzz session, with its database and web UI.
'scapy-tfo fuzz capture N' writes a capture of fuzzed packets, and lets tshark try it.

exit status: 0 nothing new, 1 a finding that --known does not list, 2 wrong usage or set-up, 3 the
target could not be judged, 130 interrupted: what was finished is kept"""

_RUN = "run"
_NAMES = (*fuzz_store_command.NAMES, fuzz_boofuzz_command.NAME, fuzz_capture_command.NAME)
"""Of the commands; any other word behind `fuzz` is a target."""


def spelled_out(arguments: Sequence[str] | None) -> list[str]:
    """The command line with the command that `fuzz TARGET` leaves out."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["fuzz"] and given[1:2] not in [[name] for name in _NAMES]:
        given.insert(1, _RUN)
    return given


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`fuzz`, and what is below it."""
    group = commands.add_parser("fuzz", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="COMMAND", required=True)
    run = below.add_parser(
        _RUN,
        prog="scapy-tfo fuzz",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_arguments(run)
    fuzz_store_command.add_commands(below)
    fuzz_capture_command.add_command(below, count, _number)
    fuzz_boofuzz_command.add_command(below)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_run)
    parser.add_argument("target", nargs="?", metavar="TARGET", help="what to fuzz")
    group = parser.add_argument_group("how much")
    add = group.add_argument
    add("--for", dest="duration", metavar="TIME", help="90s, 30m, 2h (default: 60s)")
    add("--programs", type=count, metavar="N", help="of the whole campaign, all shards together")
    add("--rate", type=count, metavar="N", help="segments a second at most")
    group = parser.add_argument_group("a target of yours (HOST:PORT, where an echo listens)")
    add = group.add_argument
    add("--iface", default="", metavar="NAME", help="interface to send through")
    add("--source", action="append", default=[], metavar="ADDRESS", help="address to send from")
    add("--plain-port", type=count, metavar="N", help="a listener with fast open off")
    add("--second-port", type=count, metavar="N", help="another listener with fast open")
    group = parser.add_argument_group("many machines")
    add = group.add_argument
    add("--scheduler", metavar="ADDRESS", help="of Dask: each worker has a target of its own")
    add("--shards", type=count, metavar="N", help="parts of the campaign (default: one a worker)")
    group = parser.add_argument_group("two targets")
    add = group.add_argument
    add("--against", metavar="OTHER", help="find where TARGET differs from this one")
    add("--strict", action="store_true", help="a difference is a failure")
    group = parser.add_argument_group("which programs")
    add = group.add_argument
    add("--seed", type=_number, metavar="N", help="another campaign for each N (default: 0)")
    add("--shard", metavar="I/N", help="every Nth batch, from the Ith on")
    add(
        "--profile",
        choices=fuzz_run_command.PROFILES,
        default="auto",
        help="what is allowed (default: auto)",
    )
    add(
        "--corpus",
        type=Path,
        metavar="FILE|DIR",
        help="also mutate what an earlier store reached, or the programs in a directory",
    )
    group = parser.add_argument_group("what is kept")
    add = group.add_argument
    add(
        "--store",
        type=Path,
        metavar="FILE",
        help=f"the campaign (default: {fuzz_run_command.STORE} in --out)",
    )
    add("--resume", action="store_true", help="go on with the store, if there is one")
    add("--out", type=Path, metavar="DIR", help="default: tfo-results/<UTC time>")
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--known", type=Path, metavar="FILE", help="TOML list of findings that are no news")
    add("--update-known", action="store_true", help="bring that list up to date")
    add("--quiet", action="store_true", help="no progress, only the summary")


def _run(chosen: argparse.Namespace) -> int:
    if chosen.scheduler is not None:
        return fuzz_cluster_command.command(chosen)
    if chosen.shards is not None:
        raise SetupError("--shards is for --scheduler; --shard I/N runs one of them here")
    return fuzz_run_command.command(chosen)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no number: give 0 or more")
    return int(text)
