"""Whole conversations: what they tell of wrong stacks, and of which legal ones they say nothing."""

from __future__ import annotations

import struct
from collections import Counter
from random import Random

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.exchanges import exchange
from scapy_tfo.option import SACK, pulled
from scapy_tfo.program.program import Flow, Icmp, Option, Program, Send, Step, Wait, check
from scapy_tfo.segment import Segment

FEW = 60


def rules(target: str, programs: int = FEW) -> set[str]:
    """What so many conversations break at a target."""
    made = ((number, exchange(Random(number))) for number in range(programs))
    return {
        each.rule
        for _, verdict in SimulatedBench(f"sim:{target}").run(made)
        for each in verdict.violations
    }


@pytest.mark.parametrize(
    "target",
    [
        "reference",
        "waits-for-push",
        "syn-ack-of-no-window",
        "probes-at-a-constant-rate",
        "variants-row-3",
        "variants-row-27",
    ],
)
def test_right_stacks_are_not_blamed(target: str) -> None:
    assert rules(target) <= {"repeated-option"}


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("takes-its-time", "ack-late"),
        ("gap-is-passed-over", "ack-beyond"),
        ("never-scales-windows", "no-text"),
    ],
)
def test_wrong_stacks_are_told(target: str, rule: str) -> None:
    assert rule in rules(target, 200)


def test_each_is_a_program_of_one_flow_or_two() -> None:
    flows = set()
    for number in range(300):
        program = exchange(Random(number))
        check(program)
        flows.add(len(program.flows))
    assert flows == {1, 2}


def test_text_comes_early_and_more_than_once_and_acknowledgements_are_of_less() -> None:
    early = again = less = 0
    for number in range(100):
        program = exchange(Random(number))
        if len(program.flows) > 1 or any(is_odd(each) for each in program.steps):
            continue
        syn, *steps = (each for each in program.steps if isinstance(each, Send))
        end = syn.size + 1
        for each in (each for each in steps if "S" not in each.flags):
            early += bool(each.size) and each.seq > end
            again += bool(each.size) and each.seq < end
            less += each.ack != "all"
            if each.seq <= end:
                end = max(end, each.seq + each.size)
    assert min(early, again, less) > 50


def is_odd(step: Step) -> bool:
    """Whether it is a segment that must not change anything."""
    return isinstance(step, Send) and (step.wrong or "R" in step.flags or bool(step.checksum))


def test_they_have_what_a_conversation_may_have_and_mostly_little_of_it() -> None:
    found = Counter(each for number in range(300) for each in traits(exchange(Random(number))))
    assert set(found) == {"FIN", "urgent", "ECN", "error", "SACK", "wrong", "same again"}
    assert max(found.values()) < 150
    assert min(found.values()) > 15


def traits(program: Program) -> set[str]:
    """What is in it that is in few others."""
    sends = [each for each in program.steps if isinstance(each, Send)]
    pure = [(each.flow, each.seq, each.ack, each.window) for each in sends if not each.size]
    has = {
        "FIN": any("F" in each.flags for each in sends),
        "urgent": any(each.urgent for each in sends),
        "ECN": any(each.traffic_class for each in sends),
        "SACK": any(each.sack for each in sends),
        "wrong": any(each.wrong for each in sends),
        "error": any(isinstance(each, Icmp) for each in program.steps),
        "same again": any(pure.count(each) > 3 for each in set(pure)),
    }
    return {name for name, is_there in has.items() if is_there}


def test_a_block_of_text_is_what_came_above_the_acknowledgement() -> None:
    program = Program(
        (Flow(),),
        (
            Send(options=(Option("mss", 1460), Option("sackok"))),
            Wait(),
            Send(0, "P.", 1, "all", 1400),
            Wait(),
            Send(0, ".", 1401, 1, sack=500),
            Send(0, ".", 1401, 1, sack=1400),
        ),
        "leave",
    )
    verdict, packets = SimulatedBench("sim:reference").trace(program)
    assert not verdict.violations
    iss = Segment.from_bytes(packets[1].data).seq
    sent = [Segment.from_bytes(each.data) for each in packets if each.outbound]
    last, none = sent[-2:]
    edges = struct.pack("!II", (iss + 501) % 2**32, (iss + 1401) % 2**32)
    assert [each.data for each in pulled(last.options) if each.kind == SACK] == [edges]
    assert not none.options
