"""Programs whose answers look wrong and are not: each is legal for the reason beside it."""

from __future__ import annotations

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.grammar import program_for
from tests.variants.kept_rows import stack_named

WITNESSES = {
    # Seed -> the stack, and what it does there.
    "a SYN cookie outlives a RST": ("syn-cookies-always", 4274),
    "an early FIN was thrown away, and the stream goes on": ("kept-row-1", 1703),
    "an answer to the SYN that came twice was the one in half a second": ("kept-row-1", 2071),
    "so was one before the handshake ended": ("kept-row-1", 4998),
    "an ACK refuses a segment while the SYN-ACK is held": ("kept-row-11", 1262),
    "a reset fast open counts for three minutes": ("kept-row-12", 2976),
    "blocks take room from the text": ("kept-row-16", 2624),
    "a fast open without text is a plain handshake, and its reset counts not": (
        "kept-row-1",
        28256539,
    ),
    "the reset of an open connection does not count": ("kept-row-2", 29331237),
    "a probe comes five seconds after the text that asks for it": ("kept-row-39", 79539541),
    "an ACK refuses a segment while a SYN with FIN waits": ("kept-row-41", 15888680),
    "the ACK of this second went to another flow": ("kept-row-31", 4321369140),
    "so did that of a host with another limit": ("kept-row-43", 4331372117),
    "the round trip ended with the first ACK that had timestamps": (
        "remembers-in-last-ack",
        7535215587,
    ),
    "an MSS counts not beside another of a wrong length": ("closes-both-ways", 4302557099),
    "a RST for a SYN with FIN does not count the FIN": ("kept-row-10", 200175),
    "the ACK with which the client parts lets an answer out": ("kept-row-12", 200003),
}


@pytest.mark.parametrize("why", WITNESSES)
def test_a_legal_answer_is_not_blamed(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scapy_tfo.executor.simulated.named", stack_named)
    name, seed = WITNESSES[why]
    bench = SimulatedBench(f"sim:{name}")
    (found,) = bench.run([(seed, program_for(seed))])
    # A repeated option breaks a SHOULD that some of them give up.
    assert {each.rule for each in found[1].violations} <= {"repeated-option"}
