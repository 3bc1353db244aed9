"""The door of the oracle: what a driver tells it, and what it says."""

from __future__ import annotations

import pytest

from scapy_tfo.oracle.obligations import debt_of
from scapy_tfo.oracle.oracle import Oracle
from scapy_tfo.oracle.parts.events import Icmp, Lies, Sent
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.packet import Reply
from scapy_tfo.program.options import offer_of
from scapy_tfo.program.program import Flow
from scapy_tfo.segment import ACK, FIN, RST, SYN
from tests.oracle.conversations import ISN, ISS, full_jar

NOTHING = offer_of(b"")


def asked() -> tuple[Oracle, Connection]:
    """A SYN without options was sent."""
    oracle = Oracle(Profile(fresh=True), full_jar())
    connection = oracle.open(Flow(), isn=ISN)
    oracle.sent(connection, Sent(0, SYN, None, 0, 65535, NOTHING, (), 0.0))
    return oracle, connection


def syn_ack(taken: int = 0) -> Reply:
    return Reply(ISS, ISN + 1 + taken, SYN | ACK, 65535, b"", b"", sound=True)


def test_a_segment_is_told_with_what_it_breaks() -> None:
    oracle, connection = asked()
    assert oracle.came(connection, syn_ack(), 0.1) == ()
    (found,) = oracle.came(connection, syn_ack(taken=1), 0.2, 7)
    assert (found.rule, found.packet) == ("another-syn-ack", 7)
    assert connection.evidence.heard == ["syn-ack", "syn-ack"]
    assert oracle.watched["another-syn-ack"].broken == 1


def test_what_is_owed_and_does_not_come_is_a_violation() -> None:
    oracle, connection = asked()
    debt = oracle.owed(connection)
    assert debt is not None
    assert oracle.is_owing(connection)
    oracle.unpaid(connection, debt)
    assert [(each.rule, each.actual) for each in connection.evidence.violations] == [
        ("no-syn-ack", "nothing")
    ]
    assert oracle.watched["no-syn-ack"] == (2, 2, 1)


def test_what_does_not_come_again_in_time_is_a_violation() -> None:
    oracle, connection = asked()
    oracle.came(connection, syn_ack(), 0.1)
    oracle.waited(2.0, 2.1)
    assert connection.evidence.violations == []
    oracle.waited(2.0, 4.1)
    assert [each.rule for each in connection.evidence.violations] == ["no-repeat"]


def test_connections_know_of_each_other() -> None:
    oracle, first = asked()
    second = oracle.open(Flow(client=1), isn=ISN)
    assert (first.index, second.index) == (0, 1)
    oracle.begin_step(3)
    oracle.sent(second, Sent(0, SYN, None, 0, 65535, NOTHING, (), 0.0, lies=Lies(checksum=True)))
    oracle.came(first, syn_ack(), 0.1)
    (found,) = oracle.came(first, syn_ack(taken=1), 0.2)
    assert (found.flow, found.step) == (0, 3)
    assert list(first.around) == [first, second]


@pytest.mark.parametrize(
    ("lies", "state", "feature"),
    [
        (Lies(checksum=True), "LISTEN", "bad-checksum"),
        (Lies(offset=True), "LISTEN", "bad-offset"),
        (Lies(offset=True, fits=True), "unsure", "bad-offset"),
        (Lies(reserved=True), "SYN-RCVD", "odd-flags"),
        (Lies(traffic_class=True), "SYN-RCVD", "traffic-class"),
        (Lies(fragmented=True), "LISTEN or SYN-RCVD", ""),
    ],
)
def test_lies(lies: Lies, state: str, feature: str) -> None:
    oracle = Oracle(Profile(fresh=True), full_jar())
    connection = oracle.open(Flow(), isn=ISN)
    oracle.sent(connection, Sent(0, SYN, None, 0, 65535, NOTHING, (), 0.0, lies=lies))
    assert connection.state == state
    assert connection.evidence.features == ({feature} if feature else set())
    assert connection.history.asks_for_ecn is lies.reserved


@pytest.mark.parametrize(("lies", "owed"), [(None, "no-rst"), (Lies(fragmented=True), None)])
def test_nothing_is_owed_for_fragments(lies: Lies | None, owed: str | None) -> None:
    """Over IPv6 a first one without the whole header of TCP is dropped."""
    oracle = Oracle(Profile(fresh=True), full_jar())
    connection = oracle.open(Flow(), isn=ISN)
    oracle.sent(connection, Sent(1, ACK, 1, 0, 65535, NOTHING, (), 0.0, lies=lies))
    debt = debt_of(connection)
    assert (debt and debt.rule) == owed


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (Icmp(1), "LISTEN or SYN-RCVD"),
        (Icmp(1, too_big=True), "SYN-RCVD"),
        # To check the number that it quotes is advice (RFC 5927 section 4.1).
        (Icmp(500), "LISTEN or SYN-RCVD"),
    ],
)
def test_an_icmp_error_may_end_a_handshake(error: Icmp, state: str) -> None:
    oracle, connection = asked()
    oracle.came(connection, syn_ack(), 0.1)
    oracle.icmp(connection, error)
    assert connection.state == state
    assert "icmp" in connection.evidence.features


def test_nothing_explains_a_violation_once_the_connections_are_frozen() -> None:
    oracle, connection = asked()
    oracle.freeze()
    oracle.icmp(connection, Icmp(1))
    assert connection.evidence.features == set()
    assert connection.owed.unsettled == 1
    oracle.settled()
    assert connection.owed.unsettled == 0


@pytest.mark.parametrize(("flags", "owed"), [(SYN | ACK, True), (SYN | ACK | FIN, False)])
def test_flags_that_make_no_sense_may_be_dropped(flags: int, owed: bool) -> None:
    oracle = Oracle(Profile(fresh=True), full_jar())
    connection = oracle.open(Flow(), isn=ISN)
    oracle.sent(connection, Sent(0, flags, 1, 0, 65535, NOTHING, (), 0.0))
    assert oracle.is_owing(connection) is owed


@pytest.mark.parametrize(
    ("seq", "size", "owed", "state"),
    [
        (-9, 2, True, "OPEN"),
        # Linux answers this one, and then nothing for half a second.
        (-1, 2, False, "OPEN"),
        (0, 9, False, "LISTEN or OPEN"),
        (1, 0, True, "LISTEN"),
    ],
)
def test_a_reset_at_the_edge_of_the_window(seq: int, size: int, owed: bool, state: str) -> None:
    oracle, connection = asked()
    oracle.came(connection, syn_ack(), 0.1)
    oracle.sent(connection, Sent(1, ACK, 1, 0, 65535, NOTHING, (), 0.1))
    oracle.settled()
    oracle.sent(connection, Sent(seq, RST, None, size, 65535, NOTHING, (), 0.2))
    oracle.settled()
    assert connection.state == state
    oracle.sent(connection, Sent(0, SYN, None, 0, 65535, NOTHING, (), 0.3))
    assert oracle.is_owing(connection) is owed
