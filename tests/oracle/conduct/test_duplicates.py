"""What a report of a duplicate may hold (RFC 2883 section 4)."""

from __future__ import annotations

import pytest

from scapy_tfo.segment import ACK
from tests.oracle.conduct.conversation import PERMITTED, Conversation, sack
from tests.oracle.conduct.test_rules import opened


@pytest.mark.parametrize(
    ("report", "broken"),
    [((5, 9), []), ((6, 8), []), ((5, 13), ["duplicate-of-nothing"])],
    ids=["what came twice", "less", "the whole segment"],
)
def test_a_segment_of_which_a_part_has_come(report: tuple[int, int], broken: list[str]) -> None:
    talk = Conversation(ordered=True)
    opened(talk, PERMITTED)
    talk.ours(ACK, b"x" * 8)
    talk.theirs(ack=9)
    talk.ours(ACK, b"x" * 8, seq=5)
    assert talk.theirs(ack=13, options=(sack(report),)) == broken


def test_the_original_may_be_long_ago() -> None:
    """Only so many of the last segments are known."""
    talk = Conversation(ordered=True)
    opened(talk, PERMITTED)
    for _ in range(100):
        talk.ours(ACK, b"x")
    talk.theirs(ack=101)
    talk.ours(ACK, b"x" * 2, seq=10)
    assert "duplicate-of-nothing" not in talk.theirs(ack=101, options=(sack((10, 12)),))
