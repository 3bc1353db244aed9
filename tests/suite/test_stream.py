"""The target's byte stream, in whatever order its segments come."""

from __future__ import annotations

from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.segment import ACK, FIN, SYN, Flags, Segment
from scapy_tfo.suite.stream import Stream

IRS = 0xFFFFFFF0
"""So that every stream wraps around zero."""


def segment(offset: int, payload: bytes = b"", flags: Flags = ACK) -> Segment:
    here = IPv4Address("192.0.2.1")
    number = (IRS + offset) % 2**32
    return Segment(src=here, dst=here, sport=1, dport=2, seq=number, flags=flags, payload=payload)


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[bytes, list[Segment]]:
    """A stream, and the segments of it in any order, some twice, some overlapping."""
    data = draw(st.binary(min_size=1, max_size=80))
    starts = sorted(draw(st.sets(st.integers(0, len(data) - 1), max_size=8)) | {0})
    pieces = []
    for at, start in enumerate(starts):
        stop = starts[at + 1] if at + 1 < len(starts) else len(data)
        longer = min(stop + draw(st.integers(0, 5)), len(data))
        pieces.append(segment(1 + start, data[start:longer]))
    pieces += [segment(0, flags=SYN | ACK), segment(1 + len(data), flags=ACK | FIN)]
    doubled = pieces + draw(st.lists(st.sampled_from(pieces), max_size=4))
    return data, draw(st.permutations(doubled))


@given(deliveries())
def test_any_order_gives_the_same_stream(delivery: tuple[bytes, list[Segment]]) -> None:
    data, segments = delivery
    stream = Stream()
    for each in segments:
        stream.take(each)
    assert bytes(stream.data) == data
    assert stream.ended
    assert not stream.conflict
    assert stream.rcv_nxt == (IRS + 2 + len(data)) % 2**32


def test_a_gap_holds_back_what_follows_and_the_end() -> None:
    stream = Stream()
    stream.take(segment(0, flags=SYN | ACK))
    stream.take(segment(4, b"def", ACK | FIN))
    assert (bytes(stream.data), stream.ended) == (b"", False)
    stream.take(segment(1, b"abc"))
    assert (bytes(stream.data), stream.ended) == (b"abcdef", True)


def test_data_in_the_syn_ack_comes_first() -> None:
    stream = Stream()
    stream.take(segment(0, b"early", SYN | ACK))
    stream.take(segment(6, b" late"))
    assert bytes(stream.data) == b"early late"


def test_what_overtakes_the_syn_counts_once_that_has_come() -> None:
    stream = Stream()
    stream.take(segment(1, b"abc"))
    assert (bytes(stream.data), stream.irs) == (b"", None)
    stream.take(segment(0, flags=SYN | ACK))
    assert bytes(stream.data) == b"abc"


def test_two_stories_for_one_byte_are_noticed() -> None:
    stream = Stream()
    stream.take(segment(0, flags=SYN | ACK))
    stream.take(segment(1, b"abc"))
    stream.take(segment(1, b"abX!"))
    assert stream.conflict
