"""Packets that a script does not name: what a TCP may send passes, what none may send does not."""

from __future__ import annotations

import pytest

from tests.pkt.remotely import LISTENER, run_text
from tests.pkt.test_player import LISTEN, OPEN, SYN, SYN_ACK, told
from tests.pkt.virtual_kernel import Reply, played

BLAME = "a packet came that no TCP may send here: "
WRITE = "+0 write(4, ..., 10) = 10\n"
CLOSE = "+0 close(4) = 0\n"
DATA = "+0 < P. 1:11(10) ack 1 win 1000\n"


@pytest.mark.parametrize(
    ("script", "coming", "problem"),
    [
        (OPEN, ". 1:1(0) ack 2", "it acknowledges what was never sent"),
        (OPEN, "P. 1:2(1) ack 1", "the application has written 0 bytes"),
        (OPEN + WRITE, "P. 1:12(11) ack 1", "the application has written 10 bytes"),
        (OPEN + WRITE, ". 12:12(0) ack 1", "the application has written 10 bytes"),
        (OPEN, "F. 1:1(0) ack 1", "the application has not closed the connection"),
        (OPEN, "R 1:1(0)", "nothing was sent, called or set that ends the connection"),
        (OPEN, "R. 1:1(0) ack 1", "nothing was sent, called or set that ends the connection"),
        (OPEN, ". 1:1(0) ack 1 <mss 1460>", "an MSS option belongs in a SYN"),
        (OPEN, ". 1:1(0) ack 1 <FO,nop,nop>", "a Fast Open option belongs in a SYN"),
        (OPEN, ". 1:1(0) ack 1 with checksum bad", "its checksum is wrong"),
    ],
)
def test_what_no_tcp_may_send_fails_at_the_last_event(
    script: str, coming: str, problem: str
) -> None:
    outcome, _ = played(script, {0: [SYN_ACK], 1: [(1, coming)]})
    assert told(outcome) == [f"{len(script.splitlines())}: {BLAME}{problem}"]


@pytest.mark.parametrize(
    ("script", "coming", "after"),
    [
        # Repetitions, acknowledgements and window updates.
        (OPEN, "S. 0:0(0) ack 1 <mss 1460>", 1),
        (OPEN, ". 1:1(0) ack 1", 1),
        (OPEN, ". 0:0(0) ack 1", 1),
        (OPEN + DATA, ". 1:1(0) ack 11", 2),
        (OPEN + DATA, ". 1:1(0) ack 6", 2),
        # What calls write and close.
        (OPEN + WRITE, "P. 1:11(10) ack 1", 1),
        (OPEN + WRITE, "P. 6:11(5) ack 1", 1),
        (OPEN + WRITE + CLOSE, "FP. 1:11(10) ack 1", 1),
        (OPEN + CLOSE, "F. 1:1(0) ack 1", 1),
        (OPEN + CLOSE, ". 2:2(0) ack 1", 1),
        (OPEN + CLOSE, "R. 1:1(0) ack 1", 1),
        (OPEN + "+0 write(4, ..., 10) = ...\n", "P. 1:9000(8999) ack 1", 1),
        # What ends a connection.
        (OPEN + "+0 < . 7:7(0) ack 9 win 1000\n", "R 9:9(0)", 2),
        (OPEN + "+0 < F. 1:1(0) ack 2 win 1000\n", "R 2:2(0)", 2),
        (OPEN + "+0 < R. 1:1(0) ack 1 win 1000\n", "R. 1:1(0) ack 1", 2),
        (OPEN + "+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [9], 4) = 0\n", "R 1:1(0)", 1),
        (OPEN + "+0 < icmp unreachable port_unreachable [1:11(10)]\n", "R 1:1(0)", 1),
    ],
)
def test_what_a_tcp_may_send_passes(script: str, coming: str, after: int) -> None:
    assert told(played(script, {0: [SYN_ACK], after: [(1, coming)]})[0]) == []


def test_an_answer_to_no_syn() -> None:
    script = LISTEN + "+0 < . 5:5(0) ack 7 win 9\n"
    assert "no SYN was sent" in told(played(script, {0: [(1, "S. 0:0(0) ack 5")]})[0])[0]
    assert told(played(script, {0: [(1, "R 7:7(0)")]})[0]) == []


def test_the_last_packet_is_awaited_for_a_tolerance_and_no_longer() -> None:
    wrong = ". 1:1(0) ack 99"
    assert told(played(OPEN, {0: [SYN_ACK], 1: [(3.9, wrong)]})[0])
    assert told(played(OPEN, {0: [SYN_ACK], 1: [(4.1, wrong)]})[0]) == []
    assert played(OPEN, {0: [SYN_ACK]})[0].seconds == 0


def test_what_was_before_the_last_event_is_judged_too() -> None:
    late = OPEN + "+.5 < P. 1:11(10) ack 1 win 1000\n+0 > . 1:1(0) ack 11\n"
    second: list[Reply] = [(0, ". 1:1(0) ack 11"), (1, ". 1:1(0) ack 12")]
    assert told(played(late, {0: [SYN_ACK], 2: second})[0]) == [
        f"7: {BLAME}it acknowledges what was never sent"
    ]


def test_a_script_that_fails_is_not_blamed_for_what_follows() -> None:
    script = SYN + "+0 > S. 0:0(0) ack 2\n"
    outcome, _ = played(script, {0: [(0, "S. 0:0(0) ack 1"), (1, ". 1:1(0) ack 9")]})
    assert told(outcome) == ["4: ack: expected 2, got 1"]


def test_a_second_connection_on_the_same_ports_has_other_numbers() -> None:
    script = OPEN + "+0 < R 1:1(0) win 0\n+0 < S 900:900(0) win 1\n"
    coming = {0: [SYN_ACK], 2: [(0.0, ". 1:1(0) ack 2")], 3: [(0.0, "S. 0:0(0) ack 901")]}
    assert told(played(script, coming)[0]) == []


# Against another target.

GRANTED = f"""\
{LISTENER}
+0 < 5000 > 8080 S 0:0(0) win 65535 <mss 1460,FO,nop,nop>
+0 > 8080 > 5000 S. 0:0(0) ack 1 <mss *,FO *=$C,nop,nop>
+0 < 5000 > 8080 R. 1:1(0) ack 1 win 65535
+0 < 5001 > 8080 S 0:10(10) win 65535 <mss 1460,FO $C,nop,nop>
"""


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("sim:acks-one-byte-too-many", "it acknowledges what was never sent"),
        ("sim:reference", ""),
        ("sim:acks-one-byte-too-few", ""),
    ],
)
def test_the_answers_of_a_target_are_judged(target: str, problem: str) -> None:
    answer = run_text(GRANTED, target)
    failures = getattr(answer, "failures", None)
    assert failures is not None, answer
    assert [each.problem for each in failures] == ([BLAME + problem] if problem else [])
