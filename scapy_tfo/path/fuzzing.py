"""Judges a path with a random middlebox, and compares what is said with what the box did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.middleboxes.fuzzed import Deeds, fuzzed
from scapy_tfo.path.evidence import Evidence, Finding, Result, Verdict
from scapy_tfo.path.simulated import observe_simulated
from scapy_tfo.path.transit import Effect
from scapy_tfo.path.verdict import judge

_DELAY = Impairment(delay=0.02)

_DEEDS = {
    "loses": ("lost",),
    "drops": ("lost",),
    "blocks": ("lost",),
    "silences": ("lost",),
    "tracks": ("lost",),
    "strips": ("changed",),
    "changes": ("changed",),
    "cuts": ("changed",),
    "rewrites": ("changed",),
    "shuts": ("changed",),
    "acknowledges": ("changed",),
    "splits": ("changed", "invented"),
    "delays": ("delayed",),
    "doubles": ("doubled",),
    "duplicates": ("doubled",),
    "invents": ("invented",),
    "resets": ("invented",),
    "prohibits": ("invented",),
    "finds": ("invented",),
    "unexplained": ("changed", "lost", "delayed", "doubled", "invented"),
}
"""What a box must have done, by the first word of a finding's name."""

_ANSWERS = ("resets-syn-with-data", "prohibits-syn-with-data", "finds-syn-too-big")
"""Boxes that invent packets towards the client, and are placed by what they answer."""

_WAYS = {"towards the server": (True,), "towards the client": (False,)}


@dataclass(frozen=True, slots=True)
class Judged:
    """idle: the box touched no packet. broken: connections that were not whole. wrong: what is
    said and not so, or is so and not said."""

    name: str
    summary: str
    idle: bool
    verdict: str
    broken: int
    says: tuple[str, ...]
    wrong: tuple[str, ...]


def judged(seed: int) -> Judged:
    """The box of that seed, over the family that its seed is even or odd for, from both ends and
    from one."""
    box = fuzzed(seed)
    family = 4 if seed % 2 else 6
    both = observe_simulated([box], family, seed=seed, impairment=_DELAY)
    evidence, result, deeds = Evidence(both), judge(both), box.deeds
    again = fuzzed(seed)
    one = observe_simulated([again], family, seed=seed, impairment=_DELAY, agent=False)
    wrong = [*_wrong(evidence, result, deeds), *_miscounted(evidence, deeds)]
    wrong += [f"one end: {each}" for each in _wrong(Evidence(one), judge(one), again.deeds)]
    return Judged(
        box.name,
        box.summary,
        deeds.none,
        result.verdict.value,
        len(evidence.broken),
        tuple(f"{each.name} ({each.where}): {each.says}" for each in result.findings),
        tuple(wrong),
    )


def _wrong(evidence: Evidence, result: Result, deeds: Deeds) -> Iterator[str]:
    if evidence.broken and result.verdict is Verdict.TRANSPARENT:
        yield f"transparent, though {len(evidence.broken)} connections were not whole"
    if deeds.none and (result.verdict is not Verdict.TRANSPARENT or result.findings):
        yield f"{result.verdict.value}, though no packet was touched"
    if evidence.has_far:
        for each in result.findings:
            if not _did(each, deeds):
                yield f"{each.name}, though the box did no such thing"


def _did(finding: Finding, deeds: Deeds) -> bool:
    """Whether the box did such a thing at all, in that direction."""
    kinds = _DEEDS.get(finding.name.partition("-")[0], ())
    ways = _WAYS.get(finding.where, (True, False))
    if finding.name in _ANSWERS:
        ways = (False,)
    return any(getattr(deeds, kind)[way] for kind in kinds for way in ways)


def _miscounted(evidence: Evidence, deeds: Deeds) -> Iterator[str]:
    """The law finds no more than was done."""
    for effect in Effect:
        found = Counter(each.onward for each in evidence.fates if effect in each.effects)
        did: Counter[bool] = getattr(deeds, effect.value)
        for onward, number in found.items():
            if number > did[onward]:
                way = "onward" if onward else "homeward"
                yield f"{number} packets {effect.value} {way}, though it was {did[onward]}"
