"""Estimates medians of paired measurements, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scapy_tfo.errors import SetupError

LEVEL = 0.95
"""Of every confidence interval."""

_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """value: the median of what was found in pairs. low, high: its interval of confidence."""

    value: float
    low: float
    high: float


def saving(slow: Sequence[float], fast: Sequence[float], unit: float) -> Estimate:
    """How much less `fast` takes than `slow`, in units of `unit` seconds.

    slow, fast: seconds, of the same requests in turn. The median, since a machine that is busy for
    a moment makes some of them late; its interval by the bootstrap. Raises
    SetupError where SciPy is missing.
    """
    return typical([(one - other) / unit for one, other in zip(slow, fast, strict=True)])


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """How many times `theirs` one has in `ours`, measured in turn. Raises as `saving` does."""
    return typical([one / other for one, other in zip(ours, theirs, strict=True)])


def typical(differences: Sequence[float]) -> Estimate:
    """The median, and its interval by the bootstrap. Raises as `saving` does."""
    if len(set(differences)) == 1:
        # There is nothing to resample.
        return Estimate(differences[0], differences[0], differences[0])
    bootstrap = import_bootstrap()
    import numpy

    found = bootstrap(
        (numpy.array(differences),),
        numpy.median,
        confidence_level=LEVEL,
        n_resamples=_RESAMPLES,
        method="percentile",
        random_state=numpy.random.default_rng(0),
    ).confidence_interval
    return Estimate(float(numpy.median(differences)), float(found.low), float(found.high))


def import_bootstrap() -> Any:
    """SciPy's. Raises SetupError where it is missing."""
    try:
        from scipy.stats import bootstrap
    except ImportError:
        raise SetupError("SciPy is needed: pip install 'scapy-tfo[gain]'") from None
    return bootstrap
