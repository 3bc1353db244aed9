"""Scripts on this host's kernel: runs that pass, and the messages of runs that fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.settings import VERSIONS
from scapy_tfo.pkt.local import actions, wire
from scapy_tfo.pkt.local.scheduling import can_hurry
from tests.pkt.locally import LISTEN, OPEN, SOCKET, answers, outcome, task, told

CLIENT = SOCKET + (
    "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
    "+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n"
    "+0 > S 0:0(0) <...>\n"
    "+0 < S. 500:500(0) ack 1 win 1000 <mss 1000>\n"
    "+0 > . 1:1(0) ack 1\n"
    "+0 write(3, ..., 10) = 10\n"
    "+0 > P. 1:11(10) ack 1\n"
)

STAMPED = LISTEN + (
    "+0 < S 0:0(0) win 1000 <mss 1460,sackOK,TS val 1 ecr 0>\n"
    "+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 1>\n"
    "+.02 < P. 1:11(10) ack 1 win 1000 <nop,nop,TS val 2 ecr 100>\n"
    "+0 > . 1:1(0) ack 11 <nop,nop,TS val VALUE ecr 2>\n"
)
"""Seven lines, and the last is the eighth where a line stands before it."""


# What passes.


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("script", [OPEN, CLIENT], ids=["server", "client"])
def test_a_short_script_passes(script: str, version: str) -> None:
    found = outcome(script, version=version, mtu=1520 if version == "ipv6" else None)
    assert found.failures == []
    assert len(found.packets) >= 3
    assert found.flow


@pytest.mark.parametrize(
    ("host", "set_up", "wanted"),
    [("cubic", "cubic", ""), ("bbr", "bbr", "cubic"), ("bbr", "reno", "")],
)
def test_sockets_have_what_scripts_are_written_for_or_choose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, set_up: str, wanted: str
) -> None:
    file = tmp_path / "tcp_congestion_control"
    file.write_text(f"{set_up}\n")
    monkeypatch.setattr(wire, "_CONTROL", file)
    assert wire.control_wanted(host) == wanted


def test_a_script_needs_no_netlink_library(tmp_path: Path) -> None:
    outcome(OPEN)  # skips where scripts cannot be run
    file = tmp_path / "a.pkt"
    file.write_text(OPEN + "+0 %{ import sys; assert 'pyroute2' not in sys.modules }%\n")
    command = [sys.executable, "-m", "scapy_tfo", "pkt", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_time_stamp_is_a_time_where_the_script_says_what_a_tick_takes() -> None:
    script = STAMPED.replace("VALUE", "121")
    assert told(script) == told("--tcp_ts_tick_usecs=1000\n" + script) == []
    script = STAMPED.replace("VALUE", "150")
    assert told(script) == []
    (problem,) = told("--tcp_ts_tick_usecs=1000\n" + script)
    assert problem.startswith("8: TS val: expected 150, got 12")


def test_symbols_stand_for_values() -> None:
    script = OPEN.replace("<mss 1460>", "<mss MSS>")
    assert told(script, symbols={"MSS": "1460"}) == []
    assert told(script, symbols={"MSS": "1400"}) == ["5: mss: expected mss MSS, got mss 1460"]
    (answer,) = answers(task(script))
    assert isinstance(answer, ScriptError)
    assert (answer.line, answer.problem) == (5, "MSS is not defined: give -D MSS=VALUE")


def test_code_looks_at_the_connection() -> None:
    found = outcome(OPEN + "+0 %{ assert tcpi_state == TCP_ESTABLISHED, tcpi_state; print(7) }%\n")
    assert found.failures == []
    assert found.notes == ["line 8: 7"]


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (LISTEN + "+0 < S 0:0(0) win 65535 <mss 1460>\n+0 expect none for 50ms\n", 5),
        (OPEN + "+0 write(4, ..., 10) = 10\n+0 expect none for 50ms\n", 9),
        (OPEN + "+0 < P. 1:11(10) ack 1 win 1000\n+0 expect none for 50ms\n", 9),
    ],
    ids=["SYN-ACK", "written data", "ACK"],
)
def test_what_the_kernel_answers_at_once_breaks_a_silence(script: str, line: int) -> None:
    assert told(script) == [f"{line}: a packet came"]


def test_commands_before_between_and_behind() -> None:
    script = "`sysctl -q net.ipv4.tcp_fastopen=0`\n" + LISTEN
    script += "+0 `test $(cat /proc/sys/net/ipv4/tcp_fastopen) = 0`\n`true`\n"
    assert told(script) == []


@pytest.mark.skipif(not can_hurry(), reason="this host gives no priority")
def test_a_command_between_events_has_the_scripts_priority() -> None:
    # Field 41 of proc_pid_stat(5): the policy; 2 is SCHED_RR.
    policy = "cut -d ' ' -f 41 /proc/self/stat"
    assert told(SOCKET + f'+0 `test "$({policy})" = 2`\n') == []


def test_a_call_that_blocks_returns_when_it_should() -> None:
    script = LISTEN + "+0...0.05 accept(3, ..., ...) = 4\n+.01 < S 0:0(0) win 9\n"
    script += "+0 > S. 0:0(0) ack 1 <...>\n.05 < . 1:1(0) ack 1 win 9\n"
    assert told(script) == []


def test_without_packets_and_without_events() -> None:
    assert told(SOCKET) == []
    for text in ("", "// said\n", "`true`\n"):
        (answer,) = answers(task(text))
        assert isinstance(answer, ScriptError)
        assert answer.problem == "the script has no events"


# What does not.


def test_a_wrong_packet_is_told_at_its_line() -> None:
    (failure,) = outcome(OPEN.replace("ack 1 <mss 1460>", "ack 2 <mss 1400>")).failures
    assert failure.line == 5
    assert failure.expected == "> S. 0:0(0) ack 2 <mss 1400>"
    assert failure.actual.startswith("> S. 0:0(0) ack 1 win ")
    assert [each.what for each in failure.differences] == ["ack", "mss"]


def test_a_wrong_result_is_told_and_the_run_goes_on() -> None:
    script = OPEN + "+0 read(4, ..., 10) = 5\n+0 close(9) = 0\n+0 close(4) = 0\n"
    script = script.replace("+0 read", "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 read")
    first, second = told(script)
    assert (
        first == "9: result of read(): expected 5, got -1 EAGAIN (Resource temporarily unavailable)"
    )
    assert second.startswith("10: ")


def test_a_call_that_should_not_block_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "_LONGEST_CALL", 0.1)
    script = LISTEN + "+0 accept(3, ..., ...) = 4\n+0 close(3) = 0\n"
    assert told(script) == ["4: it blocked, and was interrupted after 0.1 s"]


def test_a_call_that_never_returns_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "_STILL_BLOCKED", 0.05)
    assert told(LISTEN + "+0...0.01 accept(3, ..., ...) = 4\n") == ["4: it has not returned"]


def test_a_call_that_returns_too_early_is_told() -> None:
    script = LISTEN + "+0...0.2 accept(3, ..., ...) = 4\n+0 < S 0:0(0) win 9\n"
    script += "+0 > S. 0:0(0) ack 1 <...>\n+0 < . 1:1(0) ack 1 win 9\n"
    (failure,) = outcome(script).failures
    assert failure.line == 4
    assert failure.problem.startswith("time of its return: expected 0.2")


def test_calls_that_cannot_be_made() -> None:
    (problem,) = told(SOCKET + "+0 close(7) = 0\n")
    assert problem.startswith("2: ")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("exit 3", "ended with status 3: and said nothing"),
        ("echo one; echo two >&2; exit 1", "ended with status 1: two"),
        ("no-such-command-here", "no-such-command-here"),
        ("sleep 60", "did not end within 0.2 s"),
    ],
)
def test_a_command_that_fails(command: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "_LONGEST_COMMAND", 0.2 if "sleep" in command else 60)
    (one,) = told(f"{SOCKET}+0 `{command}`\n")
    assert one.startswith("2: ")
    assert problem in one
    (one,) = told(f"`{command}`\n{OPEN}")
    assert one.startswith("1: ")


def test_what_a_command_leaves_in_the_background_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(actions, "_LONGEST_COMMAND", 5)
    assert told(SOCKET + "+0 `sleep 60 &`\n") == []


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("assert 1 == 2, 'no'", "AssertionError: no"),
        ("assert 1 == 2", "AssertionError"),
        ("nonsense", "NameError: name 'nonsense' is not defined"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("1 +", "SyntaxError"),
    ],
)
def test_code_that_raises(code: str, problem: str) -> None:
    (one,) = told(f"{SOCKET}+0 %{{ {code} }}%\n+0 %{{ assert True }}%\n")
    assert one.startswith(f"2: {problem}")


def test_code_without_a_socket() -> None:
    assert told("0 %{ assert True }%") == [
        "1: no values for the code: the script has made no socket that code could read"
    ]


def test_a_packet_that_the_kernel_does_not_take_from_a_device() -> None:
    script = LISTEN + "+0 < S 0:0(0) win 1 with ip_len 20\n+0 close(3) = 0\n"
    assert all(each.startswith("4: cannot be sent") for each in told(script))


# What cannot be run.


@pytest.mark.parametrize(
    ("text", "place", "caret"),
    [
        ("0 close(3) = 0\n+0 close(3 = 0\n", "a.pkt:2:12:", 11),
        ("--mtu=5\n", "a.pkt:1:1:", 0),
        ("--local_ip=fd00::1\n" + OPEN, "a.pkt:1:1:", 0),
        (OPEN + "+0 > . 1:1(1) ack 1\n", "a.pkt:8:1:", 0),
    ],
)
def test_what_is_not_in_the_language_has_its_place(text: str, place: str, caret: int) -> None:
    (answer,) = answers(task(text))
    assert isinstance(answer, ScriptError)
    assert str(answer).startswith(place)
    assert answer.show().split("\n")[2] == " " * (2 + caret) + "^"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--local_ip=0.0.0.0\n", "cannot set up tun0 for 0.0.0.0"),
        ("--ip_version=ipv6\n--mtu=1000\n", "IPv6 needs an MTU of 1280 bytes or more, not 1000"),
    ],
)
def test_addresses_and_sizes_that_no_device_can_have(text: str, problem: str) -> None:
    (answer,) = answers(task(text + SOCKET))
    assert isinstance(answer, SetupError)
    assert str(answer).startswith(problem)
