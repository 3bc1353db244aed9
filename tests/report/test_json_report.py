"""JSON: reports obey the contract's schema, whatever strings they hold."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import jsonschema
import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.report.json_report import SCHEMA_FILE, json_text, to_json, write_json
from scapy_tfo.suite.result import Run

SCHEMA = json.loads(SCHEMA_FILE.read_text())


def test_a_run_follows_the_schema(run: Run, hostile_run: Run) -> None:
    for each in (run, hostile_run, dataclasses.replace(run, results=(), packets=())):
        jsonschema.validate(json.loads(json_text(each)), SCHEMA)


def test_text_and_dict_say_the_same(run: Run) -> None:
    assert json.loads(json_text(run)) == to_json(run)


def test_a_failure_carries_its_evidence(run: Run) -> None:
    record = to_json(run)["results"][1]
    assert record == {
        "case": "ACC-2-accept",
        "title": "Title of ACC-2-accept",
        "family": 4,
        "requirements": ["ACC-2", "ACC-99"],
        "level": "step",
        "verdict": "fail",
        "reason": "the SYN-ACK acknowledges the SYN only",
        "expected": "SYN-ACK with ack 21: SYN and 20 bytes",
        "actual": "SYN-ACK with ack 1",
        "flow": "192.0.2.1:40000>192.0.2.7:80",
        "packets": [1, 2],
        "seconds": 0.25,
        "attempts": 2,
        "observed": {},
        "known": "",
        "cause": None,
        "concerns": [],
    }


def test_the_summary_counts(run: Run) -> None:
    summary = to_json(run)["summary"]
    levels = summary.pop("levels")
    assert summary == {
        "pass": 4,
        "fail": 3,
        "inconclusive": 1,
        "unsupported": 1,
        "skipped": 2,
        "total": 11,
        "failed": 2,
        "warnings": 1,
        "known": 1,
        "fixed": 1,
        "retries": 1,
        "strict": False,
        "exit_status": 1,
        "notes": ["control handshake: 0.3 ms"],
    }
    assert list(levels) == ["MUST", "step", "robust", "SHOULD", "MAY", "design"]
    assert levels["SHOULD"]["fail"] == 1
    assert sum(sum(row.values()) for row in levels.values()) == 11


def test_strict_turns_warnings_into_failures(run: Run) -> None:
    summary = to_json(run, strict=True)["summary"]
    assert (summary["failed"], summary["warnings"], summary["strict"]) == (3, 0, True)


def test_no_control_byte_and_no_surrogate_is_written_raw(hostile_run: Run) -> None:
    text = json_text(hostile_run)
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")


def test_what_is_not_a_number_becomes_null(run: Run) -> None:
    odd = dataclasses.replace(run, seconds=math.inf)
    assert json.loads(json_text(odd))["seconds"] is None
    assert "Infinity" not in json_text(odd)


def test_writing_the_same_run_twice_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    write_json(run, tmp_path / "a.json")
    write_json(run, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none/a\.json: No such file"):
        write_json(run, tmp_path / "none" / "a.json")
