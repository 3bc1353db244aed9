"""The store of a campaign: one SQLite file, which survives if the campaign is killed.

A batch is one transaction, so a killed run leaves the state after its last whole batch.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.fuzz.findings import database as files
from scapy_tfo.fuzz.findings import finding as records
from scapy_tfo.fuzz.findings.coverage import Curve, read_points, write_points
from scapy_tfo.fuzz.findings.database import DAMAGE, Lock, is_there
from scapy_tfo.fuzz.findings.finding import Finding
from scapy_tfo.fuzz.findings.schema import APPLICATION, SCHEMA, TABLES
from scapy_tfo.fuzz.findings.sightings import OpenSighting, drop_unseen, put_finding, see
from scapy_tfo.fuzz.findings.totals import Part, Totals, judged, sums
from scapy_tfo.fuzz.generation.batches import Kind, Late, Outcome, Tally
from scapy_tfo.fuzz.generation.plan import Plan
from scapy_tfo.program.fingerprint import total
from scapy_tfo.program.program import Program, dumps, loads, waits


class Store:
    """The file of one campaign. Every method raises SetupError where the file is damaged, full or
    not writable; what was committed before stays."""

    def __init__(self, path: Path, *, to_write: bool) -> None:
        self.path = path
        self._curve: Curve | None = None
        self._lock = Lock(path) if to_write else None
        try:
            self._database = files.connect(path, to_write=to_write)
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise

    @classmethod
    def create(cls, path: Path, plan: Plan, base: Mapping[str, Program] | None = None) -> Store:
        """A new store, with the corpus that the campaign begins with."""
        files.refuse(path)
        store = cls(path, to_write=True)
        try:
            with store.transaction() as database:
                for statement in TABLES.split(";"):
                    database.execute(statement)
                text = json.dumps(plan.to_json())
                database.execute("INSERT INTO meta VALUES ('plan', ?)", (text,))
                rows = [(pair, dumps(program)) for pair, program in (base or {}).items()]
                database.executemany("INSERT INTO base VALUES (?, ?)", rows)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, path: Path, *, to_write: bool = False) -> Store:
        """One that is there. to_write: alone, to go on with it."""
        if not is_there(path):
            raise SetupError(f"there is no campaign at {path}: give its file with --store")
        store = cls(path, to_write=to_write)
        try:
            store._check()
        except BaseException:
            store.close()
            raise
        return store

    def _check(self) -> None:
        with self._complaints() as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
                raise SetupError(f"{self.path} is not a campaign of this tool")
            if version != SCHEMA:
                raise SetupError(
                    f"{self.path} was written by another version of this tool (schema {version},"
                    f" not {SCHEMA}): use that version, or start a new campaign"
                )
            files.refuse_damage(database, self.path)

    @property
    def plan(self) -> Plan:
        """What the campaign sends."""
        with self._complaints() as database:
            row = database.execute("SELECT value FROM meta WHERE name = 'plan'").fetchone()
            return Plan.from_json(json.loads(row["value"]))

    @property
    def limits(self) -> tuple[int | None, float | None]:
        """Programs and seconds after which the campaign ends, as it was last told."""
        with self._complaints() as database:
            row = database.execute("SELECT value FROM meta WHERE name = 'limits'").fetchone()
            programs, seconds = json.loads(row["value"]) if row else (None, None)
            return programs, seconds

    def limit(self, programs: int | None, seconds: float | None) -> None:
        """Remember after how much the campaign ends."""
        with self.transaction() as database:
            text = json.dumps([programs, seconds])
            database.execute("INSERT OR REPLACE INTO meta VALUES ('limits', ?)", (text,))

    @property
    def spent(self) -> tuple[float, float]:
        """Seconds of the clock, and of this tool's CPU, that all runs took together."""
        with self._complaints() as database:
            row = database.execute("SELECT value FROM meta WHERE name = 'spent'").fetchone()
            clock, cpu = json.loads(row["value"]) if row else (0.0, 0.0)
            return clock, cpu

    def spend(self, clock: float, cpu: float) -> None:
        """Count what one run took, in seconds."""
        before = self.spent
        with self.transaction() as database:
            text = json.dumps([before[0] + clock, before[1] + cpu])
            database.execute("INSERT OR REPLACE INTO meta VALUES ('spent', ?)", (text,))

    def base(self) -> dict[str, Program]:
        """The corpus that it began with."""
        with self._complaints() as database:
            rows = database.execute("SELECT pair, program FROM base").fetchall()
            return {row["pair"]: loads(row["program"]) for row in rows}

    def corpus(self) -> dict[str, Program]:
        """The first program that reached each pair of state and reply, the base's before."""
        with self._complaints() as database:
            rows = database.execute("SELECT pair, program FROM coverage").fetchall()
            return {row["pair"]: loads(row["program"]) for row in rows} | self.base()

    def coverage(self) -> dict[str, int]:
        """Number of the first program that reached each pair."""
        with self._complaints() as database:
            rows = database.execute("SELECT pair, number FROM coverage").fetchall()
            return {row["pair"]: row["number"] for row in rows}

    def curve(self) -> Curve:
        """How what is covered grew."""
        if self._curve is None:
            totals, first, base = self.totals(), self.coverage(), frozenset(self.base())
            with self._complaints() as database:
                sent = totals.seconds, totals.programs
                self._curve = Curve(first, base, read_points(database), sent)
        return self._curve

    def quiet(self) -> float:
        """Seconds of sending since something new was reached."""
        return self.curve().quiet

    def finished(self, part: Part = Part.BATCH) -> dict[int, int]:
        """Numbers of what was sent whole, and the programs in each."""
        with self._complaints() as database:
            rows = database.execute(
                "SELECT number, programs FROM sent WHERE part = ? AND complete", (part,)
            ).fetchall()
            return {row["number"]: row["programs"] for row in rows}

    def late(self, most: int, longest: float = math.inf) -> list[Late]:
        """Programs that were put off and are still to be sent, the first ones, `most` of them.

        longest: seconds that they may wait.
        """
        with self._complaints() as database:
            found = []
            for row in database.execute("SELECT * FROM late WHERE NOT done ORDER BY number"):
                program = loads(row["program"])
                if waits(program) <= longest:
                    marks = int(row["seeded"], 16), int(row["mutated"], 16)
                    found.append(Late(row["number"], program, *marks))
                if len(found) >= most:
                    break
            return found

    def late_ones(self) -> int:
        """How many programs are still put off."""
        with self._complaints() as database:
            (count,) = database.execute("SELECT count(*) FROM late WHERE NOT done").fetchone()
            return int(count)

    def totals(self) -> Totals:
        """Sums over the batches."""
        with self._complaints() as database:
            return sums(database)

    def commit(self, batch: Outcome, *, seconds: float, complete: bool = True) -> None:
        """Keep a batch and what it found, all or nothing.

        complete: not one that was broken off, which a resumed run sends again.
        """
        late = [
            (each.number, dumps(each.program), f"{each.seeded:016x}", f"{each.mutated:016x}")
            for each in batch.late
        ]
        row = (Part.BATCH, batch.number, complete, batch.taken)
        with self._kept(row, batch.tally, seconds, batch.program) as database:
            if complete:
                # One that was sent already, before the campaign was made longer, stays done.
                database.executemany("INSERT OR IGNORE INTO late VALUES (?, 0, ?, ?, ?)", late)

    def commit_late(self, done: Sequence[Late], tally: Tally, *, seconds: float) -> None:
        """Keep what programs that were put off came to."""
        first = min(each.number for each in done)
        programs = {each.number: each.program for each in done}
        row = (Part.LATE, first, True, len(done))
        with self._kept(row, tally, seconds, programs.__getitem__) as database:
            numbers = [(each.number,) for each in done]
            database.executemany("UPDATE late SET done = 1, program = '' WHERE number = ?", numbers)

    def commit_volleys(self, number: int, tally: Tally, *, seconds: float) -> None:
        """Keep what the volleys of a batch came to."""
        with self._kept((Part.VOLLEYS, number, True, 0), tally, seconds, _no_program):
            pass

    def count(self, counters: Mapping[str, int]) -> None:
        """Add to the target's own counters by how much they went up."""
        with self.transaction() as database:
            database.executemany(
                "INSERT INTO counter VALUES (?, ?)"
                " ON CONFLICT DO UPDATE SET value = value + excluded.value",
                list(counters.items()),
            )

    @contextmanager
    def _kept(
        self,
        row: tuple[Part, int, bool, int],
        tally: Tally,
        seconds: float,
        program_of: Callable[[int], Program],
    ) -> Iterator[sqlite3.Connection]:
        """A transaction with a tally in it. row: part, number, complete, programs."""
        columns = (
            *row,
            *(tally.programs, tally.probes, tally.singles, tally.heard),
            *(json.dumps(tally.unjudged), seconds),
            *(f"{total([each]):016x}" for each in (tally.seeded, tally.mutated)),
        )
        curve = self.curve()
        new = curve.new(tally.first)
        texts = {at: dumps(program_of(at)) for at in {*new.values()}}
        seen = [
            (kind, each, dumps(each.program or program_of(each.number)))
            for kind, each in tally.sightings.items()
        ]
        with self.transaction() as database:
            before = judged(database, row[0], row[1])
            marks = ",".join("?" * len(columns))
            database.execute(f"INSERT OR REPLACE INTO sent VALUES ({marks})", columns)
            database.executemany(
                "INSERT OR REPLACE INTO coverage VALUES (?, ?, ?)",
                [(name, at, texts[at]) for name, at in new.items()],
            )
            for kind, each, program in seen:
                told = each.violation.expected, each.violation.actual
                see(database, kind, (each.number, program, *told), each.count)
            curve.add(new, tally.programs - before[0], seconds - before[1])
            write_points(database, curve)
            yield database

    def open_sightings(self) -> list[OpenSighting]:
        """Those without a finding yet, the earliest program's first."""
        with self._complaints() as database:
            rows = database.execute(
                "SELECT * FROM sighting WHERE finding IS NULL"
                " ORDER BY number, rule, state, reply, cookie"
            ).fetchall()
            return [
                OpenSighting(
                    kind=tuple(row)[:5],
                    number=row["number"],
                    program=loads(row["program"]),
                    expected=row["expected"],
                    actual=row["actual"],
                    tries=row["tries"],
                )
                for row in rows
            ]

    def witness(
        self, kind: Kind, number: int, program: Program, expected: str, actual: str
    ) -> None:
        """Count one violation that no tally has."""
        with self.transaction() as database:
            see(database, kind, (number, dumps(program), expected, actual), 1)

    def settle(self, kind: Kind, finding: Finding) -> bool:
        """Keep what became of a sighting; whether no other sighting had shown it before."""
        with self.transaction() as database:
            new = put_finding(database, finding)
            database.execute(
                "UPDATE sighting SET finding = ?, tries = tries + 1"
                " WHERE (requirement, rule, state, reply, cookie) = (?, ?, ?, ?, ?)",
                (finding.id, *kind),
            )
            drop_unseen(database)
        return new

    def findings(self) -> list[Finding]:
        """All, the earliest program's first."""
        with self._complaints() as database:
            rows = database.execute(
                "SELECT finding.*, (SELECT coalesce(sum(count), 0) FROM sighting"
                " WHERE sighting.finding = finding.id) AS seen"
                " FROM finding ORDER BY number, id"
            ).fetchall()
            return [records.from_row(row, row["seen"]) for row in rows]

    def rows(self, table: str) -> list[sqlite3.Row]:
        """All of a table, as it stands."""
        with self._complaints() as database:
            return database.execute(f"SELECT * FROM {table}").fetchall()

    def counters(self) -> dict[str, int]:
        """How much the target's own counters went up."""
        return {row["name"]: row["value"] for row in self.rows("counter")}

    def close(self) -> None:
        """Let go of the file; harmless when called twice."""
        with suppress(sqlite3.Error):
            self._database.close()
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def _complaints(self) -> Iterator[sqlite3.Connection]:
        """Turns what goes wrong with the file into a SetupError."""
        try:
            yield self._database
        except sqlite3.Error as error:
            raise files.complaint(self.path, error) from error
        except DAMAGE as error:
            raise files.damaged(self.path, error) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is done within is kept together, or nothing of it."""
        with self._complaints() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise


def _no_program(number: int) -> Program:
    raise KeyError(number)
