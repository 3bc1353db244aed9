"""`scapy-tfo explore`: every schedule within bounds, on virtual time."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count, duration, limit
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.explore.conversation.run import Problem, Run
    from scapy_tfo.explore.explorer import Result

SUMMARY = "play every schedule of faults within bounds, and judge what becomes of it"
DESCRIPTION = """Play schedules of conversations, systematically, and judge each of them.

TARGET is sim:reference, or sim:NAME from 'scapy-tfo mutants' or 'scapy-tfo
variants'. A schedule is an opening (plain, with a request for a cookie, with a
good, a wrong or an older cookie), an application of the target, one of the
client, and what happens on the way: any of its packets lost, doubled, swapped
with the next, delayed beyond a timeout or corrupted, up to --faults of them; or
one wrong segment at any place; or other options, windows, numbers and families.

Each packet is held against the rules of TCP, and each end against what the
applications wrote: all of it arrives once and in order, whatever the path does,
and the connection ends in order. After every few dozen schedules the target has
to serve as at the beginning, with its limit of pending fast opens exactly where
it was. Schedules that show something are kept as JSON, the smallest of each
rule that was broken.

'scapy-tfo explore replay FILE' plays one again, and prints its packets.

exit status: 0 nothing found, 1 something found, 2 wrong usage or set-up, 3 the
target could not be judged, 70 an error of scapy-tfo itself, 130 interrupted,
141 nobody reads the output any more"""

_DEFAULT = 120.0
_RUN, _REPLAY = "run", "replay"


def spelled_out(given: Sequence[str]) -> list[str]:
    """The command line with the command that `explore TARGET` leaves out."""
    out = list(given)
    if out[:1] == ["explore"] and out[1:2] not in ([_RUN], [_REPLAY]):
        out.insert(1, _RUN)
    return out


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`explore`, and what is below it."""
    group = commands.add_parser("explore", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="COMMAND", required=True)
    run = below.add_parser(
        _RUN,
        help="explore a target; 'scapy-tfo explore TARGET' does so, too",
        prog="scapy-tfo explore",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run.set_defaults(command=command)
    add = run.add_argument
    add("target", metavar="TARGET", help="the target to explore")
    add("--plan", action="store_true", help="print how many schedules there are, and play none")
    add(
        "--for",
        dest="seconds",
        type=duration,
        default=_DEFAULT,
        metavar="TIME",
        help="end after this time, as in 30s or 2h (default: 2m)",
    )
    add("--all", action="store_true", help="end when the whole plan is done, whatever it takes")
    add("--faults", type=limit, default=2, metavar="N", help="in a schedule at most (default: 2)")
    add("--seed", type=int, default=0, metavar="N", help="of the order (default: 0)")
    add("--jobs", type=count, metavar="N", help="processes (default: one for each processor)")
    add("--first", action="store_true", help="end at the first finding")
    add("--json", type=Path, metavar="FILE", help="write the result as JSON")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="directory of the findings (default: tfo-results/<UTC time>)",
    )
    replay = below.add_parser(
        _REPLAY,
        help="play a finding again, and print its packets",
        description="Play a finding again, print its packets, and say what is wrong.",
        allow_abbrev=False,
    )
    replay.set_defaults(command=replay_command)
    replay.add_argument("file", type=Path, metavar="FILE", help="a finding of 'explore'")
    replay.add_argument("--target", metavar="TARGET", help="another target than the finding's")


def _name(target: str) -> str:
    if not target.startswith("sim:"):
        raise SetupError(f"explore plays on virtual time: give sim:NAME, not {target}")
    return target.removeprefix("sim:")


def command(chosen: argparse.Namespace) -> int:
    """Explore; the exit status."""
    from scapy_tfo.commands.output import check_out
    from scapy_tfo.explore.campaign.files import result_json, write_findings
    from scapy_tfo.explore.campaign.jobs import Request, explored, processors
    from scapy_tfo.explore.explorer import Explorer
    from scapy_tfo.report.output import begin, check_file

    name = _name(chosen.target)
    if chosen.faults > 2:
        raise SetupError("--faults: a schedule has two faults at most")
    if chosen.plan:
        return _tell_plan(chosen.target, Explorer(name).plan(chosen.faults))
    check_out(chosen.out)
    if chosen.json is not None:
        check_file(chosen.json)
    request = Request(
        name,
        chosen.seed,
        chosen.faults,
        None if chosen.all else chosen.seconds,
        chosen.jobs or processors(),
        chosen.first,
    )
    started = time.monotonic()
    result = explored(request)
    seconds = time.monotonic() - started
    files: dict[str, Path] = {}
    if result.found:
        files = write_findings(result, begin(chosen.out, time.time()))
    if chosen.json is not None:
        text = json.dumps({**result_json(result), "seconds": round(seconds, 1)}, indent=2)
        chosen.json.write_text(text + "\n", encoding="utf-8")
    _tell(result, seconds, files)
    return 1 if result.failed else 0


def _tell_plan(target: str, counts: dict[str, int]) -> int:
    for stage, number in counts.items():
        print(f"{number:>12,}  {stage}")
    print(f"{sum(counts.values()):>12,}  schedules for {target}, those with two faults at most")
    return 0


def _tell(result: Result, seconds: float, files: dict[str, Path]) -> None:
    stages = ", ".join(f"{number:,} {stage}" for stage, number in result.played.items())
    whole = "the whole plan" if result.complete else "as far as time allowed"
    print(
        f"{result.target}: {result.total:,} schedules ({stages}), {result.merged:,} merged, "
        f"{result.audits:,} audits, {seconds:.0f} s, {whole}"
    )
    if not result.found:
        print("nothing found")
    for rule, each in sorted(result.found.items(), key=lambda item: item[1].schedule.size):
        problem = each.problem
        word = "warning, " if each.is_advice else ""
        print(f"\n{word}{rule}: {problem.actual}; expected: {problem.expected}")
        after = f", behind {len(each.before)} others" if each.before else ""
        print(f"  {each.schedule}{after}")
        print(f"  {each.count:,} schedules; scapy-tfo explore replay {files[rule]}")


def replay_command(chosen: argparse.Namespace) -> int:
    """Play a finding again; the exit status."""
    from scapy_tfo.explore.campaign.files import read_finding
    from scapy_tfo.explore.explorer import Explorer

    target, seed, schedule, before = read_finding(chosen.file)
    target = chosen.target or target
    run, problems = Explorer(_name(target), seed=seed).replay(schedule, before)
    print(f"{target}: {schedule}")
    _tell_packets(run)
    _tell_problems(problems)
    return 1 if problems else 0


def _tell_packets(run: Run) -> None:
    from scapy_tfo.segment import MalformedPacketError, Segment

    for each in run.trace:
        try:
            text = str(Segment.from_bytes(each.data))
        except MalformedPacketError as error:
            text = str(error)
        arrow = "client -> target " if each.to_target else "client <- target "
        print(f"{each.at:10.3f}  {arrow} {text}" + (f"  [{each.fate}]" if each.fate else ""))


def _tell_problems(problems: Sequence[Problem]) -> None:
    for each in problems:
        print(f"{each.rule}: {each.actual}; expected: {each.expected}")
    if not problems:
        print("nothing wrong")
    sys.stdout.flush()
