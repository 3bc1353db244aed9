"""The codec as a target: any bytes at all, and damaged packets of the grammar's programs."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_tfo import option as opt
from scapy_tfo.fuzz import codec_laws
from scapy_tfo.fuzz.captures import fuzzed
from scapy_tfo.segment import Segment

_SOME = 400

TELLING = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 10, 18, 19, 34, 40, 253, 254, 255, 0xF9, 0x89])
LIES = st.builds(
    opt.fast_open,
    st.binary(max_size=20),
    form=st.sampled_from(opt.Form),
    length=st.none() | st.integers(0, 255),
)
OTHERS = st.sampled_from([opt.mss(1460), opt.sack_permitted(), opt.nop(), opt.timestamps(1, 2)])
BLOCKS = st.one_of(
    st.binary(max_size=80),
    st.lists(TELLING, max_size=60).map(bytes),
    st.lists(LIES | OTHERS, max_size=6).map(opt.push_options),
)


@cache
def packets() -> list[bytes]:
    return [each.data for each in fuzzed(_SOME)]


@given(BLOCKS)
@example(b"\x22")
@example(b"\xfe\x04\xf9\x89")
@example(b"\xfd\x03\xf9\x89")
def test_any_options_field_obeys_the_laws(block: bytes) -> None:
    codec_laws.check_options(block)


@given(st.binary(max_size=120))
@example(b"")
@example(b"\x45")
@example(b"\x60" + bytes(39))
def test_any_bytes_obey_the_laws(packet: bytes) -> None:
    codec_laws.check_packet(packet)


@given(
    st.integers(0, _SOME - 1),
    st.lists(st.tuples(st.integers(0, 90), TELLING | st.integers(0, 255)), max_size=4),
    st.integers(0, 200) | st.none(),
    st.binary(max_size=8),
)
def test_packets_with_bytes_changed_cut_or_added_obey_the_laws(
    number: int, changes: list[tuple[int, int]], stop: int | None, trailer: bytes
) -> None:
    packet = bytearray(packets()[number])
    for at, byte in changes:
        packet[at % len(packet)] = byte
    codec_laws.check_packet(bytes(packet[:stop]) + trailer)


def test_the_packets_of_campaigns_obey_the_laws() -> None:
    were_read = [codec_laws.check_packet(each) for each in packets()]
    assert sum(were_read) > _SOME // 2


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("push_options", lambda _: b""),
        ("find_fast_open", lambda _: ()),
        ("judge", lambda _: opt.Broken(opt.Form.IANA, "", "")),
        ("padded", lambda block, _: block + b"\0"),
    ],
)
def test_an_options_codec_that_is_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: object
) -> None:
    monkeypatch.setattr(codec_laws.opt, name, wrong)
    with pytest.raises(codec_laws.LawBrokenError):
        codec_laws.check_options(b"\x22\x0a" + bytes(8))


def test_a_segment_codec_that_loses_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    packet = next(each for each in packets() if codec_laws.check_packet(each))
    honest = Segment.to_bytes
    monkeypatch.setattr(Segment, "to_bytes", lambda self: honest(self)[:-1] + b"\xff")
    with pytest.raises(codec_laws.LawBrokenError):
        codec_laws.check_packet(packet)
