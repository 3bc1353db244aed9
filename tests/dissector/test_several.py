"""Several transforms of a capture, one after the other.

Plain Lua is fast enough for thousands: `PLAIN_LAWS=100000 pytest tests/dissector/test_several.py`.
"""

from __future__ import annotations

import os
from functools import cache
from random import Random
from typing import Any

import pytest
from crafted import COOKIE, DATA, Talk
from encapsulations import IPV4, MACS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws import REMAINS, charges, is_less
from transforms import LESS, Packet, Transform, by_port, copied, in_microseconds

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.dissector import files
from scapy_tfo.segment import Segment

pytest.importorskip("lupa", reason="lupa is not installed: scripts/setup.sh test")

from plain import PlainLua

EXAMPLES = int(os.environ.get("PLAIN_LAWS", "1000"))
MOST = 3
"""Transforms of one capture."""


def until(packets: list[Packet], dice: Random) -> list[Packet]:
    """The capture ends early."""
    return packets[: dice.randint(1, len(packets))]


TRANSFORMS: tuple[Transform, ...] = (*LESS, copied, in_microseconds, until)


@cache
def lua() -> PlainLua:
    return PlainLua("lua54")


@cache
def talks() -> dict[int, list[Packet]]:
    """Connections between kernels by the client's port."""
    segments = [Segment.from_bytes(frame.data) for frame in read_frames(files.sample())]
    return by_port(files.sample(), sorted({each.sport for each in segments if each.is_syn}))


def in_order(packets: list[Packet]) -> list[Packet]:
    return sorted(packets, key=lambda each: each.when)


def told(packets: list[Packet]) -> list[dict[str, Any]]:
    return lua().connections(
        (each.when / 1e9, each.frame[14 : max(each.snap, 14)]) for each in in_order(packets)
    )


def holds(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """No other outcome, number or charge; but one of the two times that a server took the data, or
    of the two answers of one that acknowledged too much, may be all that is left."""
    outcomes = {each["outcome"] for each in before}
    remains = set().union(*(REMAINS.get(each, set()) for each in outcomes))
    if not remains:
        return is_less(before, after)
    known = set().union(*map(charges, before))
    return all(
        each["outcome"] in outcomes | remains | {"unknown"} and charges(each) <= known
        for each in after
    )


@given(
    port=st.deferred(lambda: st.sampled_from(sorted(talks()))),
    several=st.lists(st.sampled_from(TRANSFORMS), min_size=1, max_size=MOST),
    seed=st.integers(0, 1 << 32),
)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
def test_no_other_outcome_number_or_charge(port: int, several: list[Transform], seed: int) -> None:
    packets, dice = talks()[port], Random(seed)
    for transform in several:
        packets = in_order(transform(packets, dice)) if packets else []
    assert holds(told(talks()[port]), told(packets))


def test_a_syn_ack_before_its_syn_whose_options_are_cut_off_refuses_nothing() -> None:
    """As where two captures with different clocks were merged, with a short snap length."""
    granted = next(
        each for each in talks().values() if told(each)[0]["outcome"].endswith("granted")
    )
    syn, syn_ack, *rest = granted
    early = Packet(syn.when - 1, syn_ack.outbound, syn_ack.frame, snap=14 + 20 + 20 + 24)
    (found,) = told([early, syn, *rest])
    assert found["outcome"] == "unknown"
    assert found["why"] == "the capture cuts the SYN-ACK's options off"


def test_where_the_capture_ends_is_not_known_what_is_sent_again() -> None:
    parts = next(
        each for each in talks().values() if told(each)[0]["outcome"] == "accepted-partially"
    )
    assert told(parts)[0]["resent"] > 0
    assert told(parts[:2])[0]["outcome"] == "accepted-partially"
    assert "resent" not in told(parts[:2])[0]


def test_a_syn_ack_that_may_answer_another_syn_ends_no_round_trip() -> None:
    """Its timestamps tell that it does, and are cut off."""
    talk = Talk(stamped=True)
    talk.syn(COOKIE, DATA)
    talk.echo = 7
    talk.syn_ack()
    talk.data(DATA)
    for snap, why in ((1 << 16, "a SYN is missing"), (14 + 20 + 20, "the capture cuts")):
        (found,) = told(
            [
                Packet(round(each.when * 1e9), each.outbound, MACS + IPV4 + each.data, snap)
                for each in talk.packets
            ]
        )
        assert found["outcome"] == "unknown"
        assert found["why"].startswith(why)
        assert "rtt" not in found
