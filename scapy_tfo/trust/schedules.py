"""Explores legal stacks: by the corpus, by all that is crossed, and by pairs of legal deeds."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from scapy_tfo.explore.explorer import Explorer, Result
from scapy_tfo.explore.judging.corpus import corpus


def explored(name: str, schedules: int) -> Iterator[tuple[str, str]]:
    """What exploring blames a stack for: a rule, and what shows it. Advice is left out.

    schedules: of everything that is crossed, beginning with those without faults; as many again
    have two legal deeds each. Their order goes by the name, so that many stacks meet many of them.
    All of them meet the whole corpus.
    """
    if not schedules:
        return
    played = [Explorer(name).explore_these(corpus())]
    for result in (*played, *(_result(name, schedules, each) for each in (False, True))):
        for rule, each in result.found.items():
            if not each.is_advice:
                behind = f", behind {len(each.before)} others" * bool(each.before)
                told = f"{each.problem.actual}, not {each.problem.expected}"
                yield f"explore: {rule}", f"{each.schedule}{behind}: {told}"


def _result(name: str, schedules: int, is_legal: bool) -> Result:
    seed = zlib.crc32(name.encode())
    explorer = Explorer(name, seed=seed, stop=lambda: explorer.result.total >= schedules)
    return explorer.explore_deeds() if is_legal else explorer.explore()
