"""Comparison of a script's packet with the one that came: every difference, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.packets.bindings import MeaningError, Meanings
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.matching import Comparison, Heard, compare, in_script_terms
from scapy_tfo.pkt.packets.sending import segment_to_send
from scapy_tfo.segment import PSH, Segment
from tests.pkt.lines import flow_of, inbound, outbound, seen_from_the_other_side

NOTHING = Meanings({})
longs = st.integers(0, 2**32 - 1)

DATA = "P. 1:11(10) ack 21 win 500 <mss 1460,nop,wscale 7,FO 0a0b0c0d,TS val 7 ecr 9>"


def heard(text: str, flow: Flow) -> Segment:
    """What the kernel sends where it means this; `flow` is the script's view of it."""
    return Segment.from_bytes(
        segment_to_send(inbound(text), seen_from_the_other_side(flow), NOTHING)
    )


def found(text: str, segment: Segment, flow: Flow, meanings: Meanings = NOTHING) -> list[str]:
    return [each.what for each in compared(text, segment, flow, meanings).differences]


def compared(
    text: str, segment: Segment, flow: Flow, meanings: Meanings = NOTHING, label: int = 0
) -> Comparison:
    return compare(outbound(text), Heard(segment, label), flow, meanings)


def change(**values: object) -> Callable[[Segment], Segment]:
    return lambda segment: replace(segment, **values)


def turn(field: str, by: int) -> Callable[[Segment], Segment]:
    def turned(segment: Segment) -> Segment:
        value = (getattr(segment, field) + by) % 2**32
        return replace(segment, **{field: value})

    return turned


def in_options(old: str, new: str) -> Callable[[Segment], Segment]:
    def changed(segment: Segment) -> Segment:
        before, after = bytes.fromhex(old), bytes.fromhex(new)
        assert before in segment.options
        return replace(segment, options=segment.options.replace(before, after))

    return changed


MARKS = "[ect0, ttl 255] "

ONE_CHANGED: dict[str, list[Callable[[Segment], Segment]]] = {
    "flags": [
        lambda segment: replace(segment, flags=segment.flags ^ PSH),
        change(reserved=1),
    ],
    "reserved bits": [change(reserved=2)],
    "seq": [turn("seq", 1), turn("seq", 2**31), turn("seq", -1)],
    "ack": [turn("ack", 1), turn("ack", -1)],
    "bytes of data": [change(payload=b""), change(payload=bytes(9)), change(payload=bytes(11))],
    "data": [change(payload=b"0123456789")],
    "win": [change(window=501)],
    "urg": [change(urgent=1)],
    "checksum": [change(checksum=1)],
    "ECN": [change(traffic_class=3), change(traffic_class=1), change(traffic_class=0)],
    "ttl": [change(hop_limit=64)],
    "mss": [in_options("020405b4", "020405b5")],
    "wscale": [in_options("030307", "030308")],
    "cookie": [in_options("0a0b0c0d", "0a0b0c0e")],
    "TS ecr": [in_options("00000007 00000009", "00000007 0000000a")],
    "option": [
        in_options("2206 0a0b0c0d", "fd06 0a0b0c0d"),
        in_options("2206 0a0b0c0d", "fe06 f9890c0d"),
        in_options("01030307", "30030701"),
    ],
    "options": [in_options("030307", "010101"), change(options=b"")],
}


@pytest.mark.parametrize(
    ("what", "changed"),
    [(what, each) for what, changes in ONE_CHANGED.items() for each in changes],
)
@settings(max_examples=15)
@given(remote_isn=longs, local_isn=longs)
def test_one_changed_field_is_one_difference(
    what: str, changed: Callable[[Segment], Segment], remote_isn: int, local_isn: int
) -> None:
    flow = flow_of(remote_isn, local_isn)
    segment = heard(MARKS + DATA, flow)
    assert found(MARKS + DATA, segment, flow) == []
    differing = found(MARKS + DATA, changed(segment), flow)
    assert set(differing) == {what}


def test_all_that_differs_is_told() -> None:
    flow = flow_of(100, 7000)
    segment = heard("F. 4:4(0) ack 8 win 9 <mss 1460>", flow)
    assert found("P. 1:11(10) ack 21 win 500 <mss 1400>", segment, flow) == [
        "flags",
        "seq",
        "bytes of data",
        "ack",
        "win",
        "mss",
    ]


@pytest.mark.parametrize(
    ("wanted", "came", "told"),
    [
        (". 1:1(0) ack 1", "P. 1:1(0) ack 1", "flags: expected ., got P."),
        ("- 1:1(0)", ". 1:1(0)", "flags: expected none, got ."),
        (". 1:1(0) ack 1", ". 2:2(0) ack 1", "seq: expected 1, got 2"),
        (". 1:1(0)", ". 1:1(0) ack 1", "ack: expected 0, got 1"),
        (". 1:1(0)", ". 1:1(0) <mss 5>", "options: expected <>, got <mss 5>"),
        (
            "S 0:0(0) <mss 5,FO>",
            "S 0:0(0) <FO,mss 5>",
            "option: expected mss 5, got FO",
        ),
        ("S 0:0(0) <FO>", "S 0:0(0) <FOEXP>", "option: expected FO, got FOEXP"),
        ("S 0:0(0) <FO *>", "S 0:0(0) <FO>", "cookie: expected FO *, got FO"),
        ("S 0:0(0) <FO>", "S 0:0(0) <FO 01020304>", "cookie: expected FO, got FO 01020304"),
    ],
)
def test_each_side_is_shown_in_words_of_scripts(wanted: str, came: str, told: str) -> None:
    flow = flow_of(0, 0)
    differences = compared(wanted, heard(came, flow), flow).differences
    assert told in [str(each) for each in differences]


def test_order_and_padding_of_options_may_be_nobodys_choice() -> None:
    flow = flow_of(0, 0)
    segment = heard("S 0:0(0) <mss 5,nop,nop,sackOK,FO 01020304>", flow)
    wanted = outbound("S 0:0(0) <FO 01020304,eol,sackOK,mss 5>")
    assert compare(wanted, Heard(segment), flow, NOTHING).differences
    assert not compare(wanted, Heard(segment), flow, NOTHING, any_order=True).differences


@pytest.mark.parametrize(
    ("wanted", "came"),
    [
        ("S 0:0(0) <...>", "S 0:0(0) <mss 5,FO>"),
        ("S 0:0(0) <mss *,wscale *>", "S 0:0(0) <mss 5,wscale 7>"),
        ("S 0:0(0) <FO *>", "S 0:0(0) <FO 01020304>"),
        ("S 0:0(0) <wscale 7>", "S 0:0(0) <wscale 7,eol>"),
        ("S 0:0(0) <kind 34 hex 01020304>", "S 0:0(0) <FO 01020304>"),
        ("S 0:0(0) <mss MSS>", "S 0:0(0) <mss 1460>"),
        ("S 0:0(0) <FO COOKIE>", "S 0:0(0) <FO 01020304>"),
        (". 1:1(0) ack 1 <TS val * ecr *>", ". 1:1(0) ack 1 <TS val 5 ecr 7>"),
        (". 1:1(0) ack 1 <TS val 9 ecr 7>", ". 1:1(0) ack 1 <TS val 5 ecr 7>"),
        ("[ect01] . 1:1(0)", "[ect0] . 1:1(0)"),
        ("[ect01] . 1:1(0)", "[ect1] . 1:1(0)"),
        ("[tos 0x12] . 1:1(0)", "[tos 0x12] . 1:1(0)"),
        (". 1:1(0)", "[ce] . 1:1(0)"),
        ("SEWA 0:0(0)", "SEWA 0:0(0)"),
    ],
)
def test_what_a_script_leaves_open_may_be_anything(wanted: str, came: str) -> None:
    flow = flow_of(0, 0)
    meanings = Meanings({"MSS": "1460", "COOKIE": "01020304"})
    assert compared(wanted, heard(came, flow), flow, meanings).differences == []


def test_values_are_kept_as_they_were_on_the_wire() -> None:
    flow = flow_of(0, 0)
    segment = heard("S. 0:0(0) ack 1 <mss 5,TS val 70 ecr 9,wscale 7,FO 01020304>", flow)
    text = "S. 0:0(0) ack 1 <mss *=$M,TS val *=$T ecr *=$E,wscale *=$W,FO *=$C>"
    result = compared(text, segment, flow)
    assert result.differences == []
    assert result.kept == {"M": 5, "T": 70, "E": 9, "W": 7, "C": b"\1\2\3\4"}
    assert result.stamp is None


def test_kept_values_are_compared() -> None:
    flow = flow_of(0, 0)
    meanings = Meanings({})
    seen = compared("S 0:0(0) <FO *=$C>", heard("S 0:0(0) <FO 01020304>", flow), flow)
    meanings.keep("C", seen.kept["C"])
    again = heard("S 0:0(0) <FO 01020304>", flow)
    other = heard("S 0:0(0) <FO 01020305>", flow)
    assert found("S 0:0(0) <FO $C>", again, flow, meanings) == []
    assert found("S 0:0(0) <FO $C>", other, flow, meanings) == ["cookie"]


@pytest.mark.parametrize("wanted", ["S 0:0(0) <mss NO>", "S 0:0(0) <FO NO>", "S 0:0(0) <FO $N>"])
def test_what_stands_for_nothing_is_said(wanted: str) -> None:
    flow = flow_of(0, 0)
    came = "S 0:0(0) <mss 5>" if "mss" in wanted else "S 0:0(0) <FO 01020304>"
    segment = heard(came, flow)
    with pytest.raises(MeaningError, match=r"-D NO=VALUE|has not come"):
        compared(wanted, segment, flow)


# SACK blocks, labels and time stamps.


@given(longs, longs, longs, longs)
def test_edges_of_sack_blocks_are_of_the_scripts_numbers(
    remote_isn: int, local_isn: int, left: int, right: int
) -> None:
    flow = flow_of(remote_isn, local_isn)
    text = f". 1:1(0) ack 1 <nop,nop,sack {left}:{right}>"
    segment = heard(text, flow)
    assert found(text, segment, flow) == []
    assert show_action(in_script_terms(segment, flow)).endswith(f"sack {left}:{right}>")
    moved = f". 1:1(0) ack 1 <nop,nop,sack {left}:{(right + 1) % 2**32}>"
    assert found(moved, segment, flow) == ["option"]


def test_a_repeated_syn_has_the_scripts_isn() -> None:
    flow = flow_of(0, 7000)
    flow.script_isn = 500
    segment = Segment(src=flow.local, dst=flow.remote, sport=1, dport=2, seq=7000, flags=2)
    assert found("S 500:500(0)", segment, flow) == []
    assert found("S 501:501(0)", segment, flow) == ["seq"]


def test_labels_are_the_same_as_before_or_others_than_before() -> None:
    flow = flow_of(0, 0, family=6)
    segment = heard(". 1:1(0)", flow)
    first, second = "[flowlabel 0x1] . 1:1(0)", "[flowlabel 0x2] . 1:1(0)"

    def told(text: str, label: int) -> list[str]:
        return [str(each) for each in compared(text, segment, flow, label=label).differences]

    assert told(first, 0) == ["flow label: expected one, got none"]
    assert told(first, 0xABC) == []
    assert told(first, 0xABC) == []
    assert told(first, 0xABD) == ["flow label: expected the one before, got 0xabd"]
    assert told(second, 0xABC) == ["flow label: expected another than before, got 0xabc"]
    assert told(second, 0xABD) == []


def test_time_stamps_go_on_as_the_script_says_where_ticks_are_known() -> None:
    flow = flow_of(0, 0)
    tick = 1_000_000

    def told(script: int, live: int, tolerance: int = 0) -> list[str]:
        segment = heard(f". 1:1(0) <TS val {live} ecr 0>", flow)
        wanted = outbound(f". 1:1(0) <TS val {script} ecr 0>")
        result = compare(
            wanted, Heard(segment), flow, NOTHING, tick=tick, stamp_tolerance=tolerance
        )
        assert result.stamp == (script, live)
        return [str(each) for each in result.differences]

    assert told(100, 2**32 - 5) == []
    flow.note_stamp(100, 2**32 - 5)
    assert told(110, 5) == []
    assert told(110, 7) == ["TS val: expected 110, got 112"]
    assert told(110, 7, tolerance=2 * tick) == []
    assert told(110, 3) == ["TS val: expected 110, got 108"]
    assert told(110, 8, tolerance=2 * tick) == ["TS val: expected 110, got 113"]


def test_names_of_ports_are_shown_where_the_script_has_them() -> None:
    flow = flow_of(0, 0)
    segment = heard(". 1:1(0)", flow)
    assert show_action(in_script_terms(segment, flow)).startswith("> .")
    flow.ports = (5000, 80)
    assert show_action(in_script_terms(segment, flow)).startswith("> 80 > 5000 .")
