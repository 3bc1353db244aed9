"""JUnit: reports that CI systems read, parsed back."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.report.junit import junit_xml, write_junit
from scapy_tfo.suite.result import Run


def parsed(run: Run, *, strict: bool = False) -> ET.Element:
    return ET.fromstring(junit_xml(run, strict=strict))


def case(root: ET.Element, name: str) -> ET.Element:
    (found,) = [each for each in root.iter("testcase") if each.get("name") == name]
    return found


def test_one_suite_for_each_section_with_right_counts(run: Run) -> None:
    root = parsed(run)
    assert [each.get("name") for each in root] == [
        f"scapy_tfo.{name}" for name in ("OPT", "ACC", "SRV", "LIM", "DUP")
    ]
    for suite in [root, *root]:
        cases = list(suite.iter("testcase"))
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(list(suite.iter("failure"))))
        assert suite.get("skipped") == str(len(list(suite.iter("skipped"))))
        assert suite.get("errors") == "0"
    assert root[1].get("timestamp") == "2026-01-02T03:04:05"


def test_a_failure_tells_its_story(run: Run) -> None:
    found = case(parsed(run), "ACC-2-accept [ipv4]")
    assert found.get("classname") == "scapy_tfo.ACC"
    assert found.get("time") == "0.250000"
    (failure,) = found
    assert failure.tag == "failure"
    assert failure.get("type") == "step"
    assert failure.get("message") == "the SYN-ACK acknowledges the SYN only"
    for part in ("expected: SYN-ACK with ack 21", "actual: SYN-ACK with ack 1", "packets 1, 2"):
        assert part in (failure.text or "")


def test_a_failed_should_passes_with_a_warning_unless_strict(run: Run) -> None:
    (out,) = case(parsed(run), "SRV-2-bits [ipv4]")
    assert out.tag == "system-out"
    assert (out.text or "").startswith("WARNING (SHOULD): a changed cookie was accepted")
    (failure,) = case(parsed(run, strict=True), "SRV-2-bits [ipv4]")
    assert failure.tag == "failure"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("SRV-1-bound [ipv6]", "give --source twice"),
        ("LIM-1-full [ipv4]", "inconclusive: no answer"),
        ("SRV-5-fresh [ipv4]", "unsupported: no fresh cookie"),
        ("ACC-5-empty [ipv4]", "known: reset (known failure: vendor ticket 12)"),
    ],
)
def test_what_does_not_say_that_the_target_is_wrong_is_skipped(
    run: Run, name: str, message: str
) -> None:
    (skipped,) = case(parsed(run), name)
    assert (skipped.tag, skipped.get("message")) == ("skipped", message)


def test_a_known_failure_that_passes_fails(run: Run) -> None:
    (failure,) = case(parsed(run), "ACC-9-once [ipv4]")
    assert "remove it from the list" in (failure.get("message") or "")


def test_observations_are_kept(run: Run) -> None:
    (out,) = case(parsed(run), "DUP-3-replay [ipv6]")
    assert out.text == "observed replay: delivered again"


def test_hostile_strings_stay_legal_xml(hostile_run: Run) -> None:
    raw = junit_xml(hostile_run)
    root = ET.fromstring(raw)
    assert len(list(root.iter("testcase"))) == 5
    assert "<script>" not in raw.decode("utf-8")
    assert all(char.isprintable() or char == "\n" for char in raw.decode("utf-8"))
    message = next(root.iter("failure")).get("message", "")
    assert "a\\x00b\\x1b[31mc\\u202ed<script>" in message


def test_an_empty_run_is_legal(run: Run) -> None:
    assert parsed(dataclasses.replace(run, results=())).get("tests") == "0"


def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none/a\.xml: No such file"):
        write_junit(run, tmp_path / "none" / "a.xml")
