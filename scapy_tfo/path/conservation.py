"""Adds to what was recognised at the handshake what the law of conservation finds besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from scapy_tfo.path import described, patterns
from scapy_tfo.path.evidence import Evidence, Finding, Verdict
from scapy_tfo.path.law import Deviation, chance_share, deviations
from scapy_tfo.path.observation import FAST_OPENS
from scapy_tfo.path.patterns import COVERS, Covers
from scapy_tfo.path.transit import Effect, Fate

_CHANCE = 0.01
"""Share of packets that are lost for no reason from which on a connection may break by chance."""


def complete(evidence: Evidence, named: Sequence[Finding]) -> tuple[list[Finding], list[Fate]]:
    """The findings, with those for packets that the named ones do not explain; and the packets'
    fates without what is explained."""
    left = evidence.fates
    for each in named:
        if each.name in COVERS:
            left = _without(left, COVERS[each.name])
    found = list(named)
    for finding, covers in patterns.later(left):
        found.append(finding)
        left = _without(left, covers)
    rules = deviations(left)
    found += described.findings(rules, whole=not evidence.broken and _opens_fast(evidence))
    left = _without(left, _among(rules))
    if not any(each.harm for each in found):
        found += _breaks(evidence, left) or _refuses(evidence)
    return found, left


def doubt(evidence: Evidence, left: Sequence[Fate]) -> str:
    """Why the path cannot be judged though connections of it were not whole."""
    broken = evidence.broken
    lost = sum(Effect.LOST in each.effects for each in left)
    return (
        f"{len(broken)} of {len(evidence.everywhere)} connections were not whole, and {lost} of "
        f"{len(left)} packets were lost for no reason that shows: run it again"
    )


def _without(fates: Sequence[Fate], covers: Covers) -> list[Fate]:
    """The fates less the effects that are explained."""
    return [
        replace(each, effects=frozenset(one for one in each.effects if not covers(each, one)))
        if each.effects
        else each
        for each in fates
    ]


def _among(rules: Sequence[Deviation]) -> Covers:
    told = {(id(each), one.effect) for one in rules for each in one.hits}
    return lambda each, effect: (id(each), effect) in told


def _opens_fast(evidence: Evidence) -> bool:
    return all(each.accepted for each in evidence.of(*FAST_OPENS))


def _breaks(evidence: Evidence, left: Sequence[Fate]) -> list[Finding]:
    """Connections that were not whole, by what befell them first; nothing where packets are lost
    everywhere, as happens by chance."""
    broken = evidence.broken
    if not broken or chance_share(left, ()) > _CHANCE:
        return []
    numbers = {number for number, each in enumerate(evidence.everywhere) if not each.whole}
    first: dict[int, Fate] = {}
    for each in left:
        if each.effects and each.trial in numbers:
            first.setdefault(each.trial, each)
    if not first:
        return []
    (effect, onward, what), times = Counter(
        (min(each.effects, key=lambda one: one.value), each.onward, each.what)
        for each in first.values()
    ).most_common(1)[0]
    hits = [each for each in first.values() if (each.onward, each.what) == (onward, what)]
    (finding,) = described.findings([Deviation(effect, onward, what, hits, ())], whole=False)
    says = f"{len(broken)} of {len(evidence.everywhere)} connections were not whole; what befell "
    says += f"{times} of them first: "
    return [replace(finding, says=says + finding.says)]


def _refuses(evidence: Evidence) -> list[Finding]:
    """No fast open is accepted, whatever the reason."""
    tried = [each for each in evidence.everywhere if each.trial.probe in FAST_OPENS]
    if not tried or any(each.accepted for each in tried):
        return []
    says = "no fast open is accepted, though the packets that arrive are those that were sent"
    return [Finding("unexplained", Verdict.TAMPERS, says)]
