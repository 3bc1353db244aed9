"""What a path may let come in another order, and what a timer may send first."""

from __future__ import annotations

import pytest

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, RST, SYN
from tests.oracle.conduct.conversation import PERMITTED, Conversation
from tests.oracle.conduct.test_rules import opened, timed


def test_an_ack_that_text_was_overtaken_by() -> None:
    """Text that was never there may have been sent before the ACK that came first."""
    talk = Conversation()
    opened(talk)
    talk.ours(ACK, b"abc")
    assert talk.theirs(ack=4) == []
    assert talk.theirs(ACK, b"xyz", ack=1) == []


def test_an_ack_goes_back_under_a_younger_timestamp() -> None:
    talk = Conversation()
    timed(talk)
    talk.ours(ACK, b"abc", options=(opt.timestamps(102, 500),))
    assert talk.theirs(ack=4, options=(opt.timestamps(501, 102),)) == []
    assert "ack-goes-back" in talk.theirs(ack=1, options=(opt.timestamps(502, 102),))


def test_a_tail_loss_probe_is_the_last_segment() -> None:
    talk = Conversation(ordered=True)
    opened(talk, PERMITTED)
    talk.theirs(ACK, b"abc")
    talk.theirs(ACK, b"def", seq=4)
    talk.now += 1.0
    assert talk.theirs(ACK, b"def", seq=4) == []


@pytest.mark.parametrize(("ordered", "broken"), [(False, []), (True, ["rst-number"])])
def test_a_copy_of_the_syn_opens_another_connection_behind_an_abort(
    ordered: bool, broken: list[str]
) -> None:
    """Its SYN-ACK may be lost: then all that comes of it is the RST of the next abort."""
    talk = Conversation(ordered=ordered)
    talk.ours(SYN, b"abc")
    talk.theirs(SYN | ACK, ack=4)
    assert talk.theirs(RST | ACK, ack=4) == []
    assert talk.theirs(RST | ACK, seq=900_000, ack=4) == broken
