"""Sequence diagrams: what they show of packets."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.icmp import packet_too_big
from scapy_tfo.option import Form, RawOption, fast_open, push_options
from scapy_tfo.report.diagram import Trace, draw
from scapy_tfo.segment import ACK, FIN, RST, SYN
from scapy_tfo.suite.result import Result, Verdict

from .sample import (
    HOSTILE,
    REFUSED,
    REFUSED_DRAWN,
    captured,
    inbound,
    outbound,
    result,
    with_cookie,
)

WRAPPED = """\
  *      1      0.000  |-- S seq 0 len 1 win 65535 -------------------------->|
                       |   TFO=00000000000000000000000000000000               |
                       |   TFO=0000000000000000000000000000                   |"""


def judging(*numbers: int) -> Result:
    """A result that rests on these packets."""
    return result("ACC-2.x", Verdict.FAIL, packets=numbers)


def rows(text: str) -> list[str]:
    """The arrows alone."""
    return [line[22:].strip("|<>- ") for line in text.split("\n") if "|" in line]


def test_the_conversation_around_the_judged_packets() -> None:
    assert Trace(captured(*REFUSED)).draw(judging(1, 2)) == REFUSED_DRAWN


def test_other_connections_are_left_out() -> None:
    trace = Trace(captured(*REFUSED))
    assert [each.number for each in trace.conversation([7])] == [6, 7]
    assert [each.number for each in trace.conversation([2, 6])] == [1, 2, 3, 4, 5, 6, 7]


def test_several_connections_are_told_apart() -> None:
    text = Trace(captured(*REFUSED)).draw(judging(2, 6))
    assert "A: suite 192.0.2.1:40000, target 192.0.2.7:80" in text
    assert "B: suite 192.0.2.1:40001, target 192.0.2.7:80" in text
    assert rows(text)[-1] == "B R. seq 0 ack 2 len 0 win 65535"


def test_no_packets_no_diagram() -> None:
    assert Trace(()).draw(judging()) == ""
    assert Trace(captured(*REFUSED)).draw(judging(99)) == ""


def test_numbers_wrap_and_a_second_isn_is_primed() -> None:
    text = draw(
        captured(
            outbound(SYN, seq=0xFFFFFFF0, payload=b"x" * 32),
            inbound(SYN | ACK, seq=0xFFFFFFFF, ack=17),
            outbound(SYN, seq=500),
            inbound(ACK, seq=0, ack=17),
            inbound(SYN | ACK, seq=0x40000000, ack=501),
            outbound(ACK, seq=0xFFFFFFEF, ack=0x40000001),
        ),
        (),
    )
    assert [row.partition(" len")[0] for row in rows(text)] == [
        "S seq 0",
        "S. seq 0 ack 33",
        "S seq 0'",
        ". seq 1 ack 33",
        "S. seq 0' ack 1'",
        ". seq -1 ack 1'",
    ]


def test_without_its_syn_an_endpoint_keeps_its_numbers() -> None:
    text = draw(captured(inbound(FIN | ACK, seq=777, ack=888)), ())
    assert rows(text) == ["F. seq 777 ack 888 len 0 win 65535"]


def test_lies_are_named() -> None:
    broken = push_options([RawOption(Form.IANA, 3, b"a")])
    text = draw(
        captured(
            outbound(SYN, options=broken),
            outbound(SYN, checksum=1),
            outbound(SYN, options=with_cookie(b""), data_offset=15),
            inbound(RST, checksum=1),
            packet_too_big(inbound(ACK).to_bytes(), mtu=1280).to_bytes(),
            b"\x45junk",
        ),
        (),
    )
    assert rows(text) == [
        "S seq 0 len 0 win 65535 TFO!(length 3 is odd)",
        "S seq 0 len 0 win 65535 bad checksum",
        "S seq 0 len 0 win 65535 TFO=request data offset 15",
        # A checksum left to the network card is no lie.
        "R seq 9000 len 0 win 65535",
        "ICMP fragmentation needed, mtu 1280",
        "5 bytes (not an IP packet)",
    ]


def test_long_conversations_keep_what_was_judged() -> None:
    data = [outbound(ACK, seq=1001 + n, ack=9001, payload=b"x") for n in range(200)]
    text = Trace(captured(outbound(SYN), *data)).draw(judging(100, 101))
    numbers = [int(line[4:10]) for line in text.split("\n") if "|" in line]
    assert numbers == [1, 2, 3, 97, 98, 99, 100, 101, 102, 103, 104]
    assert "(93 more)" in text
    assert text.endswith("(97 more)")


def test_comments_leave_out_what_the_report_says_beside_them() -> None:
    case = result("ACC-2.x", Verdict.FAIL, reason="no answer", packets=(3,))
    trace = Trace(
        dataclasses.replace(each, comment=comment)
        for each, comment in zip(
            captured(*REFUSED[:4]),
            [
                "sent by ACC-2.x [ipv4]: with data",
                "for ACC-2.x [ipv4]",
                "for ACC-2.x [ipv4]; FAIL: no answer",
                "for no case (its flow is closed)",
            ],
            strict=True,
        )
    )
    lines = trace.draw(case).split("\n")
    assert lines[2].endswith(">|  with data")
    assert lines[3].endswith("--|")
    assert lines[4].endswith(">|")
    assert lines[5:] == [REFUSED_DRAWN.split("\n")[5], f"{'':24}: for no case (its flow is closed)"]


def test_long_comments_move_below() -> None:
    lines = draw(captured(outbound(SYN), comment="j" * 60), ()).split("\n")
    assert lines[3] == f"{'':24}: {'j' * 60}"


def test_hostile_comments_are_shown_not_obeyed() -> None:
    text = draw(captured(outbound(SYN), comment=HOSTILE), (1,))
    assert all(char.isprintable() or char == "\n" for char in text)


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_any_bytes_can_be_drawn(data: list[bytes]) -> None:
    packets = captured(*data)
    text = Trace(packets).draw(judging(*(each.number for each in packets)))
    assert len(rows(text)) == len(packets)


def test_what_is_too_long_goes_on_in_the_next_line_between_words() -> None:
    cookies = push_options([fast_open(bytes(16)), fast_open(bytes(14))])
    packets = captured(
        outbound(SYN, options=cookies, payload=b"x"),
        inbound(SYN | ACK, ack=1001, options=cookies, window=64240),
        comment="sent by a case that has a great deal to say about its packets, " * 2,
    )
    for width in (60, 80, 100):
        text = draw(packets, [1], width=width)
        assert max(map(len, text.split("\n"))) <= width
        assert width == 60 or "TFO=" + "00" * 16 in text
        bars = {(line.index("|"), line.rindex("|")) for line in text.split("\n") if "|" in line}
        assert len(bars) == 1
    assert draw(packets, [1], width=80).split("\n")[2:5] == WRAPPED.split("\n")
