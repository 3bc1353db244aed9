"""Merges the stores of one campaign's shards."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.findings.finding import Status
from scapy_tfo.fuzz.findings.sightings import drop_unseen, put_finding
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.findings.totals import Part
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program.program import Program

_SIGHTING = "(requirement, rule, state, reply, cookie) = (?, ?, ?, ?, ?)"


def merge(out: Path, parts: Sequence[Path]) -> Store:
    """A new store with what all parts hold; the caller closes it.

    Raises SetupError where they are not shards of one campaign, or hold the same batches.
    """
    plan, base = _plan_of(parts)
    merged = Store.create(out, replace(plan, shard=(1, 1)), base)
    try:
        counters: Counter[str] = Counter()
        with merged.transaction() as database:
            for each in parts:
                with closing(Store.open(each)) as store:
                    _add(database, store)
                    counters.update(store.counters())
            drop_unseen(database)
        merged.count(counters)
    except BaseException:
        merged.close()
        raise
    return merged


def _plan_of(parts: Sequence[Path]) -> tuple[Plan, dict[str, Program]]:
    """Of their campaign, and the corpus that it began with. One is open at a time: of a thousand
    together the files would be more than a process may have. Raises SetupError, as above."""
    owners: dict[tuple[Part, int], Path] = {}
    with closing(Store.open(parts[0])) as first:
        plan, base = first.plan, first.base()
    for path in parts:
        with closing(Store.open(path)) as store:
            differs = plan.difference(store.plan, but=("shard",))
            if differs:
                raise SetupError(f"{path} belongs to another campaign than {parts[0]}: {differs}")
            for each in ((part, number) for part in Part for number in store.finished(part)):
                if each in owners:
                    raise SetupError(
                        f"{owners[each]} and {path} hold the same programs"
                        f" ({each[0]} {each[1]}): give each shard once"
                    )
                owners[each] = path
    return plan, base


def _add(database: sqlite3.Connection, store: Store) -> None:
    for finding in store.findings():
        put_finding(database, finding)
    for row in store.rows("late"):
        _insert(database, "INSERT OR IGNORE INTO late", row)
    for row in store.rows("sent"):
        # One that was broken off does not take the place of a whole one.
        verb = "REPLACE" if row["complete"] else "IGNORE"
        _insert(database, f"INSERT OR {verb} INTO sent", row)
    for row in store.rows("coverage"):
        held = database.execute("SELECT number FROM coverage WHERE pair = ?", (row["pair"],))
        found = held.fetchone()
        if found is None or row["number"] < found["number"]:
            _insert(database, "INSERT OR REPLACE INTO coverage", row)
    for row in store.rows("sighting"):
        _add_sighting(database, row)


def _add_sighting(database: sqlite3.Connection, row: sqlite3.Row) -> None:
    """Counts add up; of the findings of one kind a confirmed one stays, else the earlier."""
    kind = tuple(row)[:5]
    held = database.execute(f"SELECT * FROM sighting WHERE {_SIGHTING}", kind).fetchone()
    if held is None:
        _insert(database, "INSERT INTO sighting", row)
        return
    if _rank(database, row) < _rank(database, held):
        _insert(database, "INSERT OR REPLACE INTO sighting", row)
    sums = held["count"] + row["count"], held["tries"] + row["tries"]
    database.execute(f"UPDATE sighting SET count = ?, tries = ? WHERE {_SIGHTING}", (*sums, *kind))


def _rank(database: sqlite3.Connection, sighting: sqlite3.Row) -> tuple[bool, int]:
    found = database.execute("SELECT status FROM finding WHERE id = ?", (sighting["finding"],))
    row = found.fetchone()
    return row is None or row["status"] != Status.CONFIRMED, sighting["number"]


def _insert(database: sqlite3.Connection, into: str, row: sqlite3.Row) -> None:
    database.execute(f"{into} VALUES ({','.join('?' * len(row))})", tuple(row))
