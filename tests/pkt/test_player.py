"""Scripts played against a kernel on virtual time: matching runs pass, every deviation is told."""

from __future__ import annotations

import pytest

from scapy_tfo.icmp import unreachable
from scapy_tfo.pkt.play.outcome import Failure, Outcome
from scapy_tfo.segment import Segment
from tests.pkt.lines import LOCAL, REMOTE
from tests.pkt.virtual_kernel import ISN, Reply, played

LISTEN = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n"
SYN = LISTEN + "+0 < S 0:0(0) win 1000 <mss 1000>\n"
OPEN = SYN + "+0 > S. 0:0(0) ack 1 <mss 1460>\n+0 < . 1:1(0) ack 1 win 1000\n"
"""Five lines; the next is the sixth."""

SYN_ACK: Reply = (0, "S. 0:0(0) ack 1 <mss 1460>")
CONNECT = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 connect(3, ..., ...) = 0\n"


def told(outcome: Outcome) -> list[str]:
    return [f"{each.line}: {each.problem}" for each in outcome.failures]


def only(outcome: Outcome) -> Failure:
    (failure,) = outcome.failures
    return failure


# What is as the script says.


def test_a_whole_connection() -> None:
    script = OPEN + "+.01 < P. 1:11(10) ack 1 win 1000\n+0 > . 1:1(0) ack 11\n"
    script += "+0 > P. 1:6(5) ack 11\n+0 < F. 11:11(0) ack 6 win 1000\n+.04 > F. 6:6(0) ack 12\n"
    replies = {
        0: [SYN_ACK],
        2: [(0, ". 1:1(0) ack 11"), (1, "P. 1:6(5) ack 11")],
        3: [(40, "F. 6:6(0) ack 12")],
    }
    outcome, kernel = played(script, replies)
    assert told(outcome) == []
    assert [each.seq for each in kernel.got] == [0, 1, 1, 11]
    assert [each.ack for each in kernel.got] == [0, *((ISN + n) % 2**32 for n in (1, 1, 6))]
    assert len(outcome.packets) == 8
    assert outcome.flow == f"{REMOTE}:40000>{LOCAL}:8080"
    assert outcome.seconds == pytest.approx(0.051)


def test_an_isn_that_the_script_gives() -> None:
    script = LISTEN + "+0 < S 500:500(0) win 1\n+0 > S. 9:9(0) ack 501\n+0 < . 1:1(0) ack 1 win 1\n"
    script += "+1 > S. 9:9(0) ack 501\n"
    repeated: Reply = (1000, "S. 0:0(0) ack 1")
    outcome, kernel = played(script, {0: [(0, "S. 0:0(0) ack 1"), repeated]})
    assert told(outcome) == []
    assert (kernel.got[1].seq, kernel.got[1].ack) == (501, ISN + 1)


def test_a_symbol_may_be_the_isn() -> None:
    script = "--define=ISN=77\n" + SYN + "+0 > S. ISN:ISN(0) ack 1\n+1 > S. ISN:ISN(0) ack 1\n"
    replies = {0: [(0, "S. 0:0(0) ack 1"), (1000, "S. 0:0(0) ack 1")]}
    assert told(played(script, replies)[0]) == []


def test_a_client() -> None:
    script = CONNECT + "+0 > S 0:0(0) <mss 1460>\n+.01 < S. 500:500(0) ack 1 win 9\n"
    script += "+0 > . 1:1(0) ack 1\n+0 < R. 1:1(0) ack 1 win 0\n"
    replies = {-1: [(0.0, "S 0:0(0) <mss 1460>")], 0: [(0.0, ". 1:1(0) ack 1")]}
    outcome, kernel = played(script, replies)
    assert told(outcome) == []
    assert kernel.got[0].ack == ISN + 1
    assert kernel.got[1].seq == 501


def test_segments_that_follow_each_other_are_taken_for_one() -> None:
    script = OPEN + "+0 > P. 1:31(30) ack 1\n"
    pieces: list[Reply] = [
        (0, ". 1:11(10) ack 1"),
        (1, ". 11:21(10) ack 1"),
        (2, "P. 21:31(10) ack 1"),
    ]
    assert told(played(script, {0: [SYN_ACK], 1: pieces})[0]) == []
    strict = played("--strict_segments\n" + script, {0: [SYN_ACK], 1: pieces})[0]
    assert told(strict) == ["7: another packet came"]


def test_of_joined_segments_the_last_says_whether_to_push() -> None:
    script = OPEN + "+0 > . 1:31(30) ack 1\n"
    pieces: list[Reply] = [(0, "P. 1:21(20) ack 1"), (1, ". 21:31(10) ack 1")]
    assert told(played(script, {0: [SYN_ACK], 1: pieces})[0]) == []


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ("P. 12:31(19) ack 1", "bytes of data"),
        ("P. 11:41(30) ack 1", "bytes of data"),
        ("P. 11:31(20) ack 2", "bytes of data"),
    ],
)
def test_only_what_belongs_together_is_joined(second: str, problem: str) -> None:
    script = OPEN + "+0 > . 1:31(30) ack 1\n"
    failure = only(played(script, {0: [SYN_ACK], 1: [(0, ". 1:11(10) ack 1"), (1, second)]})[0])
    assert [each.what for each in failure.differences] == [problem]


def test_one_of_two_packets_comes() -> None:
    script = OPEN + "+0 > P. 1:11(10) ack 1 or > F. 1:1(0) ack 1\n"
    assert told(played(script, {0: [SYN_ACK], 1: [(0, "P. 1:11(10) ack 1")]})[0]) == []
    assert told(played(script, {0: [SYN_ACK], 1: [(0, "F. 1:1(0) ack 1")]})[0]) == []
    failure = only(played(script, {0: [SYN_ACK], 1: [(0, "F. 1:1(0) ack 2")]})[0])
    assert failure.problem == "ack: expected 1, got 2"
    assert failure.expected.count(">") == 2


def test_a_cookie_is_kept_and_sent_again() -> None:
    script = LISTEN + "+0 < S 0:0(0) win 1 <FO>\n+0 > S. 0:0(0) ack 1 <FO *=$C>\n"
    script += "+0 < 5000 > 8080 S 0:0(0) win 1 <FO $C>\n"
    outcome, kernel = played(script, {0: [(0, "S. 0:0(0) ack 1 <FO 01020304>")]})
    assert told(outcome) == []
    assert kernel.got[1].cookie == b"\1\2\3\4"


def test_a_time_stamp_is_echoed_as_it_came() -> None:
    script = LISTEN + "+0 < S 0:0(0) win 1 <TS val 1 ecr 0>\n"
    script += (
        "+0 > S. 0:0(0) ack 1 <TS val 100 ecr 1>\n+0 < . 1:1(0) ack 1 win 1 <TS val 2 ecr 100>\n"
    )
    outcome, kernel = played(script, {0: [(0, "S. 0:0(0) ack 1 <TS val 987 ecr 1>")]})
    assert told(outcome) == []
    assert kernel.got[1].timestamps == (2, 987)


def test_after_a_reset_the_next_connection_has_its_own_numbers() -> None:
    script = OPEN + "+0 < R 1:1(0) win 0\n+0 < S 900:900(0) win 1\n+0 > S. 0:0(0) ack 901\n"
    script += "+0 < . 1:1(0) ack 1 win 1\n"
    outcome, kernel = played(script, {0: [SYN_ACK], 3: [(0, "S. 0:0(0) ack 1")]})
    assert told(outcome) == []
    assert kernel.got[4].seq == 901


def test_connections_by_their_ports() -> None:
    script = LISTEN
    for port in (5000, 5001):
        script += f"+0 < {port} > 8080 S 0:0(0) win 1\n"
    for port in (5001, 5000):
        script += f"+0 > 8080 > {port} S. 0:0(0) ack 1\n"
    answer: Reply = (0, "S. 0:0(0) ack 1")
    assert told(played(script, {0: [answer], 1: [answer]})[0]) == []
    assert told(played(script, {0: [answer]})[0]) == ["5: no packet came"]


def test_what_goes_elsewhere_is_passed_by() -> None:
    elsewhere: Reply = (0, "7 > 9 . 1:1(0) ack 1")
    junk: Reply = (0, b"\x45junk")
    assert told(played(OPEN, {0: [junk, elsewhere, SYN_ACK]})[0]) == []


# What is not.


def test_a_packet_that_is_missing() -> None:
    outcome, _ = played(SYN + "+0 > S. 0:0(0) ack 1\n+0 > . 1:1(0)\n", {})
    assert told(outcome) == ["4: no packet came", "5: no packet came"]
    assert outcome.failures[0].expected == "> S. 0:0(0) ack 1"
    assert outcome.failures[0].actual == "nothing"


def test_a_packet_before_any_connection() -> None:
    outcome, _ = played(LISTEN + "+0 > S. 0:0(0) ack 1\n", {})
    assert "there is no connection" in only(outcome).problem


def test_a_packet_too_many_is_taken_for_the_next() -> None:
    script = OPEN + "+0 > P. 1:11(10) ack 1\n"
    outcome, _ = played(
        script, {0: [SYN_ACK], 1: [(0, ". 1:1(0) ack 2"), (0, "P. 1:11(10) ack 1")]}
    )
    failure = only(outcome)
    assert (failure.line, failure.problem) == (6, "another packet came")
    assert (failure.expected, failure.actual) == ("> P. 1:11(10) ack 1", "> . 1:1(0) ack 2 win 0")
    assert [each.what for each in failure.differences] == ["flags", "bytes of data", "ack"]


def test_a_missing_packet_does_not_spoil_the_next() -> None:
    script = OPEN + "+0 > . 1:1(0) ack 11\n+0 > P. 1:11(10) ack 11\n+0 > F. 11:11(0) ack 11\n"
    coming: list[Reply] = [(0, "P. 1:11(10) ack 11"), (0, "F. 11:11(0) ack 11")]
    failure = only(played(script, {0: [SYN_ACK], 1: coming})[0])
    assert failure.line == 6
    assert failure.problem == "no such packet came, but the one that the script wants after it"
    assert failure.actual == "> P. 1:11(10) ack 11 win 0"


def test_one_difference_is_told_in_the_first_line() -> None:
    script = SYN + "+0 > S. 0:0(0) ack 1 <mss 1400>\n"
    failure = only(played(script, {0: [SYN_ACK]})[0])
    assert failure.problem == "mss: expected mss 1400, got mss 1460"


@pytest.mark.parametrize(
    ("when", "came", "problem"),
    [
        ("+.1", 50, "time: expected 0.100000 s, got 0.050000 s"),
        ("+.1", 150, "time: expected 0.100000 s, got 0.150000 s"),
        ("+.1", 103, ""),
        (".1~.2", 150, ""),
        (".1~.2", 250, "time: expected 0.100000 s to 0.200000 s, got 0.250000 s"),
        ("*", 30_000, ""),
        ("+.1", 2099, "time: expected 0.100000 s, got 2.099000 s"),
        ("+.1", 2200, "no packet came"),
        ("*", 61_000, "no packet came"),
    ],
)
def test_early_and_late(when: str, came: float, problem: str) -> None:
    script = "--tolerance_percent=0\n" + SYN + f"{when} > S. 0:0(0) ack 1\n"
    outcome, _ = played(script, {0: [(came, "S. 0:0(0) ack 1")]})
    assert [each.problem for each in outcome.failures] == ([problem] if problem else [])


def test_a_script_that_is_late_itself_blames_nobody() -> None:
    script = (
        OPEN + "+.01 < P. 1:11(10) ack 1 win 1000\n+.02 > . 1:1(0) ack 11\n.1 > F. 1:1(0) ack 11\n"
    )
    replies = {0: [SYN_ACK], 2: [(20, ". 1:1(0) ack 11"), (90, "F. 1:1(0) ack 11")]}
    assert told(played(script, replies)[0]) == []
    assert told(played(script, replies, delay=500)[0]) == []


def test_many_failures_end_the_run() -> None:
    outcome, _ = played(SYN + "+0 > . 1:1(0)\n" * 50, {})
    assert len(outcome.failures) == 20


# Silence.


@pytest.mark.parametrize(
    ("came", "problems"),
    [
        (199, ["6: a packet came", "7: no packet came"]),
        (0, ["6: a packet came", "7: no packet came"]),
        (200, []),
        (203, []),
        (300, ["7: time: expected 0.200000 s, got 0.300000 s"]),
    ],
)
def test_silence(came: float, problems: list[str]) -> None:
    script = "+0 expect none for 200ms\n+0 > F. 1:1(0) ack 1\n"
    script = OPEN + script
    outcome, _ = played(script, {0: [SYN_ACK], 1: [(came, "F. 1:1(0) ack 1")]})
    assert told(outcome) == problems


def test_silence_begins_when_the_script_says() -> None:
    script = "--tolerance_percent=0\n" + OPEN + "+.1 expect none for 200ms\n+0 > F. 1:1(0) ack 1\n"
    outcome, _ = played(script, {0: [SYN_ACK], 1: [(50, "F. 1:1(0) ack 1")]})
    assert told(outcome) == ["8: time: expected 0.300000 s, got 0.050000 s"]


def test_silence_lasts_as_long_as_nothing_comes() -> None:
    outcome, _ = played(OPEN + "+0 expect none for 200ms\n", {0: [SYN_ACK]})
    assert told(outcome) == []
    assert outcome.seconds == pytest.approx(0.2)


def test_what_comes_while_it_is_asked_for_breaks_the_silence() -> None:
    script = SYN + "+0 expect none for 200ms\n"
    outcome, _ = played(script, {0: [SYN_ACK]}, busy=30_000)
    assert told(outcome) == ["4: a packet came"]
    assert only(outcome).expected == "nothing"


@pytest.mark.parametrize("call", ["fcntl(3, F_SETFL, 0) = 0", "listen(3, 9) = 0"])
def test_what_no_packet_has_taken_breaks_the_silence(call: str) -> None:
    script = OPEN + f"+.01 {call}\n+0 expect none for 20ms\n"
    coming: list[Reply] = [(3, "P. 1:6(5) ack 1")]
    assert told(played(script, {0: [SYN_ACK], 1: coming})[0]) == ["7: a packet came"]
    assert told(played(script, {0: [SYN_ACK]})[0]) == []


def test_an_answer_on_ports_that_no_expected_packet_names_breaks_the_silence() -> None:
    answer: Reply = (0, "S. 0:0(0) ack 1")
    script = LISTEN + "+0 < 5000 > 8080 S 0:0(0) win 1\n+0 expect none for 20ms\n"
    assert told(played(script, {0: [answer]}, busy=30_000)[0]) == ["4: a packet came"]
    # Nobody asked for the first answer, nor forbade it.
    script = LISTEN + "+0 < 5000 > 8080 S 0:0(0) win 1\n+0 < 5001 > 8080 S 0:0(0) win 1\n"
    script += "+0 expect none for 20ms\n"
    assert told(played(script, {0: [answer]}, busy=30_000)[0]) == []
    assert told(played(script, {1: [answer]}, busy=30_000)[0]) == ["5: a packet came"]


# ICMP.

ICMP = unreachable(
    Segment(src=REMOTE, dst=LOCAL, sport=40000, dport=8080).to_bytes(), code=3
).to_bytes()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("+.03 > icmp unreachable port_unreachable [1:1(0)]", ""),
        ("+.03 > icmp type_3 code_3 [1:1(0)]", ""),
        ("+.03 > icmp KIND CODE [1:1(0)]", ""),
        ("+.03 > icmp unreachable host_unreachable", "type and code: expected 3, 1, got 3, 3"),
        ("+.03 > icmp nonsense", "IPv4 has no ICMP type nonsense"),
        ("+1 > icmp unreachable port_unreachable", "time: expected 1.000000 s, got 0.030000 s"),
    ],
)
def test_an_icmp_error_of_the_kernel(line: str, problem: str) -> None:
    define = "--define=KIND=unreachable\n--define=CODE=port_unreachable\n"
    outcome, _ = played(define + SYN + line, {0: [(30, ICMP)]})
    assert [each.problem[: len(problem)] for each in outcome.failures] == [problem] * bool(problem)


def test_an_icmp_error_that_does_not_come() -> None:
    outcome, _ = played(SYN + "+5 > icmp unreachable port_unreachable", {0: [(8000, ICMP)]})
    assert told(outcome) == ["4: no packet came"]
    outcome, _ = played(SYN + "+5 > icmp unreachable port_unreachable", {0: [(5000, ICMP)]})
    assert told(outcome) == []


def test_an_icmp_error_breaks_the_silence() -> None:
    outcome, _ = played(SYN + "+0 expect none for 100ms\n", {0: [(50, ICMP)]})
    assert told(outcome) == ["4: a packet came"]
    assert only(outcome).actual == "> icmp unreachable port_unreachable"
    assert told(played(SYN + "+0 expect none for 100ms\n", {0: [(101, ICMP)]})[0]) == []


def test_an_icmp_error_to_the_kernel() -> None:
    script = OPEN + "+0 < icmp unreachable host_unreachable [1:11(10)]\n"
    outcome, _ = played(script, {0: [SYN_ACK]})
    assert told(outcome) == []
    outcome, _ = played(LISTEN + "+0 < icmp unreachable host_unreachable [1:11(10)]\n", {})
    assert "there is no connection" in only(outcome).problem


# What cannot be.


def test_a_packet_that_cannot_be_built() -> None:
    outcome, kernel = played(LISTEN + "+0 < S 0:0(0) win 1 <FO COOKIE>\n", {})
    assert only(outcome).problem == ("cannot be sent: COOKIE is not defined: give -D COOKIE=VALUE")
    assert kernel.got == []


def test_a_packet_that_the_kernel_does_not_take() -> None:
    outcome, _ = played(SYN, {}, refuses=True)
    assert only(outcome).problem == "cannot be sent: the kernel takes no such packet"


def test_a_value_that_stands_for_nothing() -> None:
    outcome, _ = played(SYN + "+0 > S. 0:0(0) ack 1 <mss MSS>\n", {0: [SYN_ACK]})
    assert only(outcome).problem == "MSS is not defined: give -D MSS=VALUE"
