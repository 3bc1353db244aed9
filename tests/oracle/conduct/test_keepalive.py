"""What asks a peer whether it is there, and what only looks so (RFC 9293 section 3.8.4)."""

from __future__ import annotations

import pytest

from scapy_tfo.segment import ACK
from tests.oracle.conduct.conversation import Conversation
from tests.oracle.conduct.test_rules import opened

BESIDE_TEXT = ["keepalive-beside-text"]


@pytest.mark.parametrize(
    ("begin", "wary", "broken"),
    [(1, True, []), (1, False, BESIDE_TEXT), (21, True, BESIDE_TEXT), (21, False, BESIDE_TEXT)],
    ids=["old", "old, read", "new", "new, read"],
)
def test_what_an_old_segment_acknowledges_need_not_be_read(
    begin: int, wary: bool, broken: list[str]
) -> None:
    """Then SND.UNA stays where the window was closed, and the ACK that answers has no more."""
    talk = Conversation(ordered=True, wary=wary)
    opened(talk)
    talk.ours(ACK, b"x" * 20)
    talk.theirs(ACK, b"y" * 20, ack=21)
    talk.ours(ACK, b"x" * 20, ack=18, window=0)
    talk.ours(ACK, b"z", seq=begin, ack=19)
    assert talk.theirs(seq=18, ack=21 + (begin == 21)) == broken
