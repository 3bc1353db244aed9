"""Which SYN-ACKs may be marked: RFC 3168 section 6.1.1, RFC 5562."""

from __future__ import annotations

import pytest

from scapy_tfo.segment import ACK, CWR, ECE, SYN
from tests.oracle.conduct.conversation import Conversation

_ECT_0 = 2


@pytest.mark.parametrize(
    ("marks", "broken"),
    [
        ((0, 0), []),
        ((0, _ECT_0), ["syn-ack-marked"]),
        # By RFC 5562, or sent again by the network.
        ((_ECT_0,), []),
        ((_ECT_0, _ECT_0), []),
        ((_ECT_0, 0), []),
    ],
)
def test_a_syn_ack_sent_again_is_not_marked(marks: tuple[int, ...], broken: list[str]) -> None:
    talk = Conversation(ordered=True)
    talk.ours(SYN | ECE | CWR)
    for mark in marks:
        talk.theirs(SYN | ACK | ECE, traffic_class=mark)
        talk.rest(1.0)
    assert talk.broken == broken
