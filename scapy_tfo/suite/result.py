"""Verdicts, and the record of one judged case."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo.spec import Level
from scapy_tfo.values import value

__all__ = ["CapturedPacket", "Level", "Result", "Run", "Verdict"]

_LABEL = re.compile(r"(?:sent by|for) (\S+ \[ipv[46]\])")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case judged against one address of a target.

    case: its id. family: 4 or 6. requirements: ids of specs/. level: the strongest of them.
    reason: one line that says why the verdict is what it is. expected, actual: for FAIL and
    INCONCLUSIVE, what should have come and what came. flow: `src:port>dst:port` of the segment
    judged. packets: numbers in the run's capture, counted from 1, that the verdict rests on.
    seconds: how long the case took, all attempts. attempts: how often it was run.
    observed: what the case recorded where the source leaves the outcome open.
    known: the reason given in the list of known failures, or "". silent: a FAIL or
    UNSUPPORTED that rests on something that did not come. symptom: what the target did, in words
    that complete "the target ...", where the assertion that failed names it. cause: id of the case
    that shows the same fault more plainly, or "". concerns: of the case that shows a fault most
    plainly, the ids of the requirements which the fault breaks as far as the run can tell, its own
    first. refuted: symptoms that the case could have found, and did not. broke: the case itself has
    a fault.
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
    silent: bool = False
    symptom: str = ""
    cause: str = ""
    concerns: tuple[str, ...] = ()
    refuted: frozenset[str] = frozenset()
    broke: bool = False


@value(frozen=True, slots=True, kw_only=True)
class CapturedPacket:
    """One packet of a run: its IP bytes, when, and which case sent or judged it.

    number: counted from 1. outbound: sent by the suite. comment: what to write beside it.
    """

    number: int
    when: float
    outbound: bool
    data: bytes
    comment: str


def label_of(comment: str) -> str:
    """The case that a packet is of, by its comment, as `ACC-2.valid [ipv4]`; "" for no case."""
    told = _LABEL.match(comment)
    return told[1] if told else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A packet of a case that breaks a rule of TCP which the case is not about.

    rule: its name, as specs/ refers to it. owner: the case, as `label_of` names it. family: 4 or 6.
    flow, packet, expected, actual: as in `Result`.
    """

    rule: str
    owner: str
    family: int
    flow: str
    packet: int
    expected: str
    actual: str


def moved(breaches: Sequence[Breach], shift: int) -> list[Breach]:
    """With the numbers that their packets have in the capture of all cases; 0 is none."""
    return [replace(each, packet=each.packet and each.packet + shift) for each in breaches]


def numbered(packet: CapturedPacket, number: int) -> CapturedPacket:
    """With another number. Not by `replace`, which takes twice as long for each of thousands."""
    return CapturedPacket(
        number=number,
        when=packet.when,
        outbound=packet.outbound,
        data=packet.data,
        comment=packet.comment,
    )


INTERRUPTED = 130
"""Exit status of a run that Ctrl-C or a signal ended."""
BROKE = 70
"""Exit status where nothing failed and a case broke (EX_SOFTWARE of sysexits.h)."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What was judged, as its target file, its kernel or this package says. version: may be ""."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything a run found. started: seconds since the epoch. seconds: wall time.

    stack: None where the target is an address, which says nothing of its stack. label: the user's
    name for the run, or "".
    gone: how the target stopped answering before the end, or "". loses: packets were seen to be
    lost on the way. interrupted: before every case had its result. breaches: of rules of TCP, in
    the conversations of all cases, the first ones of each rule. watched: by the name of a rule, how
    many packets it was held against.
    """

    target: str
    tool: str
    started: float
    seconds: float
    results: tuple[Result, ...]
    # asyncio prints what its main task returned, if only to throw that away.
    packets: tuple[CapturedPacket, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    gone: str = ""
    loses: bool = False
    interrupted: bool = False
    breaches: tuple[Breach, ...] = field(default=(), repr=False)
    watched: Mapping[str, int] = field(default_factory=dict, repr=False)
    stack: Stack | None = None
    label: str = ""


class Standing(enum.StrEnum):
    """What a result means for its run, once `--strict` and the known failures have their say.

    WARNING: a FAIL that does not fail the run (level SHOULD without strict, or one that is only
    recorded). KNOWN: a FAIL that was listed as known. FIXED: listed as known, yet it passed, so
    the list is wrong. Only FAIL and FIXED fail the run.
    """

    FAIL = "fail"
    FIXED = "fixed"
    WARNING = "warning"
    KNOWN = "known"
    INCONCLUSIVE = "inconclusive"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"
    PASS = "pass"

    @property
    def fails_run(self) -> bool:
        return self in (Standing.FAIL, Standing.FIXED)


def standing(result: Result, *, strict: bool = False) -> Standing:
    """What a result means for its run. strict: a failed SHOULD counts as a failed MUST."""
    if result.verdict is Verdict.PASS:
        return Standing.FIXED if result.known else Standing.PASS
    if result.verdict is not Verdict.FAIL:
        return Standing(result.verdict.value)
    if result.known:
        return Standing.KNOWN
    if result.level.fails_run or (strict and result.level.can_fail):
        return Standing.FAIL
    return Standing.WARNING


def largest_first(leads: Iterable[Result], results: Iterable[Result]) -> list[Result]:
    """Failures, the one that explains most of the results first."""
    size = Counter((each.cause, each.family) for each in results)
    return sorted(leads, key=lambda each: -size[each.case, each.family])


def exit_status(run: Run, *, strict: bool = False) -> int:
    """0 where nothing failed, 1 where a requirement failed (see `Standing.fails_run`), 3 where
    nothing failed but the target was gone before the end, 70 where a case broke, 130 where it was
    interrupted."""
    if run.interrupted:
        return INTERRUPTED
    if any(standing(each, strict=strict).fails_run for each in run.results):
        return 1
    if run.gone:
        return 3
    return BROKE if any(each.broke for each in run.results) else 0
