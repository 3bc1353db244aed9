"""Estimates from paired measurements, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Any

from scapy_tfo.errors import SetupError

LEVEL = 0.95
"""Of every confidence interval."""

LEAST_PAIRS = 6
"""With fewer pairs no interval of this kind reaches 95 %: 1 - 2 / 2**5 is 94 %."""

_EXACT = 50
"""Up to so many pairs the distribution of the signed ranks is counted; above, it is normal."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """value: of what was found in pairs. low, high: its interval of confidence."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """From one end of the interval to the other."""
        return self.high - self.low

    @property
    def reach(self) -> float:
        """How far the interval reaches from the value, to the further side."""
        return max(self.high - self.value, self.value - self.low)


def saving(slow: Sequence[float], fast: Sequence[float], unit: float) -> Estimate:
    """How much less `fast` takes than `slow`, in units of `unit` seconds.

    slow, fast: seconds, of the same requests in pairs. Raises as `typical` does.
    """
    return typical([(one - other) / unit for one, other in zip(slow, fast, strict=True)])


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """How many times `theirs` one has in `ours`, measured in pairs; all above 0. By the logarithms,
    so that the ratio of the two the other way round is its inverse. Raises as `typical` does."""
    found = typical([log(one / other) for one, other in zip(ours, theirs, strict=True)])
    return Estimate(exp(found.value), exp(found.low), exp(found.high))


def typical(differences: Sequence[float]) -> Estimate:
    """The Hodges-Lehmann estimate, the median of the means of all pairs of values, each with itself
    too (Hodges and Lehmann 1963), and the interval that belongs to Wilcoxon's signed ranks.

    It uses more of the values than their median does, and late ones among them hardly move it. With
    fewer than `LEAST_PAIRS` values the interval is all that there is. Raises SetupError where NumPy
    is missing.
    """
    numpy = import_numpy()
    values = numpy.asarray(differences, dtype=float)
    here, there = numpy.triu_indices(len(values))
    means = numpy.sort((values[here] + values[there]) / 2)
    rank = _outside(len(values))
    return Estimate(float(numpy.median(means)), float(means[rank]), float(means[-1 - rank]))


def _outside(count: int) -> int:
    """How many of the sorted means lie outside the interval, at each end."""
    tail = (1 - LEVEL) / 2
    if count > _EXACT:
        middle, spread = count * (count + 1) / 4, sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return max(0, int(middle + spread * NormalDist().inv_cdf(tail)))
    reached = accumulate(_signed_ranks(count))
    return max(0, sum(1 for each in reached if each <= tail * 2**count) - 1)


@cache
def _signed_ranks(count: int) -> tuple[int, ...]:
    """In how many of the 2**count ways the positive ranks have each sum, from 0 on."""
    ways = [1]
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    return tuple(ways)


def import_numpy() -> Any:
    """Raises SetupError where it is missing."""
    try:
        import numpy
    except ImportError:
        raise SetupError("NumPy is needed: pip install 'scapy-tfo[gain]'") from None
    return numpy
