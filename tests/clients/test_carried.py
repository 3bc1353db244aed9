"""Silence after each number of bytes finds what goes wrong at one number of bytes only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scapy_tfo import seq, spec
from scapy_tfo.client_laws.registry import all_laws
from scapy_tfo.client_variants.registry import client_stack_of
from scapy_tfo.clients.judge import Options
from scapy_tfo.clients.simulated import simulate
from scapy_tfo.mutants.registry import REFERENCE
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.segment import Segment
from scapy_tfo.suite.result import Verdict

TEXT = "bytes-of-a-short-text"
SYN_ACK = "bytes-of-the-answer-in-the-SYN-ACK"


class AllButOneByteIsAll(ActiveConnection):
    """A SYN-ACK for all but the last byte of the SYN counts as one for all of it."""

    taken = 0

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        self.taken = seq.distance(self.send.iss, segment.ack) - 1
        super().syn_ack_arrives(segment, now)

    def resend_refused(self) -> None:
        if self.taken and self.taken == self.syn_data - 1:
            self.send.acknowledged(self.send.nxt, self.handshake_sent_at)
        else:
            super().resend_refused()


class OneByteOfTheSynAckIsDoubled(ActiveConnection):
    """A single byte of data in a SYN-ACK is delivered twice."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        if len(segment.payload) == 1:
            self.deliver(segment.payload)
        super().syn_ack_arrives(segment, now)


def failing(monkeypatch: pytest.MonkeyPatch, *parts: type[Any]) -> list[str]:
    """The laws, without slow ones, that a client with those parts breaks."""
    wrong = replace(REFERENCE, stack=client_stack_of(parts))
    monkeypatch.setattr("scapy_tfo.clients.simulated.client_named", lambda _: wrong)
    laws = [each for each in all_laws() if not each.slow]
    options = Options(families=(4,), capture=False)
    run = simulate("sim:local", laws, spec.load(), options)
    return [each.case for each in run.results if each.verdict is Verdict.FAIL]


@pytest.mark.parametrize(
    ("part", "where"), [(AllButOneByteIsAll, TEXT), (OneByteOfTheSynAckIsDoubled, SYN_ACK)]
)
def test_one_byte_is_enough(part: type[Any], where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = failing(monkeypatch, part)
    assert any(where in each for each in found)
    assert all("so-many-bytes" in each for each in found), "other laws find it, too"


@pytest.mark.parametrize("client", ["nagle", "remembers-four-servers", "eighteen-bytes-in-the-syn"])
def test_a_legal_client_keeps_the_law(client: str) -> None:
    laws = [each for each in all_laws() if "bytes" in each.id and not each.slow]
    run = simulate(f"sim:{client}", laws, spec.load(), Options(families=(4,), capture=False))
    assert [each.reason for each in run.results if each.verdict is Verdict.FAIL] == []


def test_each_byte_is_one_conversation_of_the_slow_law() -> None:
    (law,) = (each for each in all_laws() if each.slow)
    run = simulate("sim:reference", [law], spec.load(), Options(families=(4,), slow=True))
    (found,) = run.results
    assert found.verdict is Verdict.PASS
    assert found.observed == {"a short text, carried": "101 numbers of bytes, from 0 to 100"}
