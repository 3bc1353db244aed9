"""Scripts broken on purpose: fields that change, fields left alone, and runs that fail there."""

from __future__ import annotations

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.checks.lint import refuse_nonsense
from scapy_tfo.pkt.checks.mutation import Break, breaks, choose
from scapy_tfo.pkt.checks.portable import refuse_additions
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.library import SLOW, find_scripts, own_directory, task_of
from scapy_tfo.pkt.local.pool import run_all
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome

SYMBOLS = {"COOKIE": "0011223344556677"}
OWN = [
    task_of(script, script.versions[0], Settings(), {})
    for script in find_scripts([str(own_directory())])
    if not script.path.name.endswith(SLOW)
]
SAMPLE = OWN[::15]
"""A few of server and client each, so that to run them takes seconds."""


def of(event: str, kind: str = "", before: str = "") -> list[str]:
    """The event as it stands in each break of this kind, without its time."""
    text = f"{before}\n+0 {event}\n"
    found = [each for each in breaks(parse(text), SYMBOLS) if kind in ("", each.kind)]
    shown = [each.text.split("\n")[each.line - 1].strip() for each in found]
    return [each.partition(" ")[2] for each in shown]


@pytest.mark.parametrize(
    ("event", "kind", "broken"),
    [
        ("> . 1:1(0) ack 2", "seq", ["> . 2:2(0) ack 2"]),
        ("> . 4294967295:0(1) ack 2", "seq", ["> . 0:1(1) ack 2"]),
        ("> . 1:1(0) ack 2", "length", ["> . 1:2(1) ack 2"]),
        ("> P. 1:11(10) ack 2", "length", ["> P. 1:10(9) ack 2"]),
        ("> . 1:1(0) ack 2", "ack", ["> . 1:1(0) ack 3"]),
        ("> . 1:1(0) ack 2 win 65535", "win", ["> . 1:1(0) ack 2 win 65534"]),
        ("> U. 1:2(1) ack 2 urg 1", "urg", ["> U. 1:2(1) ack 2 urg 0"]),
        ("> [ect01] . 1:1(0) ack 2", "ECN", ["> [noecn] . 1:1(0) ack 2"]),
        ("> S 0:0(0) <mss 1460>", "mss", ["> S 0:0(0) <mss 1461>"]),
        ("> S 0:0(0) <nop,wscale 14>", "wscale", ["> S 0:0(0) <nop,wscale 13>"]),
        (
            "> S 0:0(0) <FO COOKIE,nop,nop>",
            "cookie",
            [
                "> S 0:0(0) <FO 8011223344556677,nop,nop>",
                "> S 0:0(0) <FO 0011223344556676,nop,nop>",
            ],
        ),
        (
            "> . 1:1(0) ack 2 <nop,nop,sack 5:9>",
            "SACK edge",
            ["> . 1:1(0) ack 2 <nop,nop,sack 6:9>", "> . 1:1(0) ack 2 <nop,nop,sack 5:10>"],
        ),
        ("> S 0:0(0) <FO,nop,nop>", "option left out", ["> S 0:0(0) <nop,nop,nop,nop>"]),
        ("> S 0:0(0) <FO,nop,nop>", "option twice", ["> S 0:0(0) <FO,FO,nop,nop,nop,nop>"]),
        ("> S 0:0(0) <FO,nop,nop>", "option kind", ["> S 0:0(0) <FOEXP>"]),
        ("> S 0:0(0) <FOEXP>", "option kind", ["> S 0:0(0) <FO,nop,nop>"]),
        ("read(4, ..., 512) = 10", "result", ["read(4, ..., 512) = 11"]),
        ("accept(3, ..., ...) = 4", "result", ["accept(3, ..., ...) = -1"]),
        ("close(3) = -1 EBADF (x)", "result", ["close(3) = 0 EBADF (x)"]),
        ("close(3) = -1 EBADF (x)", "errno", ["close(3) = -1 EINVAL (x)"]),
        (
            "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1",
            "answer",
            ["poll([{fd=4, events=POLLIN, revents=0}], 1, 0) = 1"],
        ),
    ],
)
def test_a_field_is_wrong_by_little(event: str, kind: str, broken: list[str]) -> None:
    assert of(event, kind) == broken


def test_flags_come_and_go() -> None:
    shown = of("> P. 1:11(10) ack 2", "flags")
    assert {each.split()[1] for each in shown} == {".", "FP.", "UP.", "EP.", "WP."}
    assert of("> - 1:1(0)", "flags") == []


def test_times_are_far_off() -> None:
    text = "+0.2 > . 1:1(0) ack 2\n0...0.1 read(4, ..., 512) = 10\n* > . 1:1(0) ack 2\n"
    found = [each for each in breaks(parse(text), {}) if "time" in each.kind]
    shown = [each.text.split("\n")[each.line - 1].split()[0] for each in found]
    assert shown == ["+1.4", "+0.05", "0...1.2", "0...0.025"]


def test_an_answer_is_expected_a_moment_later_than_at_once() -> None:
    answer = "> . 1:1(0) ack 2"
    for before, times in (
        ("+0 < . 1:2(1) ack 1 win 9", ["+0.003"]),
        ("+0 > . 1:1(0) ack 2", []),
        ("+0 write(4, ..., 1) = 1", []),
        ("+0...0.1 read(4, ..., 1) = 1\n+0 < . 1:2(1) ack 1 win 9", []),
    ):
        text = f"{before}\n+0 {answer}\n"
        found = [each for each in breaks(parse(text), {}) if each.kind == "time under a tick"]
        assert [each.text.split("\n")[each.line - 1].split()[0] for each in found] == times


def test_a_time_stamp_is_wrong_where_it_is_a_time() -> None:
    packets = "".join(
        f"+.01 > . 1:1(0) ack 2 <nop,nop,TS val {value} ecr 1>\n" for value in (100, 110)
    )
    for head, values in ((f"--tcp_ts_tick_usecs=1000\n{packets}", ["106", "140"]), (packets, [])):
        found = [each for each in breaks(parse(head), {}) if each.kind == "TS val"]
        shown = [each.text.split("\n")[each.line - 1] for each in found]
        assert [each.split("TS val ")[1].split()[0] for each in shown] == values


@pytest.mark.parametrize(
    "event",
    [
        "< . 1:1(0) ack 2 win 100 <mss 1460>",
        "%{ assert True }%",
        "`true`",
        "expect none for 200ms",
        "read(4, ..., 512) = ...",
    ],
)
def test_what_expects_nothing_is_left_alone(event: str) -> None:
    assert of(event) == []


@pytest.mark.parametrize(
    ("text", "silence"),
    [
        ("+.2 > . 1:1(0) ack 2\n", ["+0 expect none for 300ms"]),
        ("+.2~+.3 > . 1:1(0) ack 2\n", ["+0 expect none for 400ms"]),
        ("1.5 > . 1:1(0) ack 2\n", ["+0 expect none for 1600ms"]),
        ("+0 > . 1:1(0) or > R 1:1(0)\n", ["+0 expect none for 100ms"]),
        ("+0 > icmp unreachable port_unreachable\n", ["+0 expect none for 100ms"]),
        ("* > . 1:1(0) ack 2\n", []),
        ("+0 > . 1:1(0) ack 2 or none\n", []),
        (
            "+0 expect none for 50ms\n+.2 > . 1:1(0) ack 2\n",
            ["+0 expect none for 350ms", "+0 expect none for 300ms"],
        ),
        ("+0 expect none for 50ms\n+.2 < . 1:1(0) ack 2 win 9\n", []),
    ],
)
def test_nothing_is_expected_where_a_packet_comes(text: str, silence: list[str]) -> None:
    found = [each for each in breaks(parse(text), {}) if each.kind == "expect none"]
    shown = [each.text.split("\n")[each.line - 1].strip() for each in found]
    assert [" ".join(each.split()) for each in shown] == silence


def test_a_silence_for_a_packet_is_an_addition() -> None:
    portable = {each.kind: each.is_as_portable for each in breaks(parse("+0 > . 1:1(0)\n"), {})}
    assert not portable.pop("expect none")
    assert portable
    assert all(portable.values())


def test_a_silence_does_not_keep_a_blocked_call_waiting() -> None:
    text = "+0...0.02 read(4, ..., 9) = 9\n+.01 > . 1:1(0)\n+.05 > F. 1:1(0)\n"
    found = [each.line for each in breaks(parse(text), {}) if each.kind == "expect none"]
    assert found == [3]


def test_what_is_not_compared_is_left_alone() -> None:
    first = "> S 0:0(0) <mss *,TS val 1 ecr 2,FO *,nop,nop,nop,nop>"
    assert of(first, "mss") == of(first, "cookie") == of(first, "seq") == of(first, "win") == []
    assert of(first, "seq", before="+0 " + first), "the second SYN has the same ISN"
    assert of("> . 1:1(0) ack 2 <...>", "option left out") == []


def test_what_a_later_event_needs_stays() -> None:
    text = "+0 > S 0:0(0) <FO *=$C,nop,nop>\n+0 < S 0:0(0) win 9 <FO $C,nop,nop>\n"
    found = breaks(parse(text), {})
    assert found
    assert all("$C" in each.text.split("\n")[0] for each in found)


@pytest.mark.parametrize("task", SAMPLE[::3], ids=lambda task: task.name.rpartition("/")[2])
def test_a_broken_script_is_a_script_and_no_less_portable(task: Task) -> None:
    script = parse(task.text, task.name)
    for each in breaks(script, task.settings.symbols)[::9]:
        again = parse(each.text)
        refuse_nonsense(again, each.text, task.name)
        assert again == each.script
        changed = [
            new.at.line for old, new in zip(script.events, again.events, strict=True) if old != new
        ]
        assert changed == [each.line]
        if is_portable(task.text) and each.is_as_portable:
            refuse_additions(again, each.text, task.name)


def is_portable(text: str) -> bool:
    try:
        refuse_additions(parse(text), text, "script")
    except ScriptError:
        return False
    return True


def test_the_choice_is_that_of_the_seed_and_meets_all_kinds() -> None:
    task = SAMPLE[0]
    found = breaks(parse(task.text), task.settings.symbols)
    chosen = [choose(found, f"{number}") for number in range(200)]
    assert chosen == [choose(found, f"{number}") for number in range(200)]
    assert {each.kind for each in chosen if each} == {each.kind for each in found}
    assert choose((), "0") is None


def test_the_run_of_a_broken_script_fails_at_the_broken_line() -> None:
    pairs = list(map(broken, SAMPLE))
    wrong = []
    for number, answer in run_all([task for task, _ in pairs], jobs=8):
        task, broke = pairs[number]
        if isinstance(answer, SetupError) and not isinstance(answer, ScriptError):
            pytest.skip(str(answer))
        assert isinstance(answer, Outcome), answer
        if [failure.line for failure in answer.failures][:1] != [broke.line]:
            wrong.append((task.name, broke.line, broke.what, answer.failures))
    assert not wrong


def broken(task: Task) -> tuple[Task, Break]:
    # A busy kernel does not answer at once.
    found = breaks(parse(task.text), task.settings.symbols)
    steady = tuple(each for each in found if each.kind != "time under a tick")
    chosen = choose(steady, task.name.rpartition("/")[2])
    assert chosen is not None
    return Task(task.name, chosen.text, task.directory, task.settings), chosen
