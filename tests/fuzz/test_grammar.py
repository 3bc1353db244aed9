"""A seed always makes the same program, on any machine, as long as the version is the same."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation import grammar, rare_segments
from scapy_tfo.fuzz.generation.grammar import VERSION, program_for, sent_for
from scapy_tfo.program.program import MAX_STEPS, Program, Wait, check, dumps, loads

PROFILES = ("auto", "rfc", "live", "linux")

DIGESTS = {
    7: "b36d22954eca89dc",
}
"""Of the first 200 programs, by the grammar's version. Where this fails, make a new VERSION: seeds
that people wrote down mean another program now."""

_PRINT = """
from tests.fuzz.test_grammar import digest
print(digest())
"""


def digest() -> str:
    text = "\n".join(dumps(sent_for(seed)) for seed in range(200))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [program_for(seed) for seed in range(2000)]


def test_a_new_grammar_has_a_new_version() -> None:
    assert digest() == DIGESTS.get(VERSION)


def test_seeds_mean_the_same_in_another_process() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _PRINT],
        env={"PYTHONHASHSEED": "123", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == digest()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_program_can_be_sent_and_kept(profile: str) -> None:
    for seed in range(300):
        program = program_for(seed, profile)
        check(program)
        assert loads(dumps(program)) == program


def test_every_theme_comes_as_often_as_it_weighs(programs: list[Program]) -> None:
    themes = grammar._ALL
    found = Counter(each.origin for each in programs)
    assert set(found) == set(themes)
    whole = sum(weight for weight, _ in themes.values())
    for name, (weight, _) in themes.items():
        assert 0.4 < found[name] * whole / (weight * len(programs)) < 2.0


def test_a_target_in_use_gets_what_makes_sense_there() -> None:
    origins = {program_for(seed, "live").origin for seed in range(1000)}
    assert origins == set(grammar._KERNEL)
    assert {"history", "crowd"} & origins == set()


def test_programs_are_as_long_as_conversations(programs: list[Program]) -> None:
    assert max(len(each.steps) for each in programs) <= MAX_STEPS
    assert max(each.sends for each in programs) >= 20
    assert max(len(each.flows) for each in programs) >= 8
    assert all(each.sends for each in programs)
    waits = [step for each in programs for step in each.steps if isinstance(step, Wait)]
    assert {each.seconds is None for each in waits} == {True, False}


def test_seeds_of_any_size_are_taken() -> None:
    assert program_for(7 << 32) != program_for((7 << 32) + 1)
    assert program_for((1 << 63) - 1) == program_for((1 << 63) - 1)


def test_a_campaign_has_whole_conversations_and_what_hardly_any_peer_sends() -> None:
    found = Counter(sent_for(number).origin for number in range(1200))
    assert found["rare"] == found["exchange"] + found["retries"] == 100


@pytest.mark.parametrize("kind", rare_segments._KINDS, ids=lambda kind: kind.__name__)
def test_what_is_rare_is_in_it_and_minded_by_no_right_stack(
    kind: Callable[[Random], rare_segments._Talk],
) -> None:
    programs = [kind(Random(seed)).program() for seed in range(60)]
    assert len(set(programs)) > 30
    bench = SimulatedBench("sim:reference")
    verdicts = [verdict for _, verdict in bench.run(enumerate(programs))]
    assert [each.violations for each in verdicts if each.violations] == []
