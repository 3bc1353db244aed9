"""What `scapy-tfo explore` does with a target on the wire."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scapy_tfo.errors import SetupError
from scapy_tfo.units import plural

if TYPE_CHECKING:
    from scapy_tfo.explore.conversation.run import Problem, Run
    from scapy_tfo.explore.conversation.schedule import Schedule
    from scapy_tfo.explore.explorer import Result
    from scapy_tfo.explore.live.explorer import LiveResult
    from scapy_tfo.targets.reached import Reach

_OWN = ("sim:", "lab:")


def add_way(parser: argparse.ArgumentParser) -> None:
    """How a target on the wire is reached."""
    add = parser.add_argument
    add("--iface", metavar="NAME", help="send through this interface")
    add(
        "--source",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="send from this address (may be repeated)",
    )


def check_way(chosen: argparse.Namespace) -> None:
    """Raises SetupError for options that do not go with the target."""
    if chosen.target.startswith(_OWN) and (chosen.iface or chosen.source):
        raise SetupError(
            f"--iface and --source cannot be given for {chosen.target}, which brings its own"
        )
    if chosen.resume and chosen.store is None:
        raise SetupError("--resume continues what --store FILE keeps: give the file")
    if not chosen.target.startswith("sim:") and (chosen.store or chosen.shard):
        raise SetupError("--store and --shard work with simulated targets, such as sim:reference")
    if chosen.target.startswith("sim:"):
        if chosen.rate is not None:
            raise SetupError(f"--rate works only with targets on the wire, not {chosen.target}")
    elif (chosen.jobs or 1) > 1:
        raise SetupError(
            f"--jobs does not go with {chosen.target}: on the wire one process plays many schedules"
        )


def _reach(chosen: argparse.Namespace, target: str) -> Reach:
    from scapy_tfo.stacks.file import is_target_file
    from scapy_tfo.targets.reached import Reach

    app = None if target.startswith(_OWN) or is_target_file(target) else "echo"
    return Reach(target=target, app=app, iface=chosen.iface, sources=chosen.source)


def explore_live(chosen: argparse.Namespace) -> LiveResult:
    """Explore. Raises SetupError and TargetError."""
    from scapy_tfo.explore.live.run import LiveRequest, explored_live

    return explored_live(
        LiveRequest(
            _reach(chosen, chosen.target),
            chosen.seed,
            chosen.faults,
            None if chosen.all else chosen.seconds,
            chosen.rate,
            chosen.first,
            chosen.strength,
        ),
        tell=tell,
    )


def tell(line: str) -> None:
    """Say on standard error how far it is."""
    print(f"scapy-tfo: {line}", file=sys.stderr)


def reason_of(result: Result) -> str:
    """Why the target could not be judged any further, "" where it could."""
    from scapy_tfo.explore.live.explorer import LiveResult

    return result.gone if isinstance(result, LiveResult) else ""


def plan_live(chosen: argparse.Namespace) -> dict[str, int]:
    """Schedules by stage. Raises SetupError and TargetError."""
    from scapy_tfo.explore.live.run import live_plan

    return live_plan(_reach(chosen, chosen.target), chosen.faults, chosen.strength)


def replay_live(
    chosen: argparse.Namespace, target: str, schedule: Schedule, seed: int
) -> tuple[Run, list[Problem]]:
    """Play a finding again. Raises SetupError and TargetError."""
    from scapy_tfo.explore.live.run import replayed_live

    return replayed_live(_reach(chosen, target), schedule, seed)


def remarks(result: Result) -> Iterator[str]:
    """What a run on the wire has to say besides."""
    from scapy_tfo.explore.live.explorer import LiveResult

    if not isinstance(result, LiveResult):
        return
    if result.again:
        yield (
            f"played again, because something was wrong: {plural(result.again, 'schedule')}; "
            f"right then: {result.excused:,}"
        )
    if result.undecided:
        yield (
            f"{plural(result.undecided, 'more thing')} went wrong that a minute was too short to "
            "play again often enough: explore once more with another --seed"
        )
    for what, why in result.lacks.items():
        yield f"left out, {what}: {why}"
    for why, schedules in sorted(result.left_out.items()):
        noun = "schedule" if schedules == 1 else "schedules"
        yield f"left out, {why} ({schedules:,} {noun})"
