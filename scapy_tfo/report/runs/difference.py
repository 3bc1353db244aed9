"""What changed between two runs, by requirement and case."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scapy_tfo.report.escape import encodable
from scapy_tfo.report.outline import labels
from scapy_tfo.report.runs.reading import Recorded
from scapy_tfo.suite.result import Result, Standing, Verdict, standing

NOT_COMPARED = 3
"""Exit status where no failure is new, but not everything was judged that would have shown one."""

ABSENT = "absent"
"""The verdict of a case that a run does not have."""


class Kind(enum.StrEnum):
    """What became of a case.

    BROKEN: it fails the new run, and did not fail before. WARNED: it fails, but not the run.
    MENDED: it passes, and failed before. LOST: it failed or passed before, and has no such verdict
    now. JUDGED: it passes now, and was not judged before.
    """

    BROKEN = "new failures"
    WARNED = "new warnings"
    MENDED = "mended"
    LOST = "no longer judged"
    JUDGED = "judged now"


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose verdict is another. old, new: None where a run does not have the case."""

    kind: Kind
    old: Result | None
    new: Result | None

    @property
    def result(self) -> Result:
        """The newer one that there is."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def requirement(self) -> str:
        """The one that the case is about."""
        return self.result.requirements[0]


class Difference:
    """Two runs beside each other. strict: a failed SHOULD counts as a failure."""

    def __init__(self, old: Recorded, new: Recorded, *, strict: bool = False) -> None:
        self.old, self.new, self.strict = old, new, strict or new.strict
        before, after = _by_place(old), _by_place(new)
        places = [*after, *(each for each in before if each not in after)]
        pairs = [(before.get(each), after.get(each)) for each in places]
        found = ((self._kind(*pair), pair) for pair in pairs)
        self.changes = [Change(kind, *pair) for kind, pair in found if kind is not None]
        self.common = len(before.keys() & after.keys())
        self.same = len(places) - len(self.changes)

    def of(self, kind: Kind) -> dict[str, list[Change]]:
        """The changes of a kind, by requirement."""
        found: dict[str, list[Change]] = {}
        for each in self.changes:
            if each.kind is kind:
                found.setdefault(each.requirement, []).append(each)
        return found

    @cached_property
    def doubts(self) -> list[str]:
        """Why a failure could have been missed, or is no change of the stack."""
        old, new = self.old.run, self.new.run
        told = []
        if not self.common:
            told.append("no case is in both runs")
        if new.interrupted:
            told.append("the new run was interrupted")
        if new.gone:
            told.append("in the new run, the target stopped answering before the end")
        if old.tool != new.tool:
            told.append(f"the runs are of {old.tool} and {new.tool}, whose cases may differ")
        if self.old.run.interrupted or self.old.run.gone:
            told.append("the old run did not reach its end")
        return told

    @property
    def exit_status(self) -> int:
        """1 with new failures; 3 with none, where the new run did not reach its end or the two
        have no case in common; else 0."""
        if any(each.kind is Kind.BROKEN for each in self.changes):
            return 1
        is_whole = self.common and not self.new.run.interrupted and not self.new.run.gone
        return 0 if is_whole else NOT_COMPARED

    def _kind(self, old: Result | None, new: Result | None) -> Kind | None:
        was, now = verdict_of(old), verdict_of(new)
        if was == now:
            return None
        if new is not None and now == Verdict.FAIL:
            place = standing(new, strict=self.strict)
            return Kind.BROKEN if place is Standing.FAIL else Kind.WARNED
        if was == Verdict.FAIL:
            return Kind.MENDED if now == Verdict.PASS else Kind.LOST
        if was == Verdict.PASS:
            return Kind.LOST
        return Kind.JUDGED if now == Verdict.PASS else None


def verdict_of(result: Result | None) -> str:
    """A verdict, or ABSENT."""
    return ABSENT if result is None else result.verdict.value


def to_json(found: Difference) -> dict[str, Any]:
    """Both runs, the changes and the exit status as plain dicts, lists and strings."""
    return {
        "schema": 1,
        "old": _named(found.old),
        "new": _named(found.new),
        "changes": [_record(each) for each in found.changes],
        "same": found.same,
        "doubts": list(map(encodable, found.doubts)),
        "exit_status": found.exit_status,
    }


def lines(found: Difference, titles: Mapping[str, str]) -> Iterator[str]:
    """The difference as text. titles: what each requirement says, by id."""
    yield f"old: {_about(found.old)}"
    yield f"new: {_about(found.new)}"
    for kind in Kind:
        changed = found.of(kind)
        if not changed:
            continue
        yield ""
        yield f"{kind.value.upper()} ({sum(map(len, changed.values()))})"
        for requirement, changes in changed.items():
            level = changes[0].result.level.value
            yield f"  {requirement} ({level})  {titles.get(requirement, '')}".rstrip()
            yield from (f"    {each}" for each in _rows(changes))
    yield ""
    for doubt in found.doubts:
        yield f"note: {doubt}"
    yield f"{summary(found)} - exit {found.exit_status}"


def _rows(changes: Sequence[Change]) -> Iterator[str]:
    """A line for each case, families with the same words put together; what explains others
    first."""
    found: dict[tuple[bool, str, str], list[Result]] = {}
    for each in changes:
        key = (bool(each.result.cause), each.result.case, told(each))
        found.setdefault(key, []).append(each.result)
    for (_, _, said), results in sorted(found.items(), key=lambda item: item[0][0]):
        yield f"{', '.join(labels(results))}: {said}"


def told(change: Change) -> str:
    """The two verdicts, why the newer one, and what explains it."""
    said = f"{verdict_of(change.old)} -> {verdict_of(change.new)}"
    new = change.new
    if new is None:
        return said
    reason = f": {new.reason}" if new.reason else ""
    cause = f" (explained by {new.cause})" if new.cause else ""
    known = f" (known: {new.known})" if new.known else ""
    return said + reason + cause + known


def summary(found: Difference) -> str:
    """The counts, in one line."""
    counts = []
    for kind in Kind:
        changed = found.of(kind)
        if changed:
            cases = sum(map(len, changed.values()))
            words = kind.value if cases != 1 else kind.value.removesuffix("s")
            noun = "requirement" if len(changed) == 1 else "requirements"
            counts.append(f"{cases} {words} in {len(changed)} {noun}")
    return ", ".join([*counts, f"{found.same} the same"])


def _by_place(recorded: Recorded) -> dict[tuple[str, int], Result]:
    found: dict[tuple[str, int], Result] = {}
    for each in recorded.run.results:
        held = found.setdefault((each.case, each.family), each)
        # A script that was run more than once counts as failed where it failed once.
        if held.verdict is not Verdict.FAIL:
            found[each.case, each.family] = each
    return found


def _about(recorded: Recorded) -> str:
    run = recorded.run
    target = f" at {run.target}" if recorded.name != run.target else ""
    return f"{recorded.name}{target}, {run.tool}, {len(run.results)} results ({recorded.path})"


def _named(recorded: Recorded) -> dict[str, str]:
    return {
        "name": encodable(recorded.name),
        "target": encodable(recorded.run.target),
        "tool": encodable(recorded.run.tool),
    }


def _record(change: Change) -> dict[str, Any]:
    result = change.result
    return {
        "kind": change.kind.name.lower(),
        "requirement": encodable(change.requirement),
        "case": encodable(result.case),
        "family": result.family,
        "level": result.level.value,
        "old": verdict_of(change.old),
        "new": verdict_of(change.new),
        "reason": encodable(change.new.reason) if change.new else "",
        "cause": encodable(result.cause) or None,
    }
