"""Keeps what parts of an exploration showed in a file, so that it can go on where it was ended.

The file is locked and opened as the stores of the fuzzer are. A part that was not finished leaves
nothing in it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.schedule import from_json, to_json
from scapy_tfo.explore.covered import Covered
from scapy_tfo.explore.explorer import Found, Result
from scapy_tfo.fuzz.findings.database import DAMAGE, Lock, complaint, connect, is_empty

PARTS = 64
"""Of an exploration that is kept: cells are dealt out to them in turn."""
_APPLICATION = 0x74666F78
"""Tells the file from those of others."""
_TABLES = """
CREATE TABLE explored (plan TEXT NOT NULL);
CREATE TABLE parts (part INTEGER PRIMARY KEY, result TEXT NOT NULL);
"""


class Store:
    """plan: what is explored, which has to be the same each time. resume: go on with a file that
    is there already. Raises SetupError where the file cannot be used, as all methods do."""

    def __init__(self, path: Path, plan: Mapping[str, Any], *, resume: bool) -> None:
        if path.is_symlink():
            raise SetupError(f"{path} is a symbolic link: give the file that it shall point to")
        is_new = is_empty(path)
        if not is_new and not resume:
            raise SetupError(f"{path} already exists: continue with --resume, or give another")
        self._path = path
        self._lock = Lock(path)
        try:
            self._database = connect(path, to_write=True)
            with self._explained():
                self._begin(json.dumps(plan, sort_keys=True), is_new=is_new)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, plan: str, *, is_new: bool) -> None:
        database = self._database
        if is_new:
            database.executescript(f"BEGIN; PRAGMA application_id = {_APPLICATION}; {_TABLES}")
            database.execute("INSERT INTO explored VALUES (?)", (plan,))
            database.execute("COMMIT")
            return
        if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise SetupError(f"{self._path} is no store of 'scapy-tfo explore'")
        held = database.execute("SELECT plan FROM explored").fetchone()[0]
        if held != plan:
            raise SetupError(f"{self._path} is of another exploration: {held}; this is {plan}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise complaint(self._path, error) from error
        except DAMAGE as error:
            raise SetupError(f"the store {self._path} is damaged: {error}") from error

    def put(self, part: int, result: Result) -> None:
        """Keep what a part showed, which is finished."""
        with self._explained():
            self._database.execute(
                "INSERT OR REPLACE INTO parts VALUES (?, ?)", (part, json.dumps(_to_json(result)))
            )

    def parts(self) -> dict[int, Result]:
        """What is kept, by the number of the part."""
        with self._explained():
            rows = self._database.execute("SELECT part, result FROM parts ORDER BY part")
            return {int(part): _from_json(json.loads(text)) for part, text in rows}

    def close(self) -> None:
        """Let others have it."""
        self._database.close()
        self._lock.release()


def _to_json(result: Result) -> dict[str, Any]:
    covered = result.covered
    return {
        "target": result.target,
        "seed": result.seed,
        "played": result.played,
        "merged": result.merged,
        "audits": result.audits,
        "schedules": covered.schedules,
        "met": [[*met, number] for met, number in sorted(covered.met.items())],
        "together": sorted(covered.together),
        "found": [
            {
                "problem": [
                    *(each.problem.rule, each.problem.packet),
                    *(each.problem.expected, each.problem.actual),
                ],
                "schedule": to_json(each.schedule),
                "before": [to_json(one) for one in each.before],
                "count": each.count,
            }
            for each in result.found.values()
        ],
    }


def _from_json(values: Mapping[str, Any]) -> Result:
    made = Result(str(values["target"]), int(values["seed"]))
    made.played = {str(stage): int(count) for stage, count in values["played"].items()}
    made.merged, made.audits = int(values["merged"]), int(values["audits"])
    made.covered = Covered(
        int(values["schedules"]),
        {(str(state), str(sort)): int(number) for state, sort, number in values["met"]},
        {((str(a), str(b)), (str(c), str(d))) for (a, b), (c, d) in values["together"]},
    )
    for each in values["found"]:
        rule, packet, expected, actual = each["problem"]
        made.found[str(rule)] = Found(
            Problem(str(rule), int(packet), str(expected), str(actual)),
            from_json(each["schedule"]),
            tuple(map(from_json, each["before"])),
            int(each["count"]),
        )
    return made
