"""Scripts of findings fail where the fault is, and pass where it is not."""

from __future__ import annotations

import json
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.export.script import as_script
from scapy_tfo.fuzz.findings.finding import Finding, Status
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.program.program import from_json
from tests.pkt.remotely import run_text

WITNESSES = Path(__file__).parents[2] / "docs/generated/fuzz-mutants.json"
TABLE = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "finding_scripts.py"))
SPOILT = [
    "accepts-a-cookie-cut-short",
    "accepts-a-padded-cookie",
    "accepts-any-cookie",
    "accepts-the-end-of-a-cookie",
    "compares-four-bytes",
    "compares-the-set-of-bytes",
]


@cache
def witnesses() -> dict[str, dict[str, Any]]:
    mutants = json.loads(WITNESSES.read_text(encoding="utf-8"))["mutants"]
    return {name: each for name, each in mutants.items() if "witness" in each}


def script_of(mutant: str) -> str:
    entry = witnesses()[mutant]
    program = from_json(entry["witness"])
    _, packets = SimulatedBench(f"sim:{mutant}").trace(program)
    return as_script(
        Finding(
            signature=(entry["requirement"], "", entry["reply"], ""),
            rule=entry["rule"],
            status=Status.CONFIRMED,
            number=0,
            seed=0,
            program=program,
            reduced=program,
            expected="",
            actual="",
            packets=tuple(packets),
            packet=-1,
            target=f"sim:{mutant}",
            version="",
            first_seen=1_700_000_000.0,
        )
    )


def failures(script: str, target: str) -> list[int]:
    """Lines at which it fails there."""
    version = "ipv6" if "--ip_version=ipv6" in script else "ipv4"
    answer = run_text(script, target, settings=Settings(version=version))
    assert isinstance(answer, Outcome), answer
    return [each.line for each in answer.failures]


def says_why(script: str) -> bool:
    head = " ".join(line[3:] for line in script.splitlines() if line.startswith("//"))
    return "proves nothing" in head


def test_of_the_scripts_that_prove_something_nearly_all_do() -> None:
    proved, missed = [], []
    for mutant in sorted(witnesses())[::9]:
        try:
            script = script_of(mutant)
            if says_why(script):
                continue
            shown = bool(failures(script, f"sim:{mutant}")) and not failures(
                script, "sim:reference"
            )
        except AssertionError:
            shown = False
        (proved if shown else missed).append(mutant)
    assert len(proved) >= 35
    assert len(missed) <= 0.1 * len(proved), missed


@pytest.mark.parametrize("mutant", SPOILT)
def test_a_spoilt_cookie_is_written_as_what_it_is(mutant: str) -> None:
    script = script_of(mutant)
    assert "FO $C." in script
    assert "FO $C," not in script
    assert failures(script, f"sim:{mutant}")
    assert failures(script, "sim:reference") == []


@pytest.mark.parametrize(
    ("mutant", "needed"),
    [
        ("cookie-leaves-the-client-out", "--source A B"),
        ("ack-gives-the-place-back-late", "--small-port N"),
        ("option-on-a-reset-counts-for-the-next-syn", "--second-port N"),
        ("honours-cookies-when-off", "--plain-port N"),
    ],
)
def test_what_a_target_has_to_be_given_stands_in_the_head(mutant: str, needed: str) -> None:
    script = script_of(mutant)
    assert needed in " ".join(line for line in script.splitlines() if line.startswith("//"))
    assert failures(script, f"sim:{mutant}")
    assert failures(script, "sim:reference") == []


@pytest.mark.parametrize(
    ("mutant", "line"),
    [
        # One client's cookie is not another's.
        ("grants-constant-cookie", "FO !$C"),
        # An MSS is compared with that of the SYN-ACK before.
        ("fast-open-offers-the-default-mss", "<mss $MSS"),
        # An ISN that the program names is kept.
        ("numbers-have-a-sign", "S 2147483637:2147483647(10)"),
        # The clock of the SYN-ACK is that of what follows it.
        ("syn-ack-has-another-clock", "TS val"),
        # The first packet is no SYN alone: we are the client all the same.
        ("ack-beside-syn-is-not-seen", "< S. 0:0(0)"),
        # What is a cookie of the main listener is asked for there.
        ("cookie-bound-to-the-service", "< 65535 > 10001 S"),
    ],
)
def test_what_the_fault_is_about_stands_in_the_script(mutant: str, line: str) -> None:
    script = script_of(mutant)
    assert line in script
    assert failures(script, f"sim:{mutant}")
    assert failures(script, "sim:reference") == []


def test_an_ack_may_come_alone_or_with_the_answer() -> None:
    assert " ack 18 <...> or none" in script_of("crashes-on-length-one")


@pytest.mark.parametrize(
    ("mutant", "why"),
    [
        ("cookie-is-the-address", "of what the cookie was made"),
        ("windows-end-at-zero", "by --target: an echo application sends back all"),
        ("grants-once-per-client", "differ in no flag"),
        ("window-ends-at-zero", "it passes at sim:window-ends-at-zero, too"),
    ],
)
def test_what_proves_nothing_says_why(mutant: str, why: str) -> None:
    head = " ".join(line[3:] for line in script_of(mutant).splitlines() if line.startswith("//"))
    assert "It proves nothing" in head
    assert why in head


def test_the_table_has_what_a_script_showed() -> None:
    name = "accepts-any-cookie"
    row, script = TABLE["tried"]((name, witnesses()[name]), live=False)
    assert (row.mutant, row.reference, row.place) == ("fails", "passes", True)
    assert row.proves
    assert failures(script, f"sim:{name}")


def test_an_echo_writes_also_what_was_never_sent() -> None:
    name = "sends-into-a-window-that-the-ack-closed"
    script = script_of(name)
    reads, writes = (
        [line.rpartition(" ")[2] for line in script.splitlines() if f"{call}(" in line]
        for call in ("read", "write")
    )
    assert sum(map(int, reads)) == sum(map(int, writes))
    assert failures(script, f"sim:{name}")
    assert failures(script, "sim:reference") == []
