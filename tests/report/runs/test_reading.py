"""results.json read back: the same run; and files that are none are refused with a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.report.json_report import SCHEMA_FILE, json_text, to_json
from scapy_tfo.report.runs.reading import read_run
from scapy_tfo.runner.session import Request
from scapy_tfo.runner.session import run as judge
from scapy_tfo.suite.result import Run

SCHEMA = json.loads(SCHEMA_FILE.read_text())


@pytest.fixture
def written(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_text(json_text(run))
    return path


def test_what_was_written_is_read(run: Run, hostile_run: Run, tmp_path: Path) -> None:
    for each in (run, hostile_run):
        path = tmp_path / "results.json"
        path.write_text(json_text(each))
        assert to_json(read_run(path).run) == to_json(each)


@pytest.mark.parametrize("target", ["sim:reference", "sim:accepts-any-cookie"])
def test_the_results_of_a_real_run_follow_the_shipped_schema(target: str, tmp_path: Path) -> None:
    done = judge(Request(target=target, label="a label", only=("SRV-1", "ACC", "TCP-ACK-10")))
    path = tmp_path / "results.json"
    path.write_text(json_text(done))
    document = json.loads(path.read_text())
    jsonschema.validate(document, SCHEMA)
    assert to_json(read_run(path).run) == document
    assert document["label"] == "a label"
    assert document["stack"]["name"] == f"scapy-tfo {target.partition(':')[2]}"


def test_a_file_of_an_older_release_is_read(written: Path) -> None:
    raw = json.loads(written.read_text())
    for name in ("label", "stack", "watched", "started"):
        del raw[name]
    written.write_text(json.dumps(raw))
    found = read_run(written)
    assert (found.run.stack, found.name) == (None, "192.0.2.7:80")


def test_the_directory_of_a_run_stands_for_its_results(written: Path) -> None:
    assert read_run(written.parent).path == written
    written.unlink()
    with pytest.raises(SetupError, match=r"directory without results\.json: give"):
        read_run(written.parent)


def without(name: str) -> Any:
    return lambda raw: raw.pop(name)


def result_with(**fields: object) -> Any:
    return lambda raw: raw["results"][0].update(fields)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (without("results"), "it has no 'results'"),
        (without("summary"), "it has no 'summary'"),
        (lambda raw: raw.update(schema=2), "its 'schema' is 2"),
        (lambda raw: raw.update(results=[3]), "result 1 is a number"),
        (lambda raw: raw.update(stack="Linux"), "its 'stack' is a text"),
        (lambda raw: raw.update(watched=[]), "a list stands where"),
        (result_with(verdict="good"), "'good' is not a valid Verdict"),
        (result_with(family=5), "result 1 has no family"),
        (result_with(packets=["x"]), "invalid literal"),
        (result_with(reason=None), "the 'reason' of result 1 is nothing"),
    ],
)
def test_a_file_that_holds_no_results_is_named(written: Path, spoil: Any, says: str) -> None:
    raw = copy.deepcopy(json.loads(written.read_text()))
    spoil(raw)
    written.write_text(json.dumps(raw))
    with pytest.raises(SetupError, match=rf"results\.json holds no results: .*{says}"):
        read_run(written)


@pytest.mark.parametrize("text", ["", "[]", "\xff", "[" * 100_000, "3", '{"schema": 1e400}'])
def test_what_is_no_run_at_all_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "latin-1")
    with pytest.raises(SetupError, match="holds no results"):
        read_run(path)
    with pytest.raises(SetupError, match="cannot read"):
        read_run(tmp_path / "absent.json")
