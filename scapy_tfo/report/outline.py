"""The content of a run's reports, which all formats share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from scapy_tfo import spec, tcp_rules
from scapy_tfo.report.escape import visible
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import (
    Result,
    Run,
    Standing,
    Verdict,
    exit_status,
    largest_first,
    standing,
)

Requirements = Mapping[str, Requirement]
"""What specs/ has, by id."""

MEANINGS = {
    0: "no requirement failed",
    1: "a requirement failed",
    3: "the target stopped answering before the end",
    70: "a case broke, which says nothing of the target",
    130: "interrupted before the end",
}
"""Of the exit statuses of a run."""

LIST_IS_WRONG = "no requirement failed, but a known failure passes: take it off the list"
"""Of exit status 1, where there is no other reason for it."""

HEADINGS = (
    ((Standing.FAIL, Standing.FIXED), "FAILED"),
    ((Standing.WARNING,), "WARNINGS: these fail a run only with --strict"),
    ((Standing.KNOWN,), "KNOWN FAILURES: listed, so they do not fail the run"),
)
"""The standings that are reported case by case, in this order."""

_FIRST_WORD = re.compile("[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Observation:
    """Something the target does where the source leaves the outcome open.

    case: the id of the case that saw it. families: `ipv4`, `ipv6` or both, as one text.
    """

    case: str
    what: str
    seen: str
    families: str


@dataclass(frozen=True, slots=True)
class Group:
    """Results of one standing that have one reason."""

    standing: Standing
    reason: str
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong, and what follows from it.

    name: id of the case that shows it. results: of that case, over each family; none where the
    cause has no result in the run. explained: what it explains, failed or not judged.
    """

    name: str
    results: tuple[Result, ...]
    explained: tuple[Result, ...]


class Outline:
    """A run, sorted the way that its readers ask: what failed, what to do, what was seen."""

    def __init__(self, run: Run, *, strict: bool = False) -> None:
        self.run = run
        self.strict = strict
        self.standings = [(each, standing(each, strict=strict)) for each in run.results]
        self.counts = Counter(place for _, place in self.standings)
        self.sections: dict[str, Counter[Standing]] = {}
        for result, place in self.standings:
            self.sections.setdefault(section(result), Counter())[place] += 1

    @property
    def exit_status(self) -> int:
        return exit_status(self.run, strict=self.strict)

    @property
    def retries(self) -> int:
        """How many times a case was run again, over all cases."""
        return sum(max(each.attempts - 1, 0) for each in self.run.results)

    @property
    def date(self) -> str:
        """When the run began, as UTC."""
        return f"{datetime.fromtimestamp(self.run.started, UTC):%Y-%m-%d %H:%M:%S} UTC"

    def standing_of(self, result: Result) -> Standing:
        """What a result of this run means for it."""
        return standing(result, strict=self.strict)

    def of(self, *places: Standing) -> list[Result]:
        """The results of these standings, in the order of the run."""
        return [result for result, place in self.standings if place in places]

    def leads(self, *places: Standing) -> list[Result]:
        """The results of these standings that no other failure of the run explains, the one that
        explains most first."""
        there = {(each.case, each.family) for each in self.run.results}
        found = [each for each in self.of(*places) if (each.cause, each.family) not in there]
        return largest_first(found, self.run.results)

    def witnesses(self, lead: Result) -> list[Result]:
        """The failures, and the cases that could not be judged, which a failure explains."""
        return [
            each
            for each in self.run.results
            if each.cause == lead.case and each.family == lead.family
        ]

    def groups(self, *places: Standing) -> list[Group]:
        """The results of these standings by standing and reason, the largest group first."""
        found: dict[tuple[Standing, str], list[Result]] = {}
        for result, place in self.standings:
            if place in places:
                found.setdefault((place, result.reason), []).append(result)
        groups = [Group(place, reason, tuple(each)) for (place, reason), each in found.items()]
        return sorted(groups, key=lambda each: (places.index(each.standing), -len(each.results)))

    def causes(self, *places: Standing) -> list[Cause]:
        """What is wrong, by the case that shows it, the one that explains most first.

        places: standings of results that are something wrong even if they explain nothing, the
        worst first.
        """
        causes = {(each.case, each.family): each.cause for each in self.run.results}
        shown: dict[str, list[Result]] = {}
        explained: dict[str, list[Result]] = {}
        for result, place in self.standings:
            root = _root(result, causes)
            if root != result.case:
                explained.setdefault(root, []).append(result)
            elif place in places:
                shown.setdefault(root, []).append(result)
        found = [
            Cause(name, tuple(shown.get(name, ())), tuple(explained.get(name, ())))
            for name in dict.fromkeys([*shown, *explained])
        ]

        def order(each: Cause) -> tuple[int, int]:
            worst = [places.index(self.standing_of(result)) for result in each.results]
            return -len(each.explained), min(worst, default=len(places))

        return sorted(found, key=order)

    def observations(self) -> list[Observation]:
        """What the cases recorded, families that saw the same put together."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for result in self.run.results:
            for what, seen in result.observed.items():
                families = found.setdefault((result.case, what, seen), [])
                if family(result) not in families:
                    families.append(family(result))
        return [Observation(*key, ", ".join(families)) for key, families in found.items()]

    def verdict_line(self) -> str:
        """The counts, and the exit status with its meaning."""
        counts = [f"{self.counts[place]} {place.value}" for place in Standing if self.counts[place]]
        retries = f", {self.retries} retried" if self.retries else ""
        status = self.exit_status
        meaning = MEANINGS[status]
        if status == 1 and not self.counts[Standing.FAIL]:
            meaning = LIST_IS_WRONG
        return f"{', '.join(counts) or 'no cases'}{retries} - exit {status}: {meaning}"


def _root(result: Result, causes: Mapping[tuple[str, int], str]) -> str:
    """The cause that no other explains; in a circle, the last one before it closes."""
    passed = [result.case]
    while (cause := causes.get((passed[-1], result.family), "")) and cause not in passed:
        passed.append(cause)
    return passed[-1]


def section(result: Result) -> str:
    """The part of specs/ that a case belongs to: `ACC` for one that checks ACC-2."""
    match = _FIRST_WORD.match(result.requirements[0] if result.requirements else result.case)
    return match[0].upper() if match else "OTHER"


def family(result: Result) -> str:
    """`ipv4` or `ipv6`."""
    return f"ipv{result.family}"


def label(result: Result) -> str:
    """The case and the family it ran over: `ACC-2-valid-cookie [ipv4]`."""
    return f"{result.case} [{family(result)}]"


def labels(results: Iterable[Result]) -> list[str]:
    """Labels with the families of one case put together: `ACC-2-valid-cookie [ipv4, ipv6]`."""
    found: dict[str, list[str]] = {}
    for each in results:
        found.setdefault(each.case, []).append(family(each))
    return [f"{case} [{', '.join(families)}]" for case, families in found.items()]


def load_requirements() -> Requirements:
    """Those of specs/, and the rules of plain TCP as such. Raises SetupError for damaged files."""
    rules = tcp_rules.load()
    found = {
        each.id: Requirement(
            id=each.id,
            source=(each.source,),
            section=rules.topics[each.topic],
            level=each.level,
            role="wire",
            statement=each.statement,
            observed=("wire",),
            how=each.allows,
        )
        for each in rules.values()
    }
    return {**spec.load(), **found}


def cite(identity: str, requirements: Requirements) -> str:
    """A requirement with its level, sources and statement."""
    requirement = requirements.get(identity)
    if requirement is None:
        return f"{identity}: not in the catalogue"
    sources = ", ".join(requirement.source)
    return f"{identity} ({requirement.level.value}; {sources}): {requirement.statement}"


def why(result: Result, place: Standing) -> str:
    """The reason of a result, with what the list of known failures adds to it."""
    if place is Standing.KNOWN:
        return f"{result.reason} (known failure: {result.known})"
    if place is Standing.FIXED:
        return f"listed as a known failure ({result.known}), but it passes: remove it from the list"
    return result.reason


def evidence(result: Result) -> str:
    """Where to look: the flow, the packet numbers, the time taken, the attempts."""
    parts = []
    if result.flow:
        parts.append(f"flow {visible(result.flow)}")
    if result.packets:
        noun = "packet" if len(result.packets) == 1 else "packets"
        parts.append(f"{noun} {', '.join(map(str, result.packets))}")
    parts.append(f"{result.seconds:.3f} s")
    if result.attempts > 1:
        parts.append(f"{result.attempts} attempts")
    return ", ".join(parts)


def counts_of(results: Iterable[Result]) -> dict[str, int]:
    """How many results have each verdict, every verdict named."""
    counts = Counter(each.verdict for each in results)
    return {verdict.value: counts[verdict] for verdict in Verdict}
