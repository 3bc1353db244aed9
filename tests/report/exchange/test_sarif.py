"""SARIF: what failed, in the shape that SARIF 2.1.0 demands of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.report.exchange.sarif import sarif, write_sarif
from scapy_tfo.spec import Requirement
from scapy_tfo.suite.result import Run

# The part of the OASIS schema that concerns what is written, and closed: it allows nothing else.
SCHEMA = json.loads((Path(__file__).parent / "sarif-subset.schema.json").read_text())


def test_it_follows_the_schema(run: Run, hostile_run: Run) -> None:
    for each in (run, hostile_run, dataclasses.replace(run, results=(), gone="gone")):
        for strict in (False, True):
            jsonschema.validate(json.loads(json.dumps(sarif(each, strict=strict))), SCHEMA)


def test_failures_are_results_and_nothing_else_is(
    run: Run, catalogue: dict[str, Requirement]
) -> None:
    (found,) = sarif(run, catalogue=catalogue)["runs"]
    assert [(each["ruleId"], each["level"]) for each in found["results"]] == [
        ("ACC-2", "error"),
        ("SRV-2", "warning"),
        ("ACC-2", "error"),
    ]
    assert [bool(each.get("suppressions")) for each in found["results"]] == [False, False, True]
    assert [each["id"] for each in found["tool"]["driver"]["rules"]] == ["ACC-2", "SRV-2"]
    rule = found["tool"]["driver"]["rules"][0]
    assert rule["helpUri"] == "https://www.rfc-editor.org/rfc/rfc7413.html#section-3"
    assert found["invocations"][0]["exitCode"] == 1


def test_results_point_to_their_target_file(run: Run) -> None:
    def places(target: str) -> set[str]:
        (found,) = sarif(dataclasses.replace(run, target=target))["runs"]
        at = [each["locations"][0]["physicalLocation"] for each in found["results"]]
        return {each["artifactLocation"]["uri"] for each in at}

    assert places("tests/my stack.toml") == {"tests/my%20stack.toml"}
    assert places("192.0.2.7:80") == places("lab:x.toml") == {"capture.pcapng"}


def test_no_text_of_a_target_becomes_a_link(run: Run) -> None:
    evil = dataclasses.replace(run.results[1], reason="[see](https://example.invalid)\\")
    (found,) = sarif(dataclasses.replace(run, results=(evil,)))["runs"]
    said = found["results"][0]["message"]["text"]
    assert "\\[see\\](https://example.invalid)\\\\" in said


def test_a_run_that_judged_nothing_is_no_success(run: Run) -> None:
    gone = dataclasses.replace(run, results=(), gone="gone")
    assert sarif(gone)["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot write the SARIF report"):
        write_sarif(run, tmp_path / "none" / "a.sarif")
