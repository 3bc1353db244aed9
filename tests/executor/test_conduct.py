"""The rules of plain TCP judge the programs of the fuzzer, too."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_tfo.executor.conduct import Counts, Log
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.fuzz.campaign.campaign import Campaign
from scapy_tfo.fuzz.findings.store import Store
from scapy_tfo.fuzz.generation.grammar import (
    CONVERSATIONS,
    EXCHANGE,
    RETRIES,
    program_for,
    sent_for,
)
from scapy_tfo.oracle import registry
from scapy_tfo.program.program import Cookie, Flow, Icmp, Option, Program, Send, Wait
from tests.fuzz.fakes import plan

WRONG = "sim:sack-leaves-the-syn-data-out"
WORDS = (Option("mss", 1460), Option("sackok"), Option("fo", cookie=Cookie()))
EARLY = Program(
    (Flow(),),
    (Send(0, "S", size=20, options=WORDS), Wait(), Send(0, "P.", 101, "all", 10), Wait()),
    "reset",
)
"""The SYN brings text, and what comes then lies behind a gap."""


def found(verdict: Verdict) -> set[tuple[str, str]]:
    return {(each.rule, each.requirement) for each in verdict.violations}


def test_a_breach_is_a_violation_by_what_the_requirements_say_of_it() -> None:
    verdict, packets = SimulatedBench(WRONG).trace(EARLY)
    assert found(verdict) == {("block-of-nothing", "AFT-11")}
    for each in verdict.violations:
        assert (each.state, each.reply, each.flow, each.step) == ("OPEN", "ack", 0, 3)
        assert not packets[each.packet].outbound
    assert found(SimulatedBench("sim:reference").trace(EARLY)[0]) == set()


def test_one_program_in_so_many_is_judged_and_a_traced_one_always() -> None:
    bench = SimulatedBench(WRONG)
    bench.counts.every = 3
    judged = dict(bench.run((number, EARLY) for number in range(7)))
    assert [number for number, each in judged.items() if each.violations] == [0, 3, 6]
    assert bench.trace(EARLY)[0].violations


def test_whole_conversations_are_judged_whatever_their_number() -> None:
    bench = SimulatedBench(WRONG)
    bench.counts.every, bench.counts.always = 3, CONVERSATIONS
    sent = [replace(EARLY, origin=origin) for origin in ("probe", EXCHANGE, RETRIES, "probe")]
    judged = dict(bench.run(enumerate(sent, 1)))
    assert [number for number, each in judged.items() if each.violations] == [2, 3]
    bench.counts.every = 0
    assert not any(each.violations for _, each in bench.run(enumerate(sent)))


def test_a_campaign_judges_them_all(tmp_path: Path) -> None:
    """Their numbers are no multiples of anything that programs are chosen by."""
    judged: list[str] = []

    class Noting(Counts):
        def log(self, number: int, origin: str, **named: bool) -> Log | None:
            log = super().log(number, origin, **named)
            judged.extend([origin] if log is not None else [])
            return log

    bench = SimulatedBench("sim:reference")
    bench.counts = Noting()
    changes = {"mutate": False, "profile": "auto", "volleys": 0}
    with closing(Store.create(tmp_path / "a.sqlite", plan(**changes))) as store:
        Campaign(store, sent_for, bench, lambda: bench, programs=256).run()
    sent = [sent_for(number).origin for number in range(256)]
    wanted = sum(each in CONVERSATIONS for each in sent)
    assert sum(each in CONVERSATIONS for each in judged) >= wanted > 10
    assert len(judged) < 100
    bench.counts.every = 0
    assert not bench.trace(EARLY)[0].violations


def test_what_the_model_calls_wrong_is_not_called_wrong_twice() -> None:
    bench = SimulatedBench("sim:drops-timestamps-after-the-handshake")
    rules = registry.every()
    of_model = 0
    for seed in range(40):
        violations = bench.trace(program_for(seed))[0].violations
        model = {each.packet for each in violations if not rules[each.rule].of_traffic}
        traffic = {each.packet for each in violations if rules[each.rule].of_traffic}
        assert not model & traffic
        of_model += len(model)
    assert of_model


@pytest.mark.parametrize("stack", ["window-shrinks", "reports-one-block", "isn-of-hash-and-clock"])
def test_legal_stacks_are_not_blamed(stack: str) -> None:
    bench = SimulatedBench(f"sim:{stack}")
    for seed in range(7690, 7720):
        assert found(bench.trace(program_for(seed))[0]) == set(), seed


def test_after_an_icmp_error_an_acknowledgement_shows_that_the_connection_is_there() -> None:
    program = Program(
        (Flow(),),
        (
            Send(0, "S", size=20, options=WORDS),
            Wait(),
            Icmp(0, "unreachable", 1),
            Send(0, "P.", 21, "all", 50),
            Wait(1.0),
        ),
    )
    silent = SimulatedBench("sim:icmp-silences-the-connection").trace(program)[0]
    assert found(silent) == {("no-text", "AFT-8")}
    assert found(SimulatedBench("sim:reference").trace(program)[0]) == set()


def test_each_rule_that_applied_is_counted() -> None:
    bench = SimulatedBench("sim:reference")
    for _ in bench.run((seed, program_for(seed)) for seed in range(40)):
        pass
    applied = bench.counts.applied
    assert set(applied) <= set(registry.every())
    assert applied["flags-together"] == applied["data-offset"] > 0
    assert applied["ack-beyond"] > 0
