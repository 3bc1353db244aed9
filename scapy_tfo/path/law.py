"""The law of conservation: what one end sent arrives at the other, once, in time, as it was.

A middlebox goes by the class of a packet, chance does not: a class is said to be lost, delayed or
doubled if that befalls it far more often than it befalls the others. No chance changes a packet
and makes its checksum right again, nor invents one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

from scapy_tfo.path.observation import Probe
from scapy_tfo.path.transit import Effect, Fate

LEAST = 1e-6
"""Probability below which something is no chance: a run makes some hundred comparisons."""

_FEW = 3
"""Packets that the same must befall."""

_BY_CHANCE = (Effect.LOST, Effect.DELAYED, Effect.DOUBLED)

Key = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Deviation:
    """What befalls one class of packets in one direction.

    hits: those that it befell. others: of the same class, in the same direction, that it did not.
    """

    effect: Effect
    onward: bool
    what: str
    hits: Sequence[Fate]
    others: Sequence[Fate]

    @property
    def of(self) -> int:
        """Packets of the class."""
        return len(self.hits) + len(self.others)

    @property
    def probes(self) -> set[Probe]:
        """The kinds of connection in which it befell them."""
        return {each.probe for each in self.hits}

    @property
    def first(self) -> float:
        """When it happened first."""
        return min(each.when for each in self.hits)


def deviations(fates: Sequence[Fate]) -> list[Deviation]:
    """All that is no chance, what happens first in a conversation in front."""
    found: list[Deviation] = []
    for effect in Effect:
        hits = _by_rule(fates, effect) if effect in _BY_CHANCE else _all_of(fates, effect)
        found += _by_class(fates, effect, hits)
    return sorted(found, key=lambda each: (_ORDER.get(each.what, _LAST), not each.onward))


_ORDER = {"SYN-ACK": 1, "SYN-ACK with option": 1, "ACK": 2, "data": 3, "FIN": 4, "RST": 5} | {
    "SYN" + each: 0 for each in ("", " with option", " with data", " with option and data")
}
_LAST = 6


def _all_of(fates: Sequence[Fate], effect: Effect) -> list[Fate]:
    return [each for each in fates if effect in each.effects]


def _by_class(fates: Sequence[Fate], effect: Effect, hits: Collection[Fate]) -> Iterator[Deviation]:
    marked = {id(each) for each in hits}
    classes = dict.fromkeys((each.onward, each.what) for each in hits)
    for onward, what in classes:
        same = [each for each in fates if (each.onward, each.what) == (onward, what)]
        yield Deviation(
            effect,
            onward,
            what,
            [each for each in same if id(each) in marked],
            [each for each in same if id(each) not in marked],
        )


_GROUPINGS: tuple[Callable[[Fate], Key], ...] = (
    lambda each: (each.onward, each.what),
    lambda each: (each.onward, each.what, each.probe),
    lambda each: (each.onward, each.trial),
)
"""By class; by class and kind of connection; by connection."""


def _by_rule(fates: Sequence[Fate], effect: Effect) -> list[Fate]:
    """Those that it befell, of groups that it befalls more often than chance would have it."""
    left = [each for each in fates if Effect.INVENTED not in each.effects]
    found: list[Fate] = []
    for key in _GROUPINGS:
        marked = _remarkable(left, effect, key)
        found += [each for each in left if key(each) in marked and effect in each.effects]
        left = [each for each in left if key(each) not in marked]
    return found


def _remarkable(fates: Sequence[Fate], effect: Effect, key: Callable[[Fate], Key]) -> set[Key]:
    """The groups that stand out, the most remarkable first: what it is compared with is the rest
    without them."""
    of = Counter(map(key, fates))
    hit = Counter(key(each) for each in fates if effect in each.effects)
    found: set[Key] = set()
    while True:
        every, struck = of.total(), hit.total()
        best, least = None, math.log(LEAST)
        for each, hits in hit.items():
            if hits < _FEW:
                continue
            usual = (struck - hits + 1) / (every - of[each] + 2)
            chance = log_tail(hits, of[each], usual)
            if chance < least:
                best, least = each, chance
        if best is None:
            return found
        found.add(best)
        del of[best], hit[best]


def log_tail(hits: int, of: int, usual: float) -> float:
    """Logarithm of the probability of so many hits or more (a bound of it: Chernoff's)."""
    share = hits / of
    if share <= usual or usual >= 1.0:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - usual)) if share < 1.0 else 0.0
    return -of * (share * math.log(share / usual) + rest)


def chance_share(fates: Sequence[Fate], found: Sequence[Deviation]) -> float:
    """The share of packets that were lost though no rule shows."""
    told = {id(each) for one in found for each in one.hits}
    left = [each for each in fates if id(each) not in told and Effect.INVENTED not in each.effects]
    return sum(Effect.LOST in each.effects for each in left) / len(left) if left else 0.0
