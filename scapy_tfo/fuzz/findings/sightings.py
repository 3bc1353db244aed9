"""Keeps the violations in a store, from when they are first seen until they are findings."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from scapy_tfo.fuzz.findings import finding as records
from scapy_tfo.fuzz.findings.finding import Finding, Status
from scapy_tfo.fuzz.generation.batches import Kind
from scapy_tfo.program.program import Program

_NO_PACKETS = "[]"

TRIES = 3
"""How many programs of one kind of violation are tried until one shows it each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSighting:
    """A violation that is still to be confirmed and reduced. tries: programs tried before."""

    kind: Kind
    number: int
    program: Program
    expected: str
    actual: str
    tries: int


def put_finding(database: sqlite3.Connection, finding: Finding) -> bool:
    """Keep the better of a finding and the one with its id; whether there was none."""
    row = database.execute(
        "SELECT status, packets, number FROM finding WHERE id = ?", (finding.id,)
    )
    held = row.fetchone()
    ours = finding.status is not Status.CONFIRMED, not finding.packets, finding.number
    if held is None or ours < (
        held["status"] != Status.CONFIRMED,
        held["packets"] == _NO_PACKETS,
        held["number"],
    ):
        columns = records.to_row(finding)
        marks = ", ".join(f":{name}" for name in columns)
        database.execute(f"INSERT OR REPLACE INTO finding VALUES ({marks})", columns)
    return held is None


def drop_unseen(database: sqlite3.Connection) -> None:
    """Forget flaky findings whose violations were confirmed as another."""
    database.execute(
        "DELETE FROM finding WHERE status = ? AND id NOT IN"
        " (SELECT finding FROM sighting WHERE finding IS NOT NULL)",
        (Status.FLAKY,),
    )


def see(
    database: sqlite3.Connection, kind: Kind, first: tuple[int, str, str, str], count: int
) -> None:
    """Count violations of a kind. One that is flaky so far gets another program to be tried, and
    one that was not tried yet the first."""
    held = database.execute(
        "SELECT sighting.number, tries, finding, status"
        " FROM sighting LEFT JOIN finding ON finding = id"
        " WHERE (sighting.requirement, sighting.rule, sighting.state, sighting.reply,"
        " sighting.cookie)"
        " = (?, ?, ?, ?, ?)",
        kind,
    ).fetchone()
    if held is None:
        row = (*kind, *first, count)
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO sighting VALUES ({marks}, 0, NULL)", row)
        return
    where = "WHERE (requirement, rule, state, reply, cookie) = (?, ?, ?, ?, ?)"
    database.execute(f"UPDATE sighting SET count = count + ? {where}", (count, *kind))
    is_open = held["finding"] is None and first[0] < held["number"]
    if is_open or (held["status"] == Status.FLAKY and held["tries"] < TRIES):
        database.execute(
            "UPDATE sighting SET number = ?, program = ?, expected = ?, actual = ?, finding = NULL"
            f" {where}",
            (*first, *kind),
        )
