"""What the rules of conduct do not judge, or judge otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN
from tests.oracle.conduct import later_talk, odd_rules, sending_talk
from tests.oracle.conduct import test_rules as rules
from tests.oracle.conduct.conversation import PERMITTED, Conversation, sack, scale
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


def test_each_copy_of_a_fin_may_be_reported() -> None:
    talk = Conversation(ordered=True)
    opened(talk, PERMITTED)
    for _ in range(3):
        talk.ours(ACK | FIN, ack=4)
    talk.theirs(seq=4, ack=2)
    for _ in range(2):
        talk.theirs(seq=4, ack=2, options=(sack((1, 2)),))
    assert talk.broken == []


def test_a_fin_in_the_place_of_text_without_ack_is_taken() -> None:
    talk = rules.conversation("text-without-ack-taken")
    odd_rules.opened(talk)
    talk.ours(PSH, b"x" * 10, ack=None)
    talk.ours(ACK | FIN, ack=4)
    talk.theirs(seq=4, ack=2)
    assert talk.broken == []


def test_a_fin_below_text_that_came_ends_nothing() -> None:
    talk = rules.conversation("text-behind-their-fin")
    odd_rules.opened(talk)
    talk.ours(ACK, b"x" * 20, ack=4)
    talk.ours(ACK | FIN, seq=11, ack=4)
    talk.theirs(seq=4, ack=21)
    talk.ours(ACK | FIN, seq=21, ack=4)
    talk.theirs(seq=4, ack=22)
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
    assert "over-the-unscaled-window" in talk.theirs(ACK, b"y" * 1460, ack=11)


TIMES = opt.timestamps(100, 0)


@pytest.mark.parametrize("second_arrives", [True, False])
@pytest.mark.parametrize("first", [(MSS, TIMES), (MSS,)], ids=["with", "without"])
def test_of_two_syns_either_may_decide_on_timestamps(
    first: tuple[opt.RawOption, ...], second_arrives: bool
) -> None:
    talk = Conversation(ordered=True)
    second = (MSS, TIMES) if first == (MSS,) else (MSS,)
    for offered in (first, second):
        talk.ours(SYN, options=offered)
        if offered == first or second_arrives:
            answer = opt.timestamps(500, 100)
            talk.theirs(SYN | ACK, options=(MSS, answer) if TIMES in offered else (MSS,))
    talk.ours(options=(opt.timestamps(101, 500),))
    talk.theirs(ACK | PSH, b"abc", options=() if TIMES in first else (opt.timestamps(501, 101),))
    assert talk.broken == []


def test_of_two_syns_either_may_decide_on_the_scale_of_windows() -> None:
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS, scale(7)))
    talk.theirs(SYN | ACK, options=(MSS, scale(7)))
    talk.ours(SYN, options=(MSS,))
    talk.ours()
    talk.theirs(window=60_000)
    talk.ours(ACK | PSH, b"x" * 1_000)
    talk.theirs(ack=1_001, window=59_000)
    assert talk.broken == []


@pytest.mark.parametrize(("tsval", "owed"), [(99, False), (100, True)])
def test_no_ack_is_owed_for_text_that_is_older_than_the_syn(tsval: int, owed: bool) -> None:
    """RFC 7323 section 5.3, R1: it is not acceptable."""
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS, TIMES))
    talk.theirs(SYN | ACK, options=(MSS, opt.timestamps(500, 100)))
    talk.ours(options=(opt.timestamps(tsval, 500),))
    talk.theirs(ACK | PSH, b"hello", options=(opt.timestamps(501, 100),))
    talk.ours(ACK | PSH, b"abc", options=(opt.timestamps(tsval, 501),))
    talk.rest(2.0)
    talk.end()
    assert bool(talk.broken) == owed


@pytest.mark.parametrize(("window", "broken"), [(0, []), (96, ["over-the-unscaled-window"])])
def test_an_old_segment_opens_no_window(window: int, broken: list[str]) -> None:
    """What was delayed has the window of its time: a probe of the closed one is still a probe."""
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS,), window=96)
    talk.theirs(SYN | ACK, options=(MSS,))
    talk.ours(ACK | PSH, b"a" * 30, window=96)
    talk.theirs(ACK, b"b" * 96, ack=31)
    talk.ours(ACK, seq=31, ack=97, window=window)
    talk.rest(0.2)
    talk.ours(ACK | PSH, b"a" * 30, seq=1, window=96)
    talk.theirs(ACK, seq=97, ack=31)
    talk.rest(0.5)
    talk.theirs(ACK | PSH, b"b" * 110, seq=97, ack=31)
    assert talk.broken == broken


@pytest.mark.parametrize(("data", "broken"), [(b"?", []), (b"??", ["text-changes"]), (b"c", [])])
def test_a_probe_may_carry_a_byte_of_no_meaning(data: bytes, broken: list[str]) -> None:
    """gVisor probes a closed window like an idle connection, one number back."""
    talk = Conversation(ordered=True)
    opened(talk)
    talk.theirs(ACK | PSH, b"abc")
    talk.ours(ACK, ack=4, window=0)
    talk.rest(0.3)
    talk.theirs(ACK, data, seq=4 - len(data))
    assert talk.broken == broken


@pytest.mark.parametrize(("window", "broken"), [(0, []), (100, ["text-behind-their-fin"])])
def test_a_fin_beyond_the_window_may_be_refused(window: int, broken: list[str]) -> None:
    """Other text then has its numbers."""
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,), window=window)
    talk.ours(ACK | FIN)
    talk.theirs(ACK, window=1000)
    talk.ours(ACK | PSH, b"a" * 50)
    talk.theirs(ACK, ack=51, window=1000)
    talk.ours(ACK | PSH, b"a" * 50, seq=51)
    talk.theirs(ACK, ack=101, window=1000)
    assert talk.broken[-1:] == broken


def test_text_that_was_acknowledged_in_part_has_a_timer_of_its_own() -> None:
    talk = Conversation(ordered=True)
    odd_rules.opened(talk)
    talk.theirs(ACK, b"x" * 100, seq=4)
    talk.ours(ack=84)
    talk.rest(1.0)
    talk.theirs(ACK, b"x" * 20, seq=84)
    talk.rest(3.5)
    talk.end()
    assert talk.broken == []


@pytest.mark.parametrize(("days", "broken"), [(25, []), (0.001, ["clock-goes-back"])])
def test_a_clock_has_gone_around_after_a_month(days: float, broken: list[str]) -> None:
    talk = Conversation(ordered=True)
    times, half = (opt.timestamps(100, 0),), 1 << 31
    talk.handshake((MSS, *times), (MSS, opt.timestamps(500, 100)))
    talk.rest(days * 86_400)
    talk.ours(ACK | PSH, b"x", options=(opt.timestamps(101, 500),))
    talk.theirs(ack=2, options=(opt.timestamps(500 + half + 9, 101),))
    assert talk.broken == broken


@pytest.mark.parametrize(("ticks", "broken"), [(0, ["clock-stands"]), (1, [])])
def test_the_clock_ticks_between_two_syn_acks(ticks: int, broken: list[str]) -> None:
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS, opt.timestamps(100, 0)))
    talk.theirs(SYN | ACK, options=(MSS, opt.timestamps(500, 100)))
    talk.rest(2.5)
    talk.theirs(SYN | ACK, options=(MSS, opt.timestamps(500 + ticks, 100)))
    assert talk.broken == broken


def test_the_gaps_between_probes_need_not_grow_for_ever() -> None:
    """Linux stops at its limit of retransmissions, tcp_retries2."""
    talk = Conversation(ordered=True)
    later_talk.closed_window(talk, 0.25, 0.5, 1.0, 2.0, 2.0, 2.0)
    assert talk.broken == []


@pytest.mark.parametrize(("handshakes", "broken"), [(1, ["probe-missing"]), (2, [])])
def test_a_probe_waits_for_the_timeout_that_a_lost_syn_ack_left(
    handshakes: int, broken: list[str]
) -> None:
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS,))
    for _ in range(handshakes):
        talk.theirs(SYN | ACK, options=(MSS,))
        talk.rest(0.02 if handshakes == 1 else 1.0)
    talk.ours(window=3)
    talk.theirs(ACK | PSH, b"abc")
    talk.conduct.writes(True)
    talk.ours(ack=4, window=0)
    talk.rest(8.0)
    talk.end()
    assert talk.broken == broken


def test_a_segment_outside_of_the_window_tells_of_no_window() -> None:
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS,), window=96)
    talk.theirs(SYN | ACK, options=(MSS,), window=100)
    talk.ours(window=96)
    talk.theirs(ACK, b"x" * 96, window=100)
    talk.ours(ACK, b"x" * 50, seq=51, window=96)
    # At the right edge there is no room; what fills the gap is older than the last window.
    talk.ours(ACK, seq=101, ack=97, window=0)
    talk.theirs(seq=97, window=100)
    talk.ours(ACK, b"x" * 50, seq=1, ack=97, window=0)
    talk.theirs(ACK, b"x" * 96, seq=97, ack=101, window=100)
    assert "over-the-unscaled-window" not in talk.broken


@pytest.mark.parametrize(
    ("pauses", "broken"), [((0.02,) * 4, ["resends-too-soon"]), ((0.06,) * 4, [])]
)
def test_a_window_that_grows_is_no_sign_of_loss_but_the_timer_runs_on(
    pauses: tuple[float, ...], broken: list[str]
) -> None:
    talk = Conversation(ordered=True)
    sending_talk.widened(talk, *pauses)
    assert [each for each in talk.broken if each == "resends-too-soon"] == broken


@pytest.mark.parametrize(("reset", "broken"), [(False, ["another-iss"]), (True, [])])
def test_behind_a_rst_of_its_own_another_connection_has_another_iss(
    reset: bool, broken: list[str]
) -> None:
    talk = Conversation(ordered=True)
    talk.ours(SYN, options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,))
    if reset:
        talk.theirs(RST)
    talk.ours(SYN, options=(MSS,))
    talk.theirs(SYN | ACK, options=(MSS,), iss=7_001)
    assert [each for each in talk.broken if each == "another-iss"] == broken
