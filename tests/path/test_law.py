"""The law of conservation: which packets arrived, and what is more than chance."""

from __future__ import annotations

import math
from ipaddress import IPv4Address

import pytest

from scapy_tfo.path.law import Deviation, deviations, log_tail
from scapy_tfo.path.observation import Observations, Probe, Sighting, Trial
from scapy_tfo.path.transit import Effect, Fate, class_of, fates
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Segment
from tests.path.segments import segment

AHEAD = 1000.0
"""Seconds by which the far clock is ahead."""

Timed = tuple[float, Segment]


def data(number: int, text: bytes = b"some text") -> Segment:
    return segment(flags=ACK | PSH, seq=101 + number, ack=1, payload=text)


def told(sent: list[Timed], came: list[Timed]) -> list[tuple[str, str]]:
    """What befell which class of packets of one connection that leave the near end."""
    near = [Sighting(when, True, each.to_bytes()) for when, each in sent]
    far = [Sighting(AHEAD + when, False, each.to_bytes()) for when, each in came]
    trial = Trial(
        probe=Probe.PLAIN,
        source=(IPv4Address("192.0.2.1"), 4000),
        port=80,
        text=(b"", b""),
        near=near,
        closed=100.0,
    )
    server = IPv4Address("192.0.2.2")
    seen = Observations(server=server, trials=[trial], far=far, closed=100.0)
    return [(each.what, effect.value) for each in fates(seen) for effect in each.effects]


SENT = [(0.0, segment()), (0.1, data(0)), (0.2, data(9)), (0.3, data(18))]


def test_what_arrives_as_it_was_is_conserved() -> None:
    assert told(SENT, [(when + 0.05, each) for when, each in SENT]) == []


def test_a_packet_that_does_not_arrive_is_lost() -> None:
    assert told(SENT, [SENT[0], SENT[1], SENT[3]]) == [("data", "lost")]


def test_a_packet_that_arrives_twice_is_doubled() -> None:
    assert told(SENT, [*SENT, (0.4, data(18))]) == [("data", "doubled")]


def test_a_packet_that_arrives_otherwise_is_changed() -> None:
    assert told(SENT, [*SENT[:3], (0.3, data(18, b"SOME TEXT"))]) == [("data", "changed")]


def test_a_packet_that_nobody_sent_is_invented() -> None:
    rst = segment(flags=RST | ACK, seq=7)
    assert told(SENT, [*SENT, (0.4, rst)]) == [("RST", "invented")]


def test_a_packet_that_is_overtaken_is_delayed() -> None:
    came = [SENT[0], SENT[2], SENT[3], (1.1, data(0))]
    assert told(SENT, came) == [("data", "delayed")]


def test_packets_that_keep_their_order_stood_in_a_queue() -> None:
    assert told(SENT, [SENT[0], *((when + 1.0, each) for when, each in SENT[1:])]) == []


def test_of_packets_that_are_alike_the_last_one_arrived() -> None:
    sent = [*SENT, (1.3, data(18))]
    assert told(sent, [*SENT[:3], (1.3, data(18))]) == [("data", "lost")]


@pytest.mark.parametrize(
    ("flags", "payload", "what"),
    [
        (SYN, b"", "SYN"),
        (SYN, b"x", "SYN with data"),
        (SYN | ACK, b"", "SYN-ACK"),
        (ACK, b"", "ACK"),
        (ACK, b"x", "data"),
        (FIN | ACK, b"", "FIN"),
        (FIN | ACK, b"x", "data"),
        (RST, b"", "RST"),
    ],
)
def test_packets_have_their_class_by_flags_and_data(flags: int, payload: bytes, what: str) -> None:
    assert class_of(segment(flags=flags, payload=payload)) == what


def some(what: str, effects: set[Effect], number: int, probe: Probe = Probe.PLAIN) -> list[Fate]:
    made = segment()
    told = frozenset(effects)
    return [Fate(at, probe, True, what, 0.0, made, effects=told) for at in range(number)]


def named(found: list[Deviation]) -> list[tuple[str, str, int, int]]:
    return [(each.effect.value, each.what, len(each.hits), each.of) for each in found]


def test_a_class_that_is_always_lost_is_told() -> None:
    fates = [*some("data", {Effect.LOST}, 9), *some("ACK", set(), 200)]
    assert named(deviations(fates)) == [("lost", "data", 9, 9)]


def test_what_befalls_all_classes_alike_is_chance() -> None:
    fates = [
        each
        for what in ("data", "ACK", "FIN")
        for each in (*some(what, {Effect.LOST}, 10), *some(what, set(), 90))
    ]
    assert deviations(fates) == []


def test_a_few_packets_may_be_lost_by_chance() -> None:
    fates = [*some("data", {Effect.LOST}, 2), *some("ACK", set(), 200)]
    assert deviations(fates) == []


def test_a_class_that_is_lost_in_one_kind_of_connection_is_told() -> None:
    fates = [
        *some("data", {Effect.LOST}, 9, Probe.FAST_OPEN),
        *some("data", set(), 300),
        *some("ACK", set(), 300),
    ]
    (found,) = deviations(fates)
    assert found.probes == {Probe.FAST_OPEN}


def test_one_packet_that_is_changed_is_no_chance() -> None:
    fates = [*some("data", {Effect.CHANGED}, 1), *some("data", set(), 500)]
    assert named(deviations(fates)) == [("changed", "data", 1, 501)]


def test_the_bound_is_no_less_than_the_probability() -> None:
    for hits in (1, 3, 7, 20):
        exact = sum(math.comb(20, n) * 0.1**n * 0.9 ** (20 - n) for n in range(hits, 21))
        assert log_tail(hits, 20, 0.1) >= math.log(exact) - 1e-9
