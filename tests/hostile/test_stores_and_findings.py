"""Stores of campaigns and findings, as an enemy would make them, under the laws of conftest.py."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.fuzz.findings.finding import COLUMNS, to_record
from tests.fuzz.fakes import make
from tests.hostile.outside import DEEP, LONG, NASTY, campaign_store, commands_of, finding, quick

Lawful = Callable[..., int]


@pytest.mark.parametrize("text", [each for each in NASTY[::2] if "\udc80" not in each])
def test_texts_of_a_store(text: str, lawful: Lawful) -> None:
    kept = campaign_store(
        Path("s.sqlite"),
        requirement=text,
        state=text,
        rule=text,
        expected=text,
        actual=text,
        target=text,
        version=text,
    )
    store = ("--store", "s.sqlite")
    assert lawful("fuzz", "list", *store, "--json", "out/l.json") == 0
    assert lawful("fuzz", "list", *store, "--markdown") == 0
    assert lawful("fuzz", "show", "--", kept.id) == 2
    assert lawful("fuzz", "show", *store, "--", kept.id) == 0
    assert lawful("fuzz", "export", "all", *store, "--output", "out") == 0
    assert lawful("fuzz", "export", *store, "--output", "out", "--", kept.id) == 0
    assert lawful("fuzz", "replay", *store, "--", kept.id) in (2, 3)
    assert lawful("fuzz", "merge", "out/m.sqlite", "s.sqlite") in (0, 1)
    for script in Path("out").glob("*.pkt"):
        assert all("sysctl" in str(each) for each in commands_of(script.read_text()))


_ODD: tuple[Any, ...] = (None, -1, float("inf"), b"\x00\xff", "x", DEEP)


@pytest.mark.parametrize("column", COLUMNS)
def test_values_of_a_store(column: str, lawful: Lawful) -> None:
    campaign_store(Path("s.sqlite"))
    for value in _ODD:
        with closing(sqlite3.connect("s.sqlite")) as database, database:
            if not (column == "id" and value is None):
                database.execute(f"UPDATE finding SET {column} = ?", (value,))
        lawful("fuzz", "export", "all", "--store", "s.sqlite", "--output", "out")


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM finding; END",
        "DROP TABLE counter; CREATE VIEW counter AS WITH RECURSIVE c(name, value) AS"
        " (VALUES ('x', 1) UNION ALL SELECT name, value + 1 FROM c) SELECT * FROM c",
        "DROP TABLE finding; CREATE VIEW finding AS SELECT 1",
        "DROP TABLE sighting",
        "UPDATE meta SET value = '" + DEEP + "'",
        "UPDATE meta SET value = '{\"shard\": [1, 1]}'",
    ],
)
def test_a_store_of_another_make(schema: str, lawful: Lawful) -> None:
    campaign_store(Path("s.sqlite"))
    with closing(sqlite3.connect("s.sqlite")) as database:
        database.executescript(schema)
    assert lawful("fuzz", "list", "--store", "s.sqlite") == 2
    assert lawful("fuzz", "merge", "out/m.sqlite", "s.sqlite") == 2


def test_a_long_text_of_a_store(lawful: Lawful) -> None:
    campaign_store(Path("s.sqlite"), actual=LONG, target=LONG)
    assert lawful("fuzz", "list", "--store", "s.sqlite") == 0
    assert lawful("fuzz", "export", "all", "--store", "s.sqlite", "--output", "out") == 0


def replay(lawful: Lawful, content: str) -> int:
    Path("out/f.json").write_text(content)
    return lawful("fuzz", "replay", "out/f.json", "--target", "sim:reference")


@pytest.mark.parametrize("text", [*NASTY, LONG, DEEP])
def test_texts_of_a_finding(text: str, lawful: Lawful) -> None:
    record = to_record(finding()) | {"target": text, "rule": text, "id": text}
    Path("out/f.json").write_text(json.dumps(record))
    assert lawful("fuzz", "replay", "out/f.json") in (2, 3)
    assert replay(lawful, text.encode(errors="replace").decode()) == 2
    record["reduced"]["end"] = text
    assert replay(lawful, json.dumps(record)) == 2


_LEAVES = st.sampled_from([None, True, -1, 0, 7, 10**9, 10**30, 1.5, 1e300, "", "x", "S", [], {}])


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all that a JSON value holds."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from leaves(each, (*path, key))


@settings(quick, max_examples=80)
@given(seed=st.integers(0, 50), at=st.floats(0, 1, exclude_max=True), value=_LEAVES)
def test_a_program_with_another_value(seed: int, at: float, value: Any, lawful: Lawful) -> None:
    from scapy_tfo.program.program import to_json

    program = json.loads(json.dumps(to_json(make(seed, "rfc"))))
    paths = list(leaves(program))
    *way, last = paths[int(at * len(paths))]
    place = program
    for step in way:
        place = place[step]
    place[last] = value
    replay(lawful, json.dumps(program))
