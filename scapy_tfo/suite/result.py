"""Verdicts, and the record of one judged case."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Verdict(enum.StrEnum):
    """What a case found.

    INCONCLUSIVE: loss, or a silence that proves nothing. UNSUPPORTED: the target does not do
    this at all, which the requirement allows. SKIPPED: a need of the case was not met.
    """

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"


class Level(enum.StrEnum):
    """How binding a requirement is, strongest first (see specs/)."""

    MUST = "MUST"
    STEP = "step"
    ROBUST = "robust"
    SHOULD = "SHOULD"
    MAY = "MAY"
    DESIGN = "design"

    @property
    def fails_run(self) -> bool:
        """A FAIL at this level fails the run, strict or not."""
        return self in (Level.MUST, Level.STEP, Level.ROBUST)

    @property
    def can_fail(self) -> bool:
        """False for what is only recorded."""
        return self not in (Level.MAY, Level.DESIGN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case judged against one address of a target.

    case: its id. family: 4 or 6. requirements: ids of specs/. level: the strongest of them.
    reason: one line that says why the verdict is what it is. expected, actual: for FAIL and
    INCONCLUSIVE, what should have come and what came. flow: `src:port>dst:port` of the segment
    judged. packets: numbers in the run's capture, counted from 1, that the verdict rests on.
    seconds: how long the case took, all attempts. attempts: how often it was run.
    observed: what the case recorded where the source leaves the outcome open.
    known: the reason given in the list of known failures, or "".
    """

    case: str
    title: str
    family: int
    requirements: tuple[str, ...]
    level: Level
    verdict: Verdict
    reason: str = ""
    expected: str = ""
    actual: str = ""
    flow: str = ""
    packets: tuple[int, ...] = ()
    seconds: float = 0.0
    attempts: int = 1
    observed: dict[str, str] = field(default_factory=dict)
    known: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedPacket:
    """One packet of a run: its IP bytes, when, and which case sent or judged it.

    number: counted from 1. outbound: sent by the suite. comment: what to write beside it.
    """

    number: int
    when: float
    outbound: bool
    data: bytes
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything a run found. started: seconds since the epoch. seconds: wall time."""

    target: str
    tool: str
    started: float
    seconds: float
    results: tuple[Result, ...]
    packets: tuple[CapturedPacket, ...] = ()
    notes: tuple[str, ...] = ()
