"""Checks that each assertion of the cases guards something: without it, a wrong stack passes."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import signal
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

from scapy_tfo import spec
from scapy_tfo.errors import TargetError
from scapy_tfo.mutants.registry import REFERENCE
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.outcome import Ending, Inconclusive
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Result, Verdict
from scapy_tfo.trust.assertion_finder import Role, Weakening, weakenings
from scapy_tfo.trust.assertion_mutation import weakened
from scapy_tfo.trust.matrix import SERVERS, Arena, Kills

_FAMILIES = (4, 6)
_BROKEN = "the weakened case cannot be run"

_LIMIT = 10.0
"""CPU seconds for a conversation, a thousand times what it takes: without a wait some loop."""


class _Endless(SystemExit):
    """A weakened case does not end. A SystemExit, which asyncio lets through."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A case whose verdict tells a mutant over one family.

    trace: file and line of all that the ending passed through. killers: how many cases catch
    that mutant.
    """

    case: str
    mutant: str
    family: int
    trace: frozenset[tuple[str, int]]
    killers: int


@dataclass(frozen=True, slots=True)
class Guard:
    """What became of a weakened assertion.

    case, mutant, family: a kill that it took away, or "" and 0. alone: no other case catches
    that mutant, so that it would survive the whole list. tried: kills that failed through the
    assertion and were tried without it. broken: without it the case cannot be run.
    """

    weakening: Weakening
    case: str = ""
    mutant: str = ""
    family: int = 0
    alone: bool = False
    tried: int = 0
    broken: bool = False

    @property
    def exemption(self) -> str:
        """Why the assertion stays though it guards nothing, or ""."""
        weakening = self.weakening
        return weakening.source.why_exempt(weakening.where, weakening.code)

    @property
    def is_idle(self) -> bool:
        """Whether the assertion guards nothing, and the conversation could go without it.

        To wait is a step of the conversation also where a later assertion of the same case
        tells what it told; and so is a handshake, without which nothing gets on.
        """
        step = self.weakening.role is Role.HANDSHAKE or (
            self.weakening.role is Role.WAIT and self.tried > 0
        )
        return not (self.case or self.broken or step or self.exemption)


def trace_kills(
    kills: Iterable[Kills], *, arena: Arena = SERVERS, processes: int | None = None
) -> list[Kill]:
    """Run each case against each mutant that it catches once more, to see where it fails."""
    every = list(kills)
    with ProcessPoolExecutor(processes or os.cpu_count() or 1) as pool:
        arenas = itertools.repeat(arena)
        return [kill for found in pool.map(_traced, arenas, every, chunksize=4) for kill in found]


def weigh(
    kills: Iterable[Kill], *, arena: Arena = SERVERS, processes: int | None = None
) -> list[Guard]:
    """Weaken each assertion in turn, and look for a kill that this takes away.

    Those of mutants that fewest cases catch are tried first.
    """
    ordered = sorted(kills, key=lambda each: each.killers)
    jobs = [(arena, each, _through(each, ordered)) for each in weakenings(arena.source)]
    with ProcessPoolExecutor(processes or os.cpu_count() or 1) as pool:
        return list(pool.map(_guarded, *zip(*jobs, strict=True), chunksize=4))


def keys(found: Iterable[Weakening]) -> dict[str, Weakening]:
    """Weakenings by a name that stays when lines move."""
    named: dict[str, Weakening] = {}
    for each in found:
        name = f"{each.where}: {each.how}: {each.code}"
        alike = sum(other.startswith(name) for other in named)
        named[f"{name} ({alike + 1})" if alike else name] = each
    return named


def witnesses(guards: Iterable[Guard]) -> dict[str, tuple[str, str, int] | None]:
    """For each weakening, by its name, the case, mutant and family that show what it guards."""
    by_weakening = {each.weakening: each for each in guards}
    found = {name: by_weakening[each] for name, each in keys(by_weakening).items()}
    return {
        name: (each.case, each.mutant, each.family) if each.case else None
        for name, each in found.items()
    }


def takes_away(
    weakening: Weakening, case: str, mutant: str, family: int, arena: Arena = SERVERS
) -> bool:
    """Whether a case catches a mutant, and does not where its assertion is weakened."""
    if not _tells(arena, case, mutant, family):
        return False
    with weakened(weakening):
        return _tells(arena, case, mutant, family) is False


def _through(weakening: Weakening, kills: Sequence[Kill]) -> list[Kill]:
    """The kills that the weakening may take away: their failure passes through its lines."""
    lines = range(weakening.first, weakening.last + 1)
    return [
        each
        for each in kills
        if any(file == weakening.file and line in lines for file, line in each.trace)
    ]


@functools.cache
def _known(arena: Arena) -> tuple[Catalogue, dict[str, Case]]:
    return spec.load(), {each.id: each for each in arena.cases()}


def _simulated(
    arena: Arena, case: Case, mutant: str, family: int, trace: set[tuple[str, int]] | None = None
) -> Result:
    async def run(peer: Any) -> None:
        try:
            await case.run(peer)
        except Ending as ending:
            if trace is not None:
                stack = traceback.extract_tb(ending.__traceback__)
                trace.update((each.filename, each.lineno or 0) for each in stack)
            raise
        except Exception as error:
            raise Inconclusive(_BROKEN) from error

    spied = dataclasses.replace(case, run=run)
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT, _LIMIT)
    try:
        return arena.simulate(mutant, [spied], _known(arena)[0], family)[0]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(_number: int, _frame: object) -> NoReturn:
    raise _Endless


def _tells(
    arena: Arena, case: str, mutant: str, family: int, trace: set[tuple[str, int]] | None = None
) -> bool | None:
    """Whether a case tells a mutant from the reference by its verdict; None where it breaks."""
    chosen = _known(arena)[1][case]
    try:
        mutated = _simulated(arena, chosen, mutant, family, trace)
    except (_Endless, LookupError, TargetError):
        # The weakened assertion may be one that the control handshakes share.
        return None
    if mutated.reason == _BROKEN:
        return None
    if mutated.level.can_fail:
        return mutated.verdict is Verdict.FAIL
    return mutated.verdict is not _simulated(arena, chosen, REFERENCE.name, family).verdict


def _traced(arena: Arena, kills: Kills) -> list[Kill]:
    found = []
    for name in kills.cases:
        for family in _FAMILIES:
            trace: set[tuple[str, int]] = set()
            if _tells(arena, name, kills.mutant, family, trace):
                found.append(Kill(name, kills.mutant, family, frozenset(trace), len(kills.cases)))
                break
    return found


def _guarded(arena: Arena, weakening: Weakening, kills: Sequence[Kill]) -> Guard:
    broken = False
    with weakened(weakening):
        for tried, kill in enumerate(kills, 1):
            told = _tells(arena, kill.case, kill.mutant, kill.family)
            if told is False:
                alone = kill.killers == 1
                return Guard(weakening, kill.case, kill.mutant, kill.family, alone, tried)
            broken = broken or told is None
    return Guard(weakening, tried=len(kills), broken=broken)
