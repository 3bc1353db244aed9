"""`scapy-tfo fuzz`: its options, and the commands below it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scapy_tfo.commands.arguments import count
from scapy_tfo.commands.fuzz import boofuzz, capture, cluster, corpus, findings, report
from scapy_tfo.commands.fuzz import run as campaign
from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.fuzz.generation.plan import AUTO, COVERAGES

SUMMARY = "judge the replies to thousands of generated packet sequences"
DESCRIPTION = """Send generated packet sequences (programs) to a target, and judge every reply.

TARGET is HOST[:PORT] with an echo application, FILE.toml (a target file, which
starts a stack), lab:linux (this kernel in its own namespace; as root),
sim:reference, or sim:NAME from 'scapy-tfo mutants' or 'scapy-tfo variants'. A
violation is tried again, reduced to the few packets that matter, and saved with
its requirement, as JSON, capture, packetdrill script and pytest test.

Other commands use the results that a campaign has kept:
  scapy-tfo fuzz list                    print its findings
  scapy-tfo fuzz show ID                 print one finding, with its packets
  scapy-tfo fuzz replay ID|FILE          run a finding again
  scapy-tfo fuzz export ID --format ...  write a finding to a file
  scapy-tfo fuzz merge OUT STORE...      join the stores of shards
  scapy-tfo fuzz report STORE...         compare the campaigns of several nights
  scapy-tfo fuzz corpus minimise ...     write a few programs that cover as much

'scapy-tfo fuzz boofuzz TARGET' runs a campaign as a boofuzz session, with its
database and web UI. 'scapy-tfo fuzz capture N' writes a capture of fuzzed
packets, and lets tshark read it.

exit status: 0 nothing new, 1 a finding that --known does not list, 2 wrong
usage or set-up, 3 the target could not be judged, 70 an internal
error of scapy-tfo, 130 interrupted (finished work is kept), 141 the reader of
the output closed it"""

_RUN = "run"
_NAMES = (_RUN, *findings.NAMES, boofuzz.NAME, capture.NAME, corpus.NAME, report.NAME)
"""Of the commands; any other word after `fuzz` is a target."""


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """The command line with the command that `fuzz TARGET` leaves out."""
    given = list(arguments)
    if given[:1] == ["fuzz"] and given[1:2] not in [[name] for name in _NAMES]:
        given.insert(1, _RUN)
    return given


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`fuzz`, and what is below it."""
    group = commands.add_parser("fuzz", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="COMMAND", required=True)
    run = below.add_parser(
        _RUN,
        help="fuzz a target; 'scapy-tfo fuzz TARGET' does so, too",
        prog="scapy-tfo fuzz",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_arguments(run)
    findings.add_commands(below)
    capture.add_command(below, count, _number)
    corpus.add_command(below)
    report.add_command(below)
    boofuzz.add_command(below)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_run)
    parser.add_argument("target", nargs="?", metavar="TARGET", help="the target to fuzz")
    group = parser.add_argument_group("how much")
    add = group.add_argument
    add(
        "--for",
        dest="duration",
        metavar="TIME",
        help="time to send for: 90s, 30m, 2h (default: 60s)",
    )
    add("--programs", type=count, metavar="N", help="size of the campaign, all shards together")
    add("--rate", type=count, metavar="N", help="send at most N segments a second")
    add(
        "--jobs",
        type=count,
        metavar="N",
        help="processes that send, for sim: and lab: targets (default: one for each processor)",
    )
    group = parser.add_argument_group("your own target (HOST:PORT, with an echo application)")
    add = group.add_argument
    add("--iface", default="", metavar="NAME", help="send on this interface")
    add(
        "--source",
        nargs="+",
        action="extend",
        default=[],
        metavar="ADDRESS",
        help="send from these addresses; may be repeated",
    )
    add("--plain-port", type=count, metavar="N", help="another port of the target, fast open off")
    add("--second-port", type=count, metavar="N", help="another port of the target, fast open on")
    group = parser.add_argument_group("many machines")
    add = group.add_argument
    add("--scheduler", metavar="ADDRESS", help="Dask scheduler; each worker has its own target")
    add("--shards", type=count, metavar="N", help="number of shards (default: one for each worker)")
    group = parser.add_argument_group("two targets")
    add = group.add_argument
    add("--against", metavar="OTHER", help="report where TARGET differs from this one")
    add("--strict", action="store_true", help="a difference fails the run")
    _add_choice(parser)
    _add_kept(parser)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("which programs").add_argument
    add(
        "--seed",
        type=_number,
        metavar="N",
        help="random seed; each N gives another campaign (default: 0)",
    )
    add("--shard", metavar="I/N", help="run shard I of N: every Nth batch, from the Ith on")
    add(
        "--profile",
        choices=campaign.PROFILES,
        default="auto",
        help="what the target is allowed to do (default: auto, from its own behaviour)",
    )
    add(
        "--coverage",
        choices=COVERAGES,
        default=AUTO,
        help="which programs are mutated: those with new coverage of the model, and of the target's"
        " code if it can be seen (auto, the default); also of a kernel's counters, which is slower,"
        " and fails if there is neither (target); of the model only (model); only those with a new"
        " state or class of reply (none)",
    )
    add(
        "--corpus",
        type=Path,
        metavar="FILE|DIR",
        help="also mutate the programs in a directory, or those of a store that reached new states",
    )


def _add_kept(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("results").add_argument
    add(
        "--store",
        type=Path,
        metavar="FILE",
        help=f"keep the campaign in this file (default: {campaign.STORE} in --out)",
    )
    add("--resume", action="store_true", help="continue the stored campaign, if there is one")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write the results to this directory (default: tfo-results/<UTC time>)",
    )
    add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    add("--known", type=Path, metavar="FILE", help="TOML list of known findings")
    add("--update-known", action="store_true", help="update the list of --known")
    add("--quiet", action="store_true", help="print only the summary, no progress")
    add(
        "--dashboard",
        action="store_true",
        help="write DIR/dashboard.html, a page that reloads itself, while the campaign runs",
    )


def _run(chosen: argparse.Namespace) -> int:
    if chosen.scheduler is not None:
        return cluster.command(chosen)
    if chosen.shards is not None:
        raise SetupError("--shards needs --scheduler; --shard I/N runs one shard on this machine")
    try:
        return campaign.command(chosen)
    except SetupError as error:
        # `fuzz lst` means a command; what holds a dot or a colon is a target's name.
        is_word = chosen.target and not set(chosen.target) & set(".:")
        hint = did_you_mean(chosen.target, _NAMES) if is_word else ""
        raise SetupError(f"{error}{hint}") from None


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not valid: give a whole number, 0 or more")
    return int(text)
