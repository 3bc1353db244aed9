"""Programs whose answers look wrong and are not: each is legal for the reason beside it."""

from __future__ import annotations

import pytest

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.grammar import program_for

WITNESSES = {
    # Seed -> the stack, and what it does there.
    "a SYN cookie outlives a RST": ("syn-cookies-always", 4274),
    "an early FIN was thrown away, and the stream goes on": ("variants-row-1", 1703),
    "an answer to the SYN that came twice was the one in half a second": ("variants-row-1", 2071),
    "so was one before the handshake ended": ("variants-row-1", 4998),
    "an ACK refuses a segment while the SYN-ACK is held": ("variants-row-11", 1262),
    "a reset fast open counts for three minutes": ("variants-row-12", 2976),
    "blocks take room from the text": ("variants-row-16", 2624),
}


@pytest.mark.parametrize("why", WITNESSES)
def test_a_legal_answer_is_not_blamed(why: str) -> None:
    name, seed = WITNESSES[why]
    bench = SimulatedBench(f"sim:{name}")
    (found,) = bench.run([(seed, program_for(seed))])
    assert found[1].violations == ()
