"""Scripts of findings fail where the fault is, and pass where it is not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.findings.finding import Finding, Status
from scapy_tfo.fuzz.findings.script import as_script
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.program.program import from_json
from tests.pkt.remotely import run_text

WITNESSES = Path(__file__).parents[2] / "docs/generated/fuzz-mutants.json"
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
            signature=(entry["requirement"], "", entry["reply"]),
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
    assert len(proved) >= 25
    assert len(missed) <= 0.1 * len(proved), missed


@pytest.mark.parametrize("mutant", SPOILT)
def test_a_spoilt_cookie_is_written_as_what_it_is(mutant: str) -> None:
    script = script_of(mutant)
    assert "FO $C." in script
    assert "FO $C," not in script
    assert failures(script, f"sim:{mutant}")
    assert failures(script, "sim:reference") == []


def test_what_needs_a_second_address_says_so() -> None:
    script = script_of("cookie-leaves-the-client-out")
    assert "it needs a second address" in " ".join(
        line[3:] for line in script.splitlines() if line.startswith("//")
    )
