"""TAP: one line for each result, which parsers of TAP 14 and of KTAP read alike."""

from __future__ import annotations

import dataclasses
import re

from scapy_tfo.report.exchange.tap import tap
from scapy_tfo.suite.result import Run

from ..sample import HOSTILE

# As tools/testing/kunit/kunit_parser.py reads a line: a result, or a skipped one.
RESULT = re.compile(r"^(ok|not ok) ([0-9]+) ?(- )?([^#]*)( # .*)?$")
SKIPPED = re.compile(r"^(ok|not ok) ([0-9]+) ?(- )?(.*) # SKIP ?(.*)$")


def test_each_result_has_a_line_and_a_number(run: Run) -> None:
    lines = tap(run).splitlines()
    assert lines[:3] == ["TAP version 14", "1..11", "# scapy-tfo 0.1.0 at 192.0.2.7:80"]
    numbers = [int(found[2]) for found in map(RESULT.match, lines) if found]
    assert numbers == list(range(1, 12))


def test_only_what_fails_the_run_is_not_ok(run: Run) -> None:
    failed = [each for each in tap(run).splitlines() if each.startswith("not ok")]
    assert failed == ["not ok 2 - ACC-2-accept [ipv4]", "not ok 5 - ACC-9-once [ipv4]"]
    assert "not ok 3 - SRV-2-bits [ipv4]" in tap(run, strict=True).splitlines()


def test_what_has_no_verdict_is_skipped_with_the_reason(run: Run) -> None:
    skipped = [each for each in tap(run).splitlines() if SKIPPED.match(each)]
    assert [SKIPPED.match(each)[5] for each in skipped] == [
        "known: reset (known failure: vendor ticket 12)",
        "inconclusive: no answer",
        "give --source twice",
        "give --source twice",
        "unsupported: no fresh cookie",
    ]


def test_a_failure_is_followed_by_its_evidence(run: Run) -> None:
    lines = tap(run).splitlines()
    at = lines.index("not ok 2 - ACC-2-accept [ipv4]")
    assert lines[at + 1] == "# fail (step): the SYN-ACK acknowledges the SYN only"
    assert "# expected: SYN-ACK with ack 21: SYN and 20 bytes" in lines[at + 1 : at + 6]


def test_a_run_without_an_end_bails_out(run: Run) -> None:
    gone = tap(dataclasses.replace(run, gone="no answer\nto anything"))
    assert gone.splitlines()[-1] == "Bail out! no answer\\nto anything"
    assert "Bail out!" not in tap(run)


def test_a_run_without_results_passes_nothing(run: Run) -> None:
    assert "1..0 # SKIP" in tap(dataclasses.replace(run, results=()))


def test_nothing_of_a_target_becomes_a_line_or_a_directive(run: Run) -> None:
    evil = dataclasses.replace(
        run.results[1], case="x # SKIP y", reason=HOSTILE + "\nok 99 - mine", expected="\nBail out!"
    )
    lines = tap(dataclasses.replace(run, results=(evil,))).splitlines()
    assert [each for each in lines if RESULT.match(each)] == []
    assert "not ok 1 - x \\# SKIP y [ipv4]" in lines
    assert not any(each.startswith(("ok", "Bail")) for each in lines)
    assert all(each.isprintable() for each in lines)
