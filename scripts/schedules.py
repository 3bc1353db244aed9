"""Makes the corpus of schedules that a slow run of cases plays.

It consists of what found each wrong stack in `make explore-mutants`; of schedules in which one
thing alone is out of the ordinary, each such thing with each application; and of mixtures: those of
a few thousand that together have most pairs of what schedules differ in, for the fewest packets.
Schedules that blame the reference are left out with a message: they show a fault of ours. With
`--linux`, as root, those are left out, too, that show something at this kernel: what it does wrong
is known (docs/found), and would be told in each run.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.explore.conversation.deeds import RESTS_FOR_MINUTES
from scapy_tfo.explore.conversation.judge import judged
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import Schedule, from_json, program_of
from scapy_tfo.explore.covered import rows_of
from scapy_tfo.explore.ends.opening import ODD, USUAL
from scapy_tfo.explore.ends.steps import is_written_out, longest_wait
from scapy_tfo.explore.explorer import Explorer
from scapy_tfo.explore.live.explorer import LiveExplorer
from scapy_tfo.explore.live.opened import open_site
from scapy_tfo.explore.stages.alone import alone
from scapy_tfo.explore.stages.mixed import mixed
from scapy_tfo.explore.stages.plan import cells, interleaved
from scapy_tfo.explore.stages.single import (
    with_a_deed,
    with_a_fault,
    with_a_wrong_segment_in_each_state,
)
from scapy_tfo.targets.reached import Reach

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "scapy_tfo" / "explore" / "judging" / "corpus.json"
FOUND = ROOT / "docs" / "generated" / "explore.json"
POOL, CHOSEN = 4000, 400
_SEED = 1
PATIENT = 10.0
"""Seconds that an application may wait at once."""
_CONNECTION = 10
"""Packets that any conversation takes."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pool", type=int, default=POOL, help="mixtures to choose from")
    parser.add_argument("--chosen", type=int, default=CHOSEN, help="mixtures of the corpus")
    parser.add_argument("--found", type=Path, default=FOUND, help="by explore_mutants.py")
    parser.add_argument("--write", type=Path, default=FILE, metavar="FILE")
    parser.add_argument("--linux", action="store_true", help="leave out what shows at lab:linux")
    chosen = parser.parse_args()
    found = sorted(set(found_by(chosen.found)), key=str)
    mixtures = [each.schedule for each in cover(candidates(chosen.pool), chosen.chosen)]
    corpus = list(dict.fromkeys((*found, *simple(), *mixtures)))
    right = [each for each in corpus if is_quick(each) and not blames_the_reference(each)]
    if chosen.linux:
        wrong = wrong_at("lab:linux", right)
        right = [each for each in right if each not in wrong]
    # Here, because the corpus need not be there yet.
    from scapy_tfo.explore.judging.corpus import text_of

    chosen.write.write_text(text_of(right), encoding="utf-8")
    print(f"{len(right):,} schedules, {len(found):,} of which found a wrong stack")
    return 0


def is_quick(schedule: Schedule) -> bool:
    """Whether it can be played where time really passes."""
    some = (each for each in (schedule.server, schedule.client) if is_written_out(each))
    return all(longest_wait(each) <= PATIENT for each in some)


def found_by(path: Path) -> Iterator[Schedule]:
    """What found a wrong stack, by itself."""
    for entry in json.loads(path.read_text(encoding="utf-8"))["mutants"].values():
        if "played" not in entry or entry["before"]:
            continue
        schedule = from_json(entry["played"])
        # On the wire no program of the fuzzer is played.
        if program_of(schedule) is None:
            yield schedule


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mixture. parts: pairs of what schedules differ in, and segments in states, that it has.
    packets: as many as it takes."""

    schedule: Schedule
    parts: frozenset[object]
    packets: int


def simple() -> list[Schedule]:
    """One thing alone is out of the ordinary in each: of a context, a deed, a fault, or a wrong
    segment."""
    odd = [each for each in alone() if each.opening in USUAL and not _moves(each)]
    odd += [Schedule(opening, "echo") for opening in ODD]
    explorer = Explorer("reference", seed=_SEED)
    bases = list(explorer.played(cells()))
    done = (*with_a_deed(), *with_a_fault(), *with_a_wrong_segment_in_each_state(bases))
    return [*odd, *(each for each in done if not _rests_for_minutes(each))]


def _rests_for_minutes(schedule: Schedule) -> bool:
    return any(each.kind == RESTS_FOR_MINUTES for each in schedule.deeds)


def _moves(schedule: Schedule) -> bool:
    """Whether the client has an address of its own, of which there are hundreds."""
    return "address" in dict(schedule.context)


def candidates(count: int) -> list[Candidate]:
    """So many, played at the reference."""
    explorer = Explorer("reference", seed=_SEED)
    stream = interleaved([mixed(random.Random(_SEED), explorer.length_of)], [])
    played = itertools.chain.from_iterable(map(explorer.played, stream))
    some = (run for run in played if is_quick(run.schedule))
    return [_candidate(run) for run in itertools.islice(some, count)]


def _candidate(run: Run) -> Candidate:
    parts: set[object] = set(run.met)
    for row in rows_of(run.schedule):
        parts.update(itertools.combinations(row, 2))
    return Candidate(run.schedule, frozenset(parts), run.passed)


def cover(some: Iterable[Candidate], count: int) -> list[Candidate]:
    """At most so many that together have most parts, those with most new ones a packet first."""
    left = [(-_worth(each, set()), number, each) for number, each in enumerate(some)]
    heapq.heapify(left)
    met: set[object] = set()
    chosen: list[Candidate] = []
    while left and len(chosen) < count:
        worth, number, each = heapq.heappop(left)
        now = -_worth(each, met)
        if now > worth:
            # It was worth more when fewer had been chosen.
            heapq.heappush(left, (now, number, each))
            continue
        chosen.append(each)
        met |= each.parts
    return chosen


def _worth(each: Candidate, met: set[object]) -> float:
    return len(each.parts - met) / (_CONNECTION + each.packets)


def wrong_at(target: str, schedules: Sequence[Schedule]) -> set[Schedule]:
    """Those that show a problem at a target on the wire, among many and maybe once."""
    site = open_site(Reach(target=target))
    try:
        runs = LiveExplorer(site).played(schedules)
        wrong = {run.schedule: judged(run) for run in runs if judged(run)}
    finally:
        site.close()
    for schedule, problems in wrong.items():
        print(f"left out: {schedule}: {problems[0]}", file=sys.stderr)
    return set(wrong)


def blames_the_reference(schedule: Schedule) -> bool:
    """Whether it shows a problem there; says so."""
    problems = Explorer("reference").problems_of(schedule)
    if problems:
        print(f"left out: {schedule}: {problems[0]}", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
