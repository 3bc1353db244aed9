"""Parts that a script leaves open: optional packets, the division of data, other addresses."""

from __future__ import annotations

import pytest

from scapy_tfo.pkt.checks.portable import refuse_additions
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.play.outcome import Outcome
from tests.pkt.virtual_kernel import Reply, played

LISTEN = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n"
OPEN = LISTEN + (
    "+0 < S 0:0(0) win 1000 <mss 1000>\n"
    "+0 > S. 0:0(0) ack 1 <mss 1460>\n"
    "+0 < . 1:1(0) ack 1 win 1000\n"
)
"""Five lines; the next is the sixth."""

SYN_ACK: Reply = (0, "S. 0:0(0) ack 1 <mss 1460>")
FIN = "+0 < F. 1:1(0) ack 1 win 9\n+0 > . 1:1(0) ack 2 or none\n+0 > F. 1:1(0) ack 2\n"
ACK_ALONE, FIN_WITH_ACK = (0, ". 1:1(0) ack 2"), (0, "F. 1:1(0) ack 2")


def told(outcome: Outcome) -> list[str]:
    return [f"{each.line}: {each.problem}" for each in outcome.failures]


@pytest.mark.parametrize(
    ("replies", "problems"),
    [
        ([FIN_WITH_ACK], []),
        ([ACK_ALONE, FIN_WITH_ACK], []),
        ([ACK_ALONE, ACK_ALONE, FIN_WITH_ACK], ["8: flags: expected F., got ."]),
        ([(0, ". 1:1(0) ack 1"), FIN_WITH_ACK], ["8: another packet came"]),
        ([(500, ". 1:1(0) ack 2"), (500, "F. 1:1(0) ack 2")], ["8: another packet came"]),
        ([ACK_ALONE], ["8: no packet came"]),
    ],
)
def test_a_packet_that_may_come_or_not(replies: list[Reply], problems: list[str]) -> None:
    outcome, _ = played(OPEN + FIN, {0: [SYN_ACK], 2: replies})
    assert [each.split(" (")[0] for each in told(outcome)] == [
        each.replace("8:", f"{OPEN.count(chr(10)) + 3}:") for each in problems
    ]


def test_a_packet_that_may_come_disturbs_no_silence() -> None:
    script = OPEN + "+0 < F. 1:1(0) ack 1 win 9\n+0 > . 1:1(0) ack 2 or none\n"
    script += "+0 expect none for 50ms\n"
    assert told(played(script, {0: [SYN_ACK], 2: [(1, ". 1:1(0) ack 2")]})[0]) == []
    twice: list[Reply] = [(1, ". 1:1(0) ack 2"), (2, ". 1:1(0) ack 2")]
    assert len(told(played(script, {0: [SYN_ACK], 2: twice})[0])) == 1


DIVIDED: list[Reply] = [(0, ". 1:1001(1000) ack 1"), (0, "P. 1001:3001(2000) ack 1")]
DATA = "+0 > P. 1:2001(2000) ack 1\n+0 > P. 2001:3001(1000) ack 1\n"


def test_data_may_be_divided_otherwise_where_the_script_says_so() -> None:
    replies = {0: [SYN_ACK], 1: DIVIDED}
    assert told(played("--any_segments\n" + OPEN + DATA, replies)[0]) == []
    assert told(played(OPEN + DATA, replies)[0])


def test_however_it_is_divided_none_may_be_missing() -> None:
    lost: list[Reply] = [(0, ". 1:1001(1000) ack 1"), (0, "P. 1002:3001(1999) ack 1")]
    assert told(played("--any_segments\n" + OPEN + DATA, {0: [SYN_ACK], 1: lost})[0])


def test_clients_have_addresses_that_follow_each_other() -> None:
    script = LISTEN
    for client in ("", "@2"):
        script += f"+0 < 5000{client} > 8080 S 0:0(0) win 1\n"
    for client in ("@2", ""):
        script += f"+0 > 8080 > 5000{client} S. 0:0(0) ack 1\n"
    answer: Reply = (0, "S. 0:0(0) ack 1")
    outcome, kernel = played(script, {0: [answer], 1: [answer]})
    assert told(outcome) == []
    assert int(kernel.got[1].src) - int(kernel.got[0].src) == 1


def test_a_number_of_the_kernel_as_on_the_wire() -> None:
    script = OPEN + "+0 > R. 0:0(0) ack 1 with seq {}\n"
    isn = 2**32 - 3
    replies: dict[int, list[Reply]] = {0: [SYN_ACK], 1: [(0, "R. 0:0(0) ack 1")]}
    assert told(played(script.format(isn), replies)[0]) == []
    (problem,) = told(played(script.format(0), replies)[0])
    assert f"seq on the wire: expected 0, got {isn}" in problem


def test_after_both_fins_the_next_connection_has_its_own_numbers() -> None:
    script = OPEN + "+0 < F. 1:1(0) ack 1 win 9\n+0 > F. 1:1(0) ack 2\n+0 < . 2:2(0) ack 2 win 9\n"
    script += "+0 < S 900:900(0) win 1\n+0 > S. 0:0(0) ack 901\n+0 < . 1:1(0) ack 1 win 1\n"
    # Not of the ISN before, which alone tells a new connection from an answer of the old one.
    new: Reply = (0, "S. 7:7(0) ack 1")
    outcome, kernel = played(script, {0: [SYN_ACK], 2: [FIN_WITH_ACK], 4: [new]})
    assert told(outcome) == []
    assert kernel.got[5].seq == 901


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("< . 1:1(0) ack 1 or none", "only packets that the kernel sends"),
        ("< 5000 > 8080@2 . 1:1(0) ack 1", "after the script's port, not the kernel's"),
        ("> 8080 > 5000@0 . 1:1(0) ack 1", "numbered 1 to 255"),
        ("> . 1:1(0) ack 1 with doff 4", "can have faults"),
    ],
)
def test_what_has_no_meaning_is_refused(line: str, problem: str) -> None:
    with pytest.raises(ScriptError, match=problem):
        parse(f"0 {line}\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--any_segments\n0 `true`\n", "--any_segments"),
        ("--any_order\n0 `true`\n", "--any_order"),
        ("0 > . 1:1(0) ack 2 or none\n", "'or none'"),
        ("0 < 5000@2 > 8080 S 0:0(0) win 1\n", "an address after '@'"),
        ("0 > R. 0:0(0) ack 1 with seq 0\n", "a fault after 'with'"),
        ("0 bind(3, {sin_port=htons(81)}, ...) = 0\n", r"a port in bind\(\)"),
    ],
)
def test_packetdrill_knows_none_of_this(text: str, problem: str) -> None:
    with pytest.raises(ScriptError, match=problem):
        refuse_additions(parse(text), text, "script")
