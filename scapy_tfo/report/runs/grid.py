"""Runs beside each other: a column for each run, a row for each requirement, and cells."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from math import isfinite
from pathlib import Path
from urllib.parse import quote

from scapy_tfo.report.outline import label
from scapy_tfo.report.page import Anchors
from scapy_tfo.report.runs.reading import Recorded
from scapy_tfo.suite.result import Level, Result, Standing, Verdict, standing

ABSENT = "-"
"""The state of a cell whose run has no case of the requirement."""

_REPORT, _CAPTURE = "report.html", "capture.pcapng"

_WORST_FIRST = (
    *(Standing.FAIL, Standing.FIXED, Standing.WARNING, Standing.KNOWN),
    *(Standing.PASS, Standing.INCONCLUSIVE, Standing.UNSUPPORTED, Standing.SKIPPED),
)


class Column:
    """A run. here: the directory from which its files are linked to; None for no links."""

    def __init__(self, recorded: Recorded, here: Path | None) -> None:
        self.recorded, self.run, self._here = recorded, recorded.run, here
        anchors = Anchors()
        self._anchors = {id(each): anchors.new(label(each)) for each in self.run.results}

    @property
    def name(self) -> str:
        return self.recorded.name

    @property
    def date(self) -> str:
        """When the run began, in UTC, or ""."""
        started = self.run.started
        return f"{datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M}" if isfinite(started) else ""

    @property
    def state(self) -> str:
        """How the run ended, where it did not reach its end; else ""."""
        return "interrupted" if self.run.interrupted else self.run.gone

    @cached_property
    def capture(self) -> str:
        """Where the capture is, as a relative URL; "" where there is none beside the results."""
        return self._url(_CAPTURE)

    def report_of(self, result: Result) -> str:
        """Where the report tells of a result, likewise."""
        return f"{self._report}#{self._anchors[id(result)]}" if self._report else ""

    @cached_property
    def _report(self) -> str:
        return self._url(_REPORT)

    def _url(self, name: str) -> str:
        file = self.recorded.path.parent / name
        if self._here is None or not file.is_file():
            return ""
        path = Path(os.path.relpath(file, self._here)).as_posix()
        # A name with a colon in it would be taken for a scheme.
        return quote(path if path.startswith(".") else f"./{path}")


@dataclass(frozen=True, slots=True)
class Cell:
    """What a run says of a requirement. state: of the worst result, as a standing or ABSENT; a pass
    hides no failure, and what was not judged hides no pass. counts: of the results. lead: the
    result that explains the state, of which reason and packets are; None where ABSENT."""

    state: str
    counts: Mapping[Standing, int]
    lead: Result | None
    column: Column

    @property
    def text(self) -> str:
        """`pass 3/4`: so many of the results have this state."""
        total = sum(self.counts.values())
        same = self.counts.get(Standing(self.state), 0) if total else 0
        return self.state if same == total else f"{self.state} {same}/{total}"

    @property
    def reason(self) -> str:
        """Why, with the case that shows it; "" for a pass."""
        lead = self.lead
        if lead is None or self.state == Standing.PASS:
            return ""
        return f"{label(lead)}: {lead.reason}"

    @property
    def link(self) -> str:
        """Where the report tells of the lead, or else the capture, or else ""."""
        if self.lead is None:
            return ""
        return self.column.report_of(self.lead) or self.column.capture


class Grid:
    """The cells by requirement.

    wanted: ids of requirements in the order of the rows, with their levels; those of which no run
    has a case get no row. families: of which results count. keeps: states of which a row has one at
    least, where not empty. differs: only rows whose columns are not all in one state.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        wanted: Mapping[str, Level | None],
        *,
        families: Collection[int] = (4, 6),
        keeps: Collection[str] = (),
        differs: bool = False,
    ) -> None:
        self.columns = list(columns)
        self._families, self._levels = families, wanted
        there = {
            each.requirements[0]
            for column in columns
            for each in column.run.results
            if each.family in families
        }
        rows = {
            each: [self._cell(each, column) for column in columns]
            for each in wanted
            if each in there
        }
        self.rows = {
            each: cells
            for each, cells in rows.items()
            if (not keeps or any(cell.state in keeps for cell in cells))
            and (not differs or len({cell.state for cell in cells}) > 1)
        }

    def level(self, requirement: str) -> str:
        """How binding a requirement is, or what its cases say of it."""
        leads = [cell.lead for cell in self.rows[requirement] if cell.lead is not None]
        known = self._levels.get(requirement) or (leads[0].level if leads else None)
        return known.value if known else ""

    def _cell(self, requirement: str, column: Column) -> Cell:
        found: dict[Standing, list[Result]] = {}
        for each in column.run.results:
            if each.family not in self._families:
                continue
            judged = (
                each if each.requirements[0] == requirement else self._concern(requirement, each)
            )
            if judged is not None:
                place = standing(judged, strict=column.recorded.strict)
                found.setdefault(place, []).append(each)
        counts = Counter({place: len(results) for place, results in found.items()})
        for place in _WORST_FIRST:
            if place in found:
                # What no other failure explains tells the most.
                lead = min(found[place], key=lambda each: bool(each.cause))
                return Cell(place.value, counts, lead, column)
        return Cell(ABSENT, counts, None, column)

    def _concern(self, requirement: str, result: Result) -> Result | None:
        """A failure whose fault breaks the requirement, too, as binding as that is; else None.

        The requirement's own cases may have found no verdict, because of that fault.
        """
        if result.verdict is not Verdict.FAIL or requirement not in result.concerns:
            return None
        return replace(result, level=self._levels.get(requirement) or result.level)


LEGEND = {
    "fail": "a case failed that shows the requirement to be broken",
    "fixed": "a case that is listed as a known failure passes",
    "warning": "a SHOULD that the stack does not follow",
    "known": "a failure that its list of known failures names",
    "pass": "every case that was judged passed",
    "inconclusive": "loss, or silence that proves nothing",
    "unsupported": "the stack does not do this, as a case found by the rules of its requirement",
    "skipped": "a need of the cases was not met",
    ABSENT: "the run had no case of this requirement",
}
"""What the state of a cell means. None is inferred from other cells."""
