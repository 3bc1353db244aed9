"""`scapy-tfo explore`: every schedule within bounds, on virtual time or on the wire."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import count, duration, limit
from scapy_tfo.commands.explore.cluster import add_cluster, check_cluster, explored_on_cluster
from scapy_tfo.commands.explore.life import live
from scapy_tfo.commands.explore.live import (
    add_way,
    check_way,
    explore_live,
    plan_live,
    reason_of,
    remarks,
    replay_live,
    tell,
)
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.units import plural

if TYPE_CHECKING:
    from scapy_tfo.explore.campaign.jobs import Request
    from scapy_tfo.explore.campaign.known import Known
    from scapy_tfo.explore.conversation.run import Problem, Run
    from scapy_tfo.explore.explorer import Found, Result
    from scapy_tfo.explore.walk import Mistaken

SUMMARY = "play every schedule of faults within bounds, and judge each one"
DESCRIPTION = """Play schedules of conversations, systematically, and judge each of them.

TARGET is sim:reference, or sim:NAME from 'scapy-tfo mutants' or 'scapy-tfo
variants', in virtual time; or on the wire lab:linux, lab:NAME, HOST, HOST:PORT
or FILE.toml, where an echo listens (docs/explore.md).

A schedule is an opening (plain, with a request for a cookie, with a
good, a wrong or an older cookie), an application of the target, one of the
client, and events on the way: any of its packets lost, doubled, swapped
with the next, delayed beyond a timeout or corrupted, up to --faults of them; or
one wrong segment at any place; or other options, windows, numbers and families.

Each packet is checked against the rules of TCP, and each end must receive all
that the other application wrote, once and in order, whatever the path does, and
the connection must end in order. After every few dozen schedules the target has
to serve as at the beginning, with the same limit of pending fast opens. For
each broken rule, the smallest schedule that shows it is saved as JSON.

'scapy-tfo explore replay FILE' plays a saved one again, and prints its packets.

exit status: 0 no finding, 1 a finding, 2 wrong usage or set-up, 3 the
target could not be judged, 70 an internal error of scapy-tfo, 130 interrupted,
141 the reader of the output closed it"""

_DEFAULT = 120.0
_STRONGEST = _MOST_FAULTS = 3
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
        "--covered",
        type=Path,
        metavar="FILE",
        help="write the coverage: states by segments, gaps, pairs of dimensions (Markdown)",
    )
    add(
        "--life",
        action="store_true",
        help="play thousands of connections in one world, and audit it in between",
    )
    add(
        "--for",
        dest="seconds",
        type=duration,
        default=_DEFAULT,
        metavar="TIME",
        help=_FOR,
    )
    add("--all", action="store_true", help="end only when the whole plan is done")
    add("--faults", type=limit, default=2, metavar="N", help="at most N in a schedule (default: 2)")
    add(
        "--strength",
        type=count,
        default=2,
        metavar="N",
        help="how many factors of a context are combined in every way (default: 2)",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the order (default: 0)")
    add("--jobs", type=count, metavar="N", help="processes (default: one for each processor)")
    add("--first", action="store_true", help="end at the first finding")
    add("--json", type=Path, metavar="FILE", help="write the result as JSON")
    add("--known", type=Path, metavar="FILE", help="TOML list of known findings")
    add("--rate", type=count, metavar="N", help="on the wire: send at most N packets a second")
    _add_kept(run)
    add_cluster(run)
    add_way(run)
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="directory of the findings (default: tfo-results/<UTC time>)",
    )
    _add_replay(below)


def _add_kept(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("--store", type=Path, metavar="FILE", help="save finished parts in this file")
    add("--resume", action="store_true", help="continue the stored exploration, if there is one")
    add("--shard", metavar="I/N", help="explore shard I of N, as 2/4")


def _add_replay(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    replay = below.add_parser(
        _REPLAY,
        help="play a finding again, and print its packets",
        description="Play a finding again, print its packets, and say what is wrong.",
        allow_abbrev=False,
    )
    replay.set_defaults(command=replay_command)
    replay.add_argument("file", type=Path, metavar="FILE", help="a finding of 'explore'")
    replay.add_argument(
        "--target",
        metavar="TARGET",
        help="run it at this target instead; required for a target file, and for other machines",
    )
    add_way(replay)


_FOR = (
    "begin no schedule after this time, as in 30s or 2h (default: 2m); on the wire what went wrong "
    "is played again then, for five minutes at most"
)
_SIMULATED = "sim:"
_INTERRUPTED = 130
_LAST = 40
"""Packets of a walk that are printed."""


def command(chosen: argparse.Namespace) -> int:
    """Explore; the exit status."""
    from scapy_tfo.commands.output import check_out
    from scapy_tfo.explore.campaign.jobs import explored
    from scapy_tfo.explore.campaign.known import load_known
    from scapy_tfo.report.output import check_file

    if chosen.faults > _MOST_FAULTS:
        raise SetupError(f"--faults: a schedule has {_MOST_FAULTS} faults at most")
    if chosen.strength > _STRONGEST:
        raise SetupError(f"--strength: {_STRONGEST} at most, or there are too many contexts")
    check_way(chosen)
    check_cluster(chosen)
    name = chosen.target.removeprefix(_SIMULATED)
    is_live = name == chosen.target
    if chosen.life:
        if is_live:
            raise SetupError("--life: only simulated targets live through days, as sim:reference")
        return live(name, chosen)
    if chosen.plan:
        counts = plan_live(chosen) if is_live else _sizes(name, chosen)
        return _tell_plan(chosen.target, counts)
    check_out(chosen.out)
    if chosen.json is not None:
        check_file(chosen.json)
    if chosen.covered is not None:
        check_file(chosen.covered)
    known = () if chosen.known is None else load_known(chosen.known)
    request = _request(chosen, name)
    started = time.monotonic()
    early, lost = 0, []
    if chosen.scheduler is not None:
        outcome, early = explored_on_cluster(chosen, request)
        result, lost = outcome.result, outcome.lost
    else:
        result = explore_live(chosen) if is_live else explored(request, tell)
    if result.interrupted:
        early = _INTERRUPTED
        print("scapy-tfo: interrupted; what was found until then is told", file=sys.stderr)
    gone = reason_of(result)
    seconds = time.monotonic() - started
    status = _reported(chosen, result, seconds, known)
    if gone:
        raise TargetError(gone)
    if lost:
        raise TargetError(f"{len(lost)} parts did not finish: {lost[0]}")
    return early or status


def _reported(
    chosen: argparse.Namespace, result: Result, seconds: float, known: Sequence[Known]
) -> int:
    """Write and print what was found; the exit status."""
    from scapy_tfo.explore.campaign.export import write_exports
    from scapy_tfo.explore.campaign.files import file_name_of, result_json, write_findings
    from scapy_tfo.explore.campaign.known import new_ones
    from scapy_tfo.explore.covered import table
    from scapy_tfo.report.output import begin, point_latest

    files: dict[str, Path] = {}
    new = new_ones(result.found, known)
    problems: list[str] = []
    if result.found:
        out = begin(chosen.out, time.time())
        files = write_findings(result, out)
        for cause, each in result.found.items():
            name = file_name_of(cause)
            problems += write_exports(name, result.target, result.seed, each, out)
        if chosen.out is None:
            point_latest(out)
    if chosen.json is not None:
        text = json.dumps({**result_json(result), "seconds": round(seconds, 1)}, indent=2)
        chosen.json.write_text(text + "\n", encoding="utf-8")
    if chosen.covered is not None:
        chosen.covered.write_text(table(result.covered), encoding="utf-8")
    _tell(result, seconds, files, new, _whole(result, first=chosen.first))
    for problem in problems:
        print(problem)
    return int(any(not each.is_advice for each in new.values()))


def _request(chosen: argparse.Namespace, name: str) -> Request:
    from scapy_tfo.explore.campaign.jobs import Request, processors

    return Request(
        name,
        chosen.seed,
        chosen.faults,
        None if chosen.all else chosen.seconds,
        chosen.jobs or processors(),
        chosen.first,
        chosen.strength,
        chosen.store,
        chosen.resume,
        _shard(chosen.shard),
    )


def _shard(text: str | None) -> tuple[int, int]:
    """Which of how many, counted from 0."""
    from scapy_tfo.fuzz.generation.plan import parse_shard

    one, every = parse_shard(text or "1/1")
    return one - 1, every


def _sizes(name: str, chosen: argparse.Namespace) -> dict[str, int]:
    from scapy_tfo.explore.explorer import Explorer

    return Explorer(name, strength=chosen.strength).plan(chosen.faults)


def _tell_plan(target: str, counts: dict[str, int]) -> int:
    for stage, number in counts.items():
        print(f"{number:>12,}  {stage}")
    print(f"{sum(counts.values()):>12,}  schedules for {target}, less those that are merged")
    return 0


def _whole(result: Result, *, first: bool) -> str:
    if result.complete:
        return "the whole plan"
    return "to the first finding" if first and result.failed else "as far as time allowed"


def _tell(
    result: Result,
    seconds: float,
    files: dict[str, Path],
    new: Mapping[str, Found],
    whole: str,
) -> None:
    from scapy_tfo.explore.audits import WALKED
    from scapy_tfo.explore.conversation.met import POSSIBLE
    from scapy_tfo.explore.judging.clauses import clause_of

    stages = ", ".join(f"{stage}: {number:,}" for stage, number in result.played.items())
    print(
        f"{result.target}: {plural(result.total, 'schedule')} ({stages}), "
        f"{result.merged:,} merged, {plural(result.audits, 'audit')}, {seconds:.0f} s, {whole}"
    )
    for line in remarks(result):
        print(line)
    met, most = len(result.covered.met), len(POSSIBLE)
    print(f"covered: {met} of {most} segments in states (--covered FILE names the others)")
    if not result.found:
        print("nothing found")
    for cause, each in sorted(result.found.items(), key=lambda item: item[1].schedule.size):
        problem = each.problem
        word = "" if cause in new else "known, "
        word += "warning, " if each.is_advice else ""
        rule = "" if cause == problem.rule else f"{problem.rule}, "
        print(f"\n{word}{cause}: {rule}{problem.actual}; expected: {problem.expected}")
        after = f", behind {len(each.before)} others" if each.before else ""
        is_walk = problem.rule in WALKED
        place = "a walk of many connections" if is_walk else str(each.schedule)
        print(f"  {place}{after}; it breaks {clause_of(problem.rule)}")
        noun = "schedule" if each.count == 1 else "schedules"
        count = "" if is_walk else f"{each.count:,} {noun}; "
        print(f"  {count}scapy-tfo explore replay {files[cause]}")


def replay_command(chosen: argparse.Namespace) -> int:
    """Play a finding again; the exit status."""
    from scapy_tfo.explore.campaign.files import read_finding
    from scapy_tfo.explore.explorer import Explorer
    from scapy_tfo.targets.kept import kept_target

    target, seed, schedule, before = read_finding(chosen.file)
    target = chosen.target or kept_target(target, str(chosen.file), "--target")
    name = target.removeprefix(_SIMULATED)
    walks: Sequence[Mistaken] = ()
    if name == target:
        run, problems = replay_live(chosen, target, schedule, seed)
    else:
        explorer = Explorer(name, seed=seed)
        run, problems = explorer.replay(schedule, before)
        walks = explorer.mistaken
    of_walks = [each.problem for each in walks]
    own = [each for each in problems if each not in of_walks]
    if own or not walks:
        print(f"{target}: {schedule}")
        _tell_packets(run)
        _tell_problems(own)
    else:
        # What only walks of many connections show is no part of a schedule.
        _tell_walks(target, walks)
    return 1 if problems or walks else 0


def _tell_walks(target: str, walks: Sequence[Mistaken]) -> None:
    """The last packets of each, and what is wrong."""
    from scapy_tfo.commands.explore.packets import Packets

    for each in walks:
        first = max(len(each.packets) - _LAST, 0) + 1
        print(f"{target}: a walk of many connections, packets {first} to {len(each.packets)}")
        packets = Packets()
        lines = [packets.line(it.when, it.data, to_target=it.outbound) for it in each.packets]
        print(*lines[-_LAST:], sep="\n")
        _tell_problems([each.problem])


def _tell_packets(run: Run) -> None:
    from scapy_tfo.commands.explore.packets import Packets

    packets = Packets()
    # What was lost stands where it would have arrived.
    for each in sorted(run.trace, key=lambda each: each.at):
        print(packets.line(each.at, each.data, to_target=each.to_target, fate=each.fate))


def _tell_problems(problems: Sequence[Problem]) -> None:
    lines = [f"{each.rule}: {each.actual}; expected: {each.expected}" for each in problems]
    for line in dict.fromkeys(lines):
        print(line)
    if not problems:
        print("nothing wrong")
    sys.stdout.flush()
