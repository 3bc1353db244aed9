"""Scripts against targets that run nothing of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.checks.mutation import breaks
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.remote.run import run_remote
from scapy_tfo.segment import Segment
from tests.pkt.remotely import LISTENER, own_tasks, run_text

ASK_AND_USE = f"""\
{LISTENER}
+0 < 5000 > 8080 S 0:0(0) win 65535 <mss 1460,FO,nop,nop>
+0 > 8080 > 5000 S. 0:0(0) ack 1 <mss *,FO *=$C,nop,nop>
+0 < 5000 > 8080 R. 1:1(0) ack 1 win 65535
+0 < 5001 > 8080 S 0:10(10) win 65535 <mss 1460,FO $C,nop,nop>
+0 > 8080 > 5001 S. 0:0(0) ack 11 <mss *>
+0 accept(3, ..., ...) = 4
+0 read(4, ..., 512) = 10
+0 write(4, ..., 10) = 10
+0 > 8080 > 5001 P. 1:11(10) ack 11
"""
"""The cookie of the first connection, in line 7, opens the second; the answer is in line 14."""


def failing_lines(answer: object) -> list[int]:
    assert isinstance(answer, Outcome), answer
    return [failure.line for failure in answer.failures]


def packets_of(outcome: Outcome) -> Iterator[tuple[bool, Segment]]:
    for packet in outcome.packets:
        yield packet.inbound, Segment.read_back(packet.data)


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_our_scripts_pass_on_the_reference(version: str) -> None:
    tasks = own_tasks(version)
    answers = dict(run_remote(tasks, "sim:reference"))
    assert len(tasks) >= 10
    assert {tasks[number].name: failing_lines(each) for number, each in answers.items()} == {
        task.name: [] for task in tasks
    }


@pytest.mark.parametrize("target", ["lab:reference", "lab:linux"])
def test_our_scripts_pass_on_live_targets(target: str) -> None:
    tasks = own_tasks()
    try:
        answers = dict(run_remote(tasks, target))
    except SetupError as error:
        pytest.skip(str(error))
    assert [failing_lines(answers[number]) for number in range(len(tasks))] == [[]] * len(tasks)


@pytest.mark.parametrize(
    ("mutant", "line", "what"),
    [
        ("answer-waits-for-the-ack", 14, "flags"),
        ("acks-one-byte-too-few", 10, "ack"),
        ("acks-one-byte-too-many", 10, "ack"),
        ("grants-no-cookie", 7, "options"),
        ("answers-in-the-experimental-form", 7, "option"),
    ],
)
def test_a_mutant_fails_where_it_is_wrong(mutant: str, line: int, what: str) -> None:
    answer = run_text(ASK_AND_USE, f"sim:{mutant}")
    assert isinstance(answer, Outcome)
    first = answer.failures[0]
    assert first.line == line
    assert what in [difference.what for difference in first.differences]


@pytest.mark.parametrize(
    "mutant",
    ["accepts-any-cookie", "ack-stops-at-zero", "ignores-rst", "plain-data-is-accepted"],
)
def test_a_mutant_fails_one_of_our_scripts(mutant: str) -> None:
    answers = [answer for _, answer in run_remote(own_tasks(), f"sim:{mutant}")]
    assert any(isinstance(each, Outcome) and each.failures for each in answers)


OPEN = f"""\
{LISTENER}
+0 < S 0:0(0) win 65535 <mss 1460>
+0 > S. 0:0(0) ack 1 <...>
+0 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{LISTENER}+0 < S 0:0(0) win 65535\n+0 expect none for 50ms\n", 6),
        (f"{LISTENER}+0 < 5000 > 8080 S 0:0(0) win 65535\n+0 expect none for 50ms\n", 6),
        (f"{OPEN}+0 < P. 1:11(10) ack 1 win 65535\n+0 expect none for 50ms\n", 11),
    ],
    ids=["SYN-ACK", "on named ports", "ACK"],
)
@pytest.mark.parametrize("target", ["sim:reference", "lab:reference", "lab:linux"])
def test_what_the_target_answers_at_once_breaks_a_silence(
    target: str, text: str, line: int
) -> None:
    try:
        answer = run_text(text, target)
    except SetupError as error:
        pytest.skip(str(error))
    assert line in failing_lines(answer)


def test_in_a_silence_what_says_nothing_new_is_forgiven() -> None:
    # The acceptable ACK of RFC 9293 section 3.10.7.4 for a segment that came twice.
    twice = f"""\
{OPEN}
+0 < P. 1:11(10) ack 1 win 65535
+0 > . 1:1(0) ack 11
+0 read(4, ..., 512) = 10
+0 write(4, ..., 10) = 10
+0 > P. 1:11(10) ack 11
+0 < P. 1:11(10) ack 11 win 65535
+0 expect none for 50ms
"""
    assert failing_lines(run_text(twice)) == []
    assert failing_lines(run_text(twice.replace("1:11(10) ack 11 w", "11:21(10) ack 11 w")))


def test_the_cookie_that_came_is_the_one_that_goes() -> None:
    outcome = run_text(ASK_AND_USE)
    assert isinstance(outcome, Outcome)
    assert not outcome.failures
    packets = list(packets_of(outcome))
    [granted] = {each.cookie for ours, each in packets if not ours and each.cookie}
    assert [each.cookie for ours, each in packets if ours and each.cookie] == [granted]


def test_the_ports_of_a_script_stand_for_free_ones_and_for_the_listeners() -> None:
    outcome = run_text(ASK_AND_USE)
    assert isinstance(outcome, Outcome)
    ours = [each for sent, each in packets_of(outcome) if sent]
    assert len({each.sport for each in ours}) == 2
    assert {5000, 5001}.isdisjoint(each.sport for each in ours)
    assert len({each.dport for each in ours}) == 1


def test_a_script_may_use_one_port_again_after_a_reset() -> None:
    text = ASK_AND_USE.replace("5001", "5000")
    assert failing_lines(run_text(text)) == []


def test_unnamed_connections_have_a_port_each() -> None:
    text = f"""\
{LISTENER}
+0 < S 0:0(0) win 65535 <mss 1460,FO,nop,nop>
+0 > S. 0:0(0) ack 1 <mss *,FO *=$C,nop,nop>
+0 < R. 1:1(0) ack 1 win 65535
+0 close(3) = 0
{LISTENER.replace("0 socket", "+0 socket")}
+0 < S 0:10(10) win 65535 <mss 1460,FO $C,nop,nop>
+0 > S. 0:0(0) ack 11 <mss *>
"""
    outcome = run_text(text)
    assert failing_lines(outcome) == []
    assert isinstance(outcome, Outcome)
    assert len({each.sport for ours, each in packets_of(outcome) if ours}) == 2


def test_what_is_assumed_is_told() -> None:
    text = "`sysctl -q net.ipv4.tcp_fastopen=2`\n" + ASK_AND_USE + "+0 %{ assert tcpi_state == 1 }%"
    outcome = run_text(text)
    assert isinstance(outcome, Outcome)
    assert not outcome.failures
    assert outcome.notes == [
        "assumed: `sysctl -q net.ipv4.tcp_fastopen=2`",
        "not checked: %{ }%, since a target does not show its tcp_info",
    ]


def test_a_wrong_value_is_told_with_both_packets() -> None:
    outcome = run_text(ASK_AND_USE.replace("P. 1:11(10) ack 11", "P. 1:11(10) ack 12"))
    assert isinstance(outcome, Outcome)
    [failure] = outcome.failures
    assert failure.line == 14
    assert failure.expected == "> 8080 > 5001 P. 1:11(10) ack 12"
    assert failure.actual.startswith("> 8080 > 5001 P. 1:11(10) ack 11")


def test_a_script_of_an_ip_version_that_the_target_has_not_is_not_run() -> None:
    with pytest.raises(SetupError, match="no IPv6 address"):
        run_text(ASK_AND_USE, "127.0.0.1:7413", settings=Settings(version="ipv6"))


def test_the_application_of_a_known_target_is_not_to_be_assumed_wrongly() -> None:
    with pytest.raises(SetupError, match="runs echo: give --assume-app echo"):
        run_text(f"{LISTENER}+0 < S 0:0(0) win 9\n+0 > S. 0:0(0) ack 1 <...>\n", app="http")


def test_an_unknown_target_and_an_unknown_application_are_told() -> None:
    with pytest.raises(SetupError, match="no such stack: 'nosuch'"):
        run_text(ASK_AND_USE, "sim:nosuch")
    with pytest.raises(SetupError, match="unknown application 'smtp'"):
        run_text(ASK_AND_USE, app="smtp")


def test_a_broken_script_fails_or_is_refused_at_the_broken_line() -> None:
    tasks, lines = [], []
    for task in own_tasks():
        # A stack elsewhere may have coarse timers, so moments are not judged there.
        left_alone = "result", "time under a tick"
        found = [each for each in breaks(parse(task.text), {}) if each.kind not in left_alone]
        for each in found[:: max(len(found) // 3, 1)]:
            tasks.append(replace(task, text=each.text))
            lines.append(each.line)
    answers = dict(run_remote(tasks, "sim:reference"))
    assert [failing_lines(answers[number])[:1] for number in range(len(tasks))] == [
        [line] for line in lines
    ]


LEGAL = [
    "answers-after-the-handshake",
    "answers-in-the-syn-ack",
    "answers-slowly",
    "cookies-for-one-use",
    "keeps-the-data-of-a-plain-syn",
    "kind-34-alone",
    "no-cookies-needed",
    "no-mss-for-the-default",
    "no-timestamps",
    "syn-ack-of-no-window",
    "takes-ten-bytes-of-a-syn",
    "variants-row-1",
    "variants-row-7",
    "variants-row-8",
]


@pytest.mark.parametrize("stack", LEGAL)
def test_no_script_blames_a_legal_stack(stack: str) -> None:
    """`make variants` runs them against all of them."""
    answers = [answer for _, answer in run_remote(own_tasks(), f"sim:{stack}")]
    blamed = [each.failures for each in answers if isinstance(each, Outcome) and each.failures]
    assert blamed == []
    skipped = [str(each) for each in answers if not isinstance(each, Outcome)]
    assert all("cannot judge it" in each for each in skipped)


@pytest.mark.parametrize(
    ("needs", "stack", "why"),
    [
        ("needs_cookie", "grants-no-cookie", "grants no cookie"),
        ("needs_timestamps", "no-timestamps", "has no timestamps"),
    ],
)
def test_a_script_that_needs_what_is_lacking_is_skipped(needs: str, stack: str, why: str) -> None:
    text = (
        f"{LISTENER}+0 < S 0:0(0) win 65535 <mss 1460,TS val 1 ecr 0,FO,nop,nop,nop,nop>\n"
        "+0 > S. 0:0(0) ack 1 <TS val * ecr 1,FO *,...>\n"
    )
    assert failing_lines(run_text(text, f"sim:{stack}"))
    answer = run_text(f"--{needs}\n{text}", f"sim:{stack}")
    assert isinstance(answer, SetupError)
    assert why in str(answer)
    assert failing_lines(run_text(f"--{needs}\n{text}")) == []


@pytest.mark.parametrize(
    ("options", "fails"), [("<FO *,...>", []), ("<FO *>", [6]), ("<sackOK,...>", [6])]
)
def test_other_options_may_come_as_well(options: str, fails: list[int]) -> None:
    sent = "+0 < S 0:0(0) win 65535 <mss 1460,FO,nop,nop>"
    text = f"{LISTENER}{sent}\n+0 > S. 0:0(0) ack 1 {options}\n"
    assert failing_lines(run_text(text)) == fails


@pytest.mark.parametrize(("second", "fails"), [("5001@2", []), ("5001", [8])])
def test_a_cookie_is_not_that_of_another_address(second: str, fails: list[int]) -> None:
    text = f"""\
{LISTENER}+0 < 5000 > 8080 S 0:0(0) win 65535 <mss 1460,FO,nop,nop>
+0 > 8080 > 5000 S. 0:0(0) ack 1 <FO *=$C,...>
+0 < {second} > 8080 S 0:0(0) win 65535 <mss 1460,FO,nop,nop>
+0 > 8080 > {second} S. 0:0(0) ack 1 <FO !$C,...>
"""
    assert failing_lines(run_text(text)) == fails


def test_listeners_of_a_script_are_those_of_the_target() -> None:
    text = f"""\
{LISTENER}+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0 bind(4, {{sin_port=htons(8081)}}, ...) = 0
+0 listen(4, 5) = 0
+0 < 5000 > 8080 S 0:0(0) win 65535 <mss 1460,FO,nop,nop>
+0 > 8080 > 5000 S. 0:0(0) ack 1 <mss *,FO *=$C>
+0 < 5001 > 8081 S 0:1(1) win 65535 <mss 1460,FO $C,nop,nop>
+0 > 8081 > 5001 S. 0:0(0) ack 1 <mss *>
"""
    assert failing_lines(run_text(text)) == []


def test_a_limit_of_four_is_that_of_the_target() -> None:
    lines = [LISTENER.replace("[5], 4", "[4], 4").rstrip()]
    lines += ["+0 < 5000 > 8080 S 0:0(0) win 65535 <mss 1460,FO,nop,nop>"]
    lines += ["+0 > 8080 > 5000 S. 0:0(0) ack 1 <FO *=$C,...>"]
    for port, ack in ((5001, 2), (5002, 2), (5003, 2), (5004, 2), (5005, 1)):
        lines += [f"+0 < {port} > 8080 S 0:1(1) win 65535 <mss 1460,FO $C,nop,nop>"]
        lines += [f"+0 > 8080 > {port} S. 0:0(0) ack {ack} <...>"]
    text = "\n".join(lines) + "\n"
    assert failing_lines(run_text(text)) == []
    assert failing_lines(run_text(text.replace("[4], 4", "[5], 4"))) == [16]
