"""What a campaign keeps its work in: a store, or the way to one in another process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.fuzz.findings.sightings import OpenSighting
from scapy_tfo.fuzz.findings.totals import Part, Totals
from scapy_tfo.fuzz.generation.batches import Kind, Late, Outcome, Tally
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program.program import Program


class Keeper(Protocol):
    """Each method as `Store` has it."""

    @property
    def plan(self) -> Plan: ...

    def base(self) -> dict[str, Program]: ...

    def totals(self) -> Totals: ...

    def findings(self) -> list[Finding]: ...

    def finished(self, part: Part = Part.BATCH) -> dict[int, int]: ...

    def quiet(self) -> float: ...

    def late(self, most: int, longest: float = math.inf) -> list[Late]: ...

    def late_ones(self) -> int: ...

    def commit(self, batch: Outcome, *, seconds: float, complete: bool = True) -> None: ...

    def commit_late(self, done: Sequence[Late], tally: Tally, *, seconds: float) -> None: ...

    def commit_volleys(self, number: int, tally: Tally, *, seconds: float) -> None: ...

    def count(self, counters: Mapping[str, int]) -> None: ...

    def open_sightings(self) -> list[OpenSighting]: ...

    def witness(
        self, kind: Kind, number: int, program: Program, expected: str, actual: str
    ) -> None: ...

    def settle(self, kind: Kind, finding: Finding) -> bool: ...
