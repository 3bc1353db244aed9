"""Plays the corpus of schedules at a target, behind its cases.

A run of cases shows each requirement in a situation of its own. Faults that take several things at
once show in schedules; those of the corpus are always the same.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.explore.campaign.rehearsal import packets_of
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.explorer import Explorer, Found, Result
from scapy_tfo.explore.judging.corpus import corpus
from scapy_tfo.explore.judging.results import Told, family_of
from scapy_tfo.explore.live.explorer import LiveExplorer
from scapy_tfo.explore.live.opened import open_site
from scapy_tfo.runner.interrupts import interrupts_held
from scapy_tfo.runner.session import Judge, Request, reach_of
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Run, Verdict
from scapy_tfo.targets.reached import Reach

_SIMULATED = "sim:"
_BESIDE_FAILURES = 3
"""Findings of a family that are told where cases failed: most show the same fault once more."""


def with_schedules(judged: Judge) -> Judge:
    """What judges as `judged` does, and then by the corpus. It leaves the corpus out, and says so,
    where schedules cannot be played at the target."""
    return functools.partial(_judged, judged)


def _judged(judged: Judge, request: Request, cases: Sequence[Case], catalogue: Catalogue) -> Run:
    base = judged(request, cases, catalogue)
    if base.gone or base.interrupted or base.loses:
        return base
    began = time.monotonic()
    chosen = _of_families(corpus(), request.options.families)
    if request.options.on_note is not None:
        request.options.on_note(f"schedules: {len(chosen):,} of the corpus")
    try:
        played = _played(request, chosen)
    except (SetupError, TargetError) as error:
        return replace(base, notes=(*base.notes, f"schedules were not played: {error}"))
    except KeyboardInterrupt:
        note = "interrupted: not every schedule was played"
        return replace(base, notes=(*base.notes, note), interrupted=True)
    seconds = base.seconds + time.monotonic() - began
    return replace(_joined(base, played, request, catalogue), seconds=seconds)


def _of_families(schedules: Iterable[Schedule], families: Sequence[int] | None) -> list[Schedule]:
    return [each for each in schedules if families is None or family_of(each) in families]


def _played(request: Request, schedules: Sequence[Schedule]) -> Result:
    seed = request.options.seed
    if request.target.startswith(_SIMULATED):
        with interrupts_held() as check:
            name = request.target.removeprefix(_SIMULATED)
            return Explorer(name, seed=seed, stop=_asking(check)).explore_these(schedules)
    site = open_site(Reach(target=request.target) if request.is_ours else reach_of(request))
    try:
        return LiveExplorer(site, seed=seed).explore_these(schedules)
    finally:
        site.close()


def _asking(check: Callable[[], None]) -> Callable[[], bool]:
    """A question whether to stop, which raises KeyboardInterrupt where that is why."""

    def stop() -> bool:
        check()
        return False

    return stop


def _joined(base: Run, played: Result, request: Request, catalogue: Catalogue) -> Run:
    told = Told(base.started + base.seconds, len(base.packets))
    failed = {each.family for each in base.results if each.verdict is Verdict.FAIL}
    known = {each.rule for each in base.breaches}
    counts: Counter[int] = Counter()
    for each in sorted(played.found.values(), key=_size):
        family = family_of(each.schedule)
        counts[family] += 1
        is_more = family in failed and counts[family] > _BESIDE_FAILURES
        if each.problem.rule not in known and not is_more:
            told.add(each, packets_of(each, request.target, request.options.seed), catalogue)
    if request.options.on_result is not None:
        for result in told.results:
            request.options.on_result(result)
    notes = [*base.notes, f"{played.total:,} schedules were played"]
    left = sum(max(0, counts[family] - _BESIDE_FAILURES) for family in failed)
    if left:
        notes.append(f"schedules broke {left} more rules: 'scapy-tfo explore' tells of them")
    return replace(
        base,
        results=(*base.results, *told.results),
        breaches=(*base.breaches, *told.breaches),
        packets=(*base.packets, *told.packets) if request.options.capture else base.packets,
        notes=tuple(notes),
    )


def _size(found: Found) -> tuple[int, tuple[int, int, int]]:
    return len(found.before), found.schedule.size
