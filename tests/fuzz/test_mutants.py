"""Programs found by hunts (`make hunt`) still show the violations that they showed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.campaign.triage import breaks
from scapy_tfo.fuzz.findings.naming import named
from scapy_tfo.mutants.registry import all_mutants
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.program.program import Program, from_json

TABLE = json.loads(
    (Path(__file__).parents[2] / "docs" / "generated" / "fuzz-mutants.json").read_text(
        encoding="utf-8"
    )
)
MUTANTS: dict[str, dict[str, Any]] = TABLE["mutants"]
FOUND = {name: each for name, each in MUTANTS.items() if "rule" in each}
SAMPLE = 12
"""Of so many one is tried, all with `--tfo-slow`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        step = 1 if metafunc.config.getoption("--tfo-slow") else SAMPLE
        metafunc.parametrize("name", list(FOUND)[::step])


def test_a_program_shows_its_mutant(name: str) -> None:
    found = FOUND[name]
    program = from_json(found["witness"])
    bench = SimulatedBench(f"sim:{name}")

    def ask(programs: Sequence[Program]) -> list[Sequence[Violation]]:
        return [verdict.violations for _, verdict in bench.run(enumerate(programs))]

    ((_, verdict),) = bench.run([(0, program)])
    shown = breaks(verdict, (found["rule"], found["reply"]))
    assert shown is not None
    violation = named(program, shown, ask)
    assert (violation.requirement, violation.cookie) == (
        found["requirement"],
        found.get("cookie", ""),
    )
    ((_, innocent),) = SimulatedBench("sim:reference").run([(0, program)])
    assert innocent.violations == ()


def test_the_table_knows_every_mutant() -> None:
    known = set(MUTANTS) | set(TABLE["hidden"]) | set(TABLE["free"])
    assert known == {each.name for each in all_mutants() if not each.equivalent}
    clauses = {each.name: each.breaks for each in all_mutants()}
    assert {name: each["clause"] for name, each in MUTANTS.items()} == {
        name: clauses[name] for name in MUTANTS
    }


def test_enough_is_found() -> None:
    assert len(FOUND) >= 0.9 * len(MUTANTS)
    assert sum(each["steps"] <= 5 for each in FOUND.values()) >= 0.9 * len(FOUND)
    same = sum(each["requirement"] == each["clause"] for each in FOUND.values())
    assert same >= 0.9 * len(FOUND)
