"""What lets more text be under way than the congestion window of RFC 5681."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scapy_tfo.segment import ACK, PSH
from tests.oracle.conduct import later_talk, sending_talk
from tests.oracle.conduct.conversation import Conversation
from tests.oracle.conduct.test_rules import opened


@pytest.mark.parametrize(
    ("begin", "end", "rule"),
    [
        (lambda talk: sending_talk.flight(talk, 12), 4 + 1460 * 12, "flight-too-large"),
        (lambda talk: sending_talk.lost_twice(talk, 1000), 1001, "window-after-lost-handshake"),
    ],
    ids=["congestion window", "lost handshake"],
)
@pytest.mark.parametrize("is_probe", [True, False])
def test_a_probe_for_a_loss_at_the_tail_may_exceed_a_window(
    begin: Callable[[Conversation], None], end: int, rule: str, is_probe: bool
) -> None:
    """RFC 8985 section 7.3, also where RFC 5681 section 3.1 lets one segment out."""
    talk = Conversation(ordered=True)
    begin(talk)
    talk.rest(0.01 if is_probe else 0.0)
    talk.theirs(ACK, later_talk.FULL, seq=end)
    assert talk.broken == ([] if is_probe else [rule])


@pytest.mark.parametrize(("more", "broken"), [(5, []), (6, ["flight-too-large"])])
def test_a_duplicate_ack_is_a_delivery_and_one_segment_less_under_way(
    more: int, broken: list[str]
) -> None:
    """To BBR: 10 segments, one for what was acknowledged, two for the duplicate ACK, and two for
    the ACK of the handshake, behind which text might have been under way as well."""
    talk = Conversation(ordered=True)
    later_talk.opened(talk)
    talk.theirs(ACK, later_talk.FULL, seq=4)
    for _ in range(2):
        talk.ours(ACK, ack=1464)
    for number in range(10 + more):
        talk.theirs(ACK, later_talk.FULL, seq=1464 + 1460 * number)
    assert talk.broken == broken


@pytest.mark.parametrize("ordered", [False, True])
def test_an_ack_sent_at_once_behind_text_may_acknowledge_the_answer(ordered: bool) -> None:
    """It crosses the answer, and lets more of it out (RFC 9293 section 3.10.7.4, fifth)."""
    talk = Conversation(ordered=ordered)
    opened(talk)
    talk.ours(ACK | PSH, b"x" * 10)
    talk.ours(ACK, seq=11, ack=14_601)
    for number in range(20):
        assert talk.theirs(ACK, b"x" * 1460, seq=1 + 1460 * number) == []


def test_an_ack_that_crosses_nothing_lets_nothing_out() -> None:
    talk = Conversation(ordered=True)
    opened(talk)
    talk.ours(ACK | PSH, b"x" * 10)
    talk.theirs(ack=11)
    talk.ours(ACK, seq=11, ack=14_601)
    for number in range(20):
        talk.theirs(ACK, b"x" * 1460, seq=1 + 1460 * number, ack=11)
    assert "initial-window" in talk.broken


@pytest.mark.parametrize(("more", "broken"), [(2, []), (3, ["initial-window"])])
def test_an_ack_behind_that_of_the_handshake_is_a_duplicate_of_it(
    more: int, broken: list[str]
) -> None:
    """Both were sent before the text that the first let out (RFC 5681 section 3.2)."""
    talk = Conversation(ordered=True)
    opened(talk)
    talk.ours(ACK)
    for number in range(10 + more):
        talk.theirs(ACK, b"x" * 1460, seq=1 + 1460 * number)
    assert talk.broken == broken


def test_a_probe_of_the_tail_and_a_timeout_may_come_at_once() -> None:
    """Where a busy host is late with both (RFC 8985 section 7.3, RFC 6298 5.4)."""
    talk = Conversation(ordered=True)
    opened(talk)
    talk.theirs(ACK, b"x" * 1000)
    talk.theirs(ACK | PSH, b"x" * 1000, seq=1001)
    talk.now += 0.5
    assert talk.theirs(ACK | PSH, b"x" * 1000, seq=1001) == []
    assert talk.theirs(ACK, b"x" * 1000) == []
    assert talk.theirs(ACK | PSH, b"x" * 1000, seq=1001) == ["timer-bursts"]
