"""What asks a peer whether it is there, and what only looks so (RFC 9293 section 3.8.4)."""

from __future__ import annotations

import pytest

from scapy_tfo.segment import ACK
from tests.oracle.conduct.conversation import Conversation
from tests.oracle.conduct.test_rules import opened


@pytest.mark.parametrize(
    ("begin", "broken"), [(1, []), (21, ["keepalive-beside-text"])], ids=["old", "new"]
)
def test_what_an_old_segment_acknowledges_is_not_read(begin: int, broken: list[str]) -> None:
    """SND.UNA stays where the window was closed, and the ACK that answers has no more."""
    talk = Conversation(ordered=True)
    opened(talk)
    talk.ours(ACK, b"x" * 20)
    talk.theirs(ACK, b"y" * 20, ack=21)
    talk.ours(ACK, b"x" * 20, ack=18, window=0)
    talk.ours(ACK, b"z", seq=begin, ack=19)
    assert talk.theirs(seq=18, ack=21 + (begin == 21)) == broken
