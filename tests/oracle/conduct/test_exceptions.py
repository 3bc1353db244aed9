"""What the rules of conduct do not judge, or judge otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, PSH, RST, SYN
from tests.oracle.conduct import test_rules as rules
from tests.oracle.conduct.conversation import PERMITTED, Conversation, sack
from tests.oracle.conduct.test_rules import MSS, opened, timed


def test_the_last_segment_may_be_a_probe_for_a_loss_at_the_tail() -> None:
    talk = rules.conversation("timer-skips-text")
    rules._timed_out(talk, 7)
    assert talk.broken == []


def test_ports_that_are_used_again_have_no_numbers_to_judge() -> None:
    talk = Conversation(ordered=True)
    timed(talk)
    talk.ours(RST, seq=1)
    talk.ours(SYN)
    talk.theirs(SYN | ACK)
    talk.theirs(ACK, b"abc")
    assert talk.broken == []


def test_of_two_options_of_a_kind_a_receiver_takes_either() -> None:
    talk = Conversation()
    short = opt.RawOption(opt.MSS, 3, b"\x05")
    talk.handshake((MSS, short), (MSS,))
    talk.theirs(ACK, b"x" * 1200)
    assert talk.broken == []


@pytest.mark.parametrize(
    "refused",
    [{"flags": SYN}, {"flags": 0}, {"ack": 9}],
    ids=["SYN", "no ACK", "acknowledges too much"],
)
def test_what_may_be_refused_need_not_be_in_the_first_block(refused: dict[str, Any]) -> None:
    talk = Conversation(ordered=True)
    opened(talk, PERMITTED)
    talk.ours(ACK, b"x" * 10, seq=11)
    talk.theirs(options=(sack((11, 21)),))
    talk.ours(**{"flags": ACK, "data": b"x" * 10, "seq": 31, **refused})
    talk.theirs(options=(sack((11, 21)),))
    assert talk.broken == []


def test_segments_that_an_interface_joins_are_not_measured() -> None:
    talk = Conversation(whole=False)
    opened(talk)
    talk.theirs(ACK, b"x" * 2_920)
    assert talk.broken == []


def test_a_4_tuple_that_was_used_before_has_no_numbers_to_judge() -> None:
    talk = Conversation()
    talk.conduct.history.mixed = True
    opened(talk)
    talk.theirs(ack=9_000)
    assert talk.broken == []


def test_an_icmp_error_may_let_text_out() -> None:
    talk = Conversation()
    opened(talk)
    talk.icmp()
    for number in range(11):
        talk.theirs(ACK, b"x" * 1_460, seq=1 + 1_460 * number)
    assert talk.broken == []


def test_a_syn_without_mss_counts_as_one_with_the_default() -> None:
    """The second SYN may be the one that the server took: 1220 bytes over IPv6."""
    talk = Conversation(version=6)
    talk.ours(SYN, options=(opt.mss(256),))
    talk.ours(SYN, options=())
    talk.theirs(SYN | ACK)
    assert not talk.theirs(ACK | PSH, bytes(1220))
    assert talk.theirs(ACK | PSH, bytes(1221), seq=1221) == ["over-the-mss"]


def test_a_probe_for_a_loss_at_the_tail_may_carry_new_text() -> None:
    """RFC 8985 section 7.3: one segment over the initial window, after a pause."""
    talk = Conversation()
    opened(talk)
    for number in range(10):
        talk.theirs(ACK, b"x" * 1460, seq=1 + 1460 * number)
    talk.now += 0.01
    assert talk.theirs(ACK, b"x" * 1460, seq=14_601) == []
    assert talk.theirs(ACK, b"x" * 1460, seq=16_061) == ["initial-window"]


def test_two_duplicates_have_two_reports() -> None:
    talk = Conversation(ordered=True)
    opened(talk, PERMITTED)
    for _ in range(3):
        talk.ours(ACK, b"x" * 10)
    talk.theirs(ack=11)
    for _ in range(2):
        assert talk.theirs(ack=11, options=(sack((1, 11)),)) == []


def test_a_probe_for_a_larger_mtu_may_be_lost_at_its_own_host() -> None:
    """It is sent beyond what a packet-too-big told, and dropped before anybody sees it."""
    talk = Conversation(ordered=True)
    opened(talk)
    talk.theirs(ACK, b"x" * 512)
    assert "text-leaves-a-gap" not in talk.theirs(ACK, b"x" * 512, seq=513 + 1242)
    assert "text-leaves-a-gap" in talk.theirs(ACK, b"x" * 512, seq=513 + 1242 + 512 + 100)


def test_text_under_another_flow_label_may_overtake() -> None:
    """Queues on the way are chosen by the label of an IPv6 packet."""
    talk = Conversation(ordered=True, version=6)
    opened(talk)
    talk.theirs(ACK, b"x" * 10, flow_label=1)
    talk.ours(ACK, ack=11)
    assert "text-leaves-a-gap" not in talk.theirs(ACK, b"x" * 10, seq=21, flow_label=2)


def test_a_syn_cookie_may_be_good_again_after_a_rst() -> None:
    """Both numbers have gone on by as much: what made the ISS of the ISN fits once more."""
    for old, judged in ((0, False), (100, True)):
        talk = Conversation(ordered=True)
        opened(talk)
        talk.ours(ACK, b"x" * 200)
        talk.theirs(ACK, b"y" * 200, ack=201)
        talk.ours(ACK, seq=201, ack=201)
        talk.ours(RST, seq=201)
        talk.rest(5)
        talk.ours(ACK, b"more", seq=201, ack=201 - old)
        assert ("lives-on-after-rst" in talk.theirs(seq=201, ack=205)) is judged


def test_ipv6_has_a_least_segment_size() -> None:
    """A SYN cookie has no room for a smaller one than every path takes."""
    for family, judged in ((4, True), (6, False)):
        talk = Conversation(version=family)
        talk.handshake((opt.mss(700),), (MSS,))
        assert ("over-the-mss" in talk.theirs(ACK, b"x" * 1220)) is judged


def test_a_closed_window_is_probed_with_as_much_and_as_often_as_an_end_likes() -> None:
    talk = Conversation()
    talk.handshake()
    talk.ours(ACK, b"x" * 10, window=0)
    talk.theirs(ack=11)
    for _ in range(5):
        talk.rest(1.0)
        talk.theirs(ACK, b"y" * 1460, ack=11)
    assert talk.broken == []


def test_text_that_comes_at_once_probes_nothing() -> None:
    talk = Conversation()
    talk.ours(SYN, window=10)
    talk.theirs(SYN | ACK)
    talk.ours(ACK, b"x" * 10, window=0)
    assert "over-the-window" in talk.theirs(ACK, b"y" * 1460, ack=11)
