"""What a store counts: sums over all that was sent."""

from __future__ import annotations

import enum
import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from scapy_tfo.program.fingerprint import total


class Part(enum.StrEnum):
    """BATCH: programs of a batch that are not put off. LATE: some that were, by the first of them.
    VOLLEYS: of a batch."""

    BATCH = "batch"
    LATE = "late"
    VOLLEYS = "volleys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Of all that was sent. batches: whole ones. unjudged: programs, by the reason. seeded,
    mutated: fingerprints, in hex."""

    batches: int
    programs: int
    probes: int
    singles: int
    heard: int
    unjudged: Mapping[str, int]
    seconds: float
    seeded: str
    mutated: str


def sums(database: sqlite3.Connection) -> Totals:
    """Sums over all parts."""
    rows = database.execute("SELECT * FROM sent").fetchall()
    unjudged: Counter[str] = Counter()
    for row in rows:
        unjudged.update(json.loads(row["unjudged"]))
    return Totals(
        batches=sum(row["complete"] for row in rows if row["part"] == Part.BATCH),
        programs=sum(row["judged"] for row in rows),
        probes=sum(row["probes"] for row in rows),
        singles=sum(row["singles"] for row in rows),
        heard=sum(row["heard"] for row in rows),
        unjudged=unjudged,
        seconds=sum(row["seconds"] for row in rows),
        seeded=f"{total(int(row['seeded'], 16) for row in rows):016x}",
        mutated=f"{total(int(row['mutated'], 16) for row in rows):016x}",
    )


def judged(database: sqlite3.Connection, part: Part, number: int) -> tuple[int, float]:
    """Programs and seconds of a part that was kept before, as one is that was broken off."""
    row = database.execute(
        "SELECT judged, seconds FROM sent WHERE part = ? AND number = ?", (part, number)
    ).fetchone()
    return (0, 0.0) if row is None else (row["judged"], row["seconds"])
