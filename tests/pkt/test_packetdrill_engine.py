"""packetdrill itself as the engine: first a stand-in on PATH with set output, then the real one."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.local import packetdrill
from scapy_tfo.pkt.local.pool import Answer
from scapy_tfo.pkt.play.outcome import Failure, Outcome
from tests.pkt.locally import LISTEN, OPEN, SOCKET, answers, soon, task

DIFFERS = """a.pkt:6: error handling packet: live packet field tcp_data_offset: expected: 5 (0x5) \
vs actual: 6 (0x6)
script packet:  0.000120 S. 0:0(0) ack 1
actual packet:  0.000115 S. 0:0(0) ack 1 win 65535 <mss 1460>
"""


@pytest.fixture
def namespaces() -> None:
    answers(task(""))


def stand_in(place: Path, body: str) -> str:
    """A program called packetdrill; its path."""
    program = place / "bin" / "packetdrill"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return str(program)


def says(place: Path, text: str, status: int) -> str:
    return stand_in(place, f"printf %s {shlex.quote(text)}\nexit {status}")


def run(binary: str, text: str, place: Path, **more: Any) -> Answer:
    longest = more.pop("longest", 60.0)
    return packetdrill.run(binary, task(text, place, **more), longest=longest)


def failure(binary: str, place: Path, **more: Any) -> Failure:
    answer = run(binary, OPEN, place, **more)
    assert isinstance(answer, Outcome), answer
    (found,) = answer.failures
    return found


# What it says.


@pytest.mark.usefixtures("namespaces")
def test_a_script_that_passes(tmp_path: Path) -> None:
    answer = run(says(tmp_path, "something", 0), OPEN, tmp_path)
    assert isinstance(answer, Outcome)
    assert answer.failures == []


@pytest.mark.parametrize(
    ("said", "status", "expected"),
    [
        (
            DIFFERS,
            1,
            Failure(
                line=6,
                problem="handling packet: live packet field tcp_data_offset: expected: 5 (0x5) "
                "vs actual: 6 (0x6)",
                expected="0.000120 S. 0:0(0) ack 1",
                actual="0.000115 S. 0:0(0) ack 1 win 65535 <mss 1460>",
            ),
        ),
        (
            "a.pkt:3: runtime error in listen call: Expected result -1 but got 0\n",
            1,
            Failure(line=3, problem="in listen call: Expected result -1 but got 0"),
        ),
        ("a.pkt:2: parse error at ')'\n", 1, Failure(line=2, problem="at ')'")),
        ("something\n\nelse\n\n", 1, Failure(line=0, problem="else")),
        ("", 3, Failure(line=0, problem="it ended with status 3")),
    ],
)
@pytest.mark.usefixtures("namespaces")
def test_what_it_says_is_told_at_its_line(
    said: str, status: int, expected: Failure, tmp_path: Path
) -> None:
    assert failure(says(tmp_path, said, status), tmp_path) == expected


@pytest.mark.usefixtures("namespaces")
def test_it_gets_what_the_script_does_not_say_itself(tmp_path: Path) -> None:
    binary = stand_in(tmp_path, 'echo "$@"; exit 1')
    text = "--mtu=1300\n--tolerance_usecs=5\n" + SOCKET + "+0 > S 0:0(0) <FO COOKIE>\n"
    answer = run(binary, text, tmp_path, symbols={"COOKIE": "01", "OTHER": "2"}, mtu=1400)
    assert isinstance(answer, Outcome)
    words = answer.failures[0].problem.split()
    assert "--ip_version=ipv4" in words
    assert "--local_ip=192.168.0.1" in words
    assert "COOKIE=01" in words
    assert "OTHER=2" not in words
    assert not [each for each in words if each.startswith(("--mtu", "--tolerance_usecs"))]
    assert words[-1] == "a.pkt"


@pytest.mark.usefixtures("namespaces")
def test_it_has_a_namespace_of_its_own_and_runs_where_the_script_is(tmp_path: Path) -> None:
    binary = stand_in(tmp_path, "echo $(readlink /proc/self/ns/net) $PWD; exit 1")
    name, place = failure(binary, tmp_path).problem.split()
    assert name != Path("/proc/self/ns/net").readlink().name
    assert place == str(tmp_path)


@pytest.mark.usefixtures("namespaces")
def test_it_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    binary = stand_in(tmp_path, f"sleep 100 & echo $! > {tmp_path}/pid; sleep 100")
    found = failure(binary, tmp_path, longest=0.5)
    assert found.problem == "packetdrill did not end within 0.5 s"
    line = Path("/proc", (tmp_path / "pid").read_text().strip(), "cmdline")
    # Of one that has ended and waits to be buried it is empty.
    assert soon(lambda: not line.exists() or not line.read_bytes())


@pytest.mark.usefixtures("namespaces")
def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    program = tmp_path / "packetdrill"
    program.write_bytes(b"\x7fELFnonsense")
    program.chmod(0o755)
    answer = run(str(program), OPEN, tmp_path)
    assert isinstance(answer, SetupError)
    assert str(answer).startswith(f"cannot run {program}: ")


@pytest.mark.parametrize("text", ["0 close(\n", LISTEN + "+0 expect none for 1s\n"])
def test_what_it_would_not_understand_is_not_given_to_it(text: str, tmp_path: Path) -> None:
    assert isinstance(run("/nowhere/packetdrill", text, tmp_path), ScriptError)


# The command.


def test_where_there_is_none_it_is_said_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.pkt").write_text(SOCKET)
    for engine in ("packetdrill", "both"):
        assert main(["pkt", "run", str(tmp_path / "a.pkt"), "--engine", engine]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("scapy-tfo: packetdrill is not on PATH: Fedora")


@pytest.mark.parametrize(
    ("script", "theirs", "status", "told"),
    [
        (SOCKET, 0, 0, "2 pass"),
        (SOCKET, 1, 1, "the engines disagree on a.pkt [ipv4]: local pass, packetdrill fail"),
        (SOCKET + "+0 `false`\n", 0, 1, "disagree on a.pkt [ipv4]: local fail, packetdrill pass"),
        (SOCKET + "+0 `false`\n", 1, 1, "2 fail"),
    ],
)
@pytest.mark.usefixtures("namespaces")
def test_both_engines_side_by_side(
    script: str,
    theirs: int,
    status: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    binary = Path(says(tmp_path, "a.pkt:1: error: no\n", theirs))
    monkeypatch.setenv("PATH", str(binary.parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pkt").write_text(script)
    assert main(["pkt", "run", "a.pkt", "--engine", "both"]) == status
    out = capsys.readouterr().out
    assert told in out
    assert "a.pkt [ipv4] (local)" in out
    assert "a.pkt [ipv4] (packetdrill)" in out


# The real one.


@pytest.fixture
def real() -> str:
    answers(task(""))
    found = shutil.which(packetdrill.NAME)
    if found is None:
        pytest.skip(f"{packetdrill.NAME} is not on PATH: {packetdrill.WHERE}")
    return found


@pytest.mark.parametrize("version", ["ipv4", "ipv6", "ipv4-mapped-ipv6"])
def test_the_real_one_agrees(real: str, version: str, tmp_path: Path) -> None:
    mtu = 1520 if version == "ipv6" else None
    (tmp_path / "a.pkt").write_text(OPEN)
    answer = run(real, OPEN, tmp_path, version=version, mtu=mtu)
    assert isinstance(answer, Outcome)
    assert answer.failures == []


def test_the_real_one_fails_at_the_same_line(real: str, tmp_path: Path) -> None:
    wrong = OPEN.replace("ack 1 <mss 1460>", "ack 2 <mss 1460>")
    (tmp_path / "a.pkt").write_text(wrong)
    theirs = run(real, wrong, tmp_path)
    (ours,) = answers(task(wrong))
    assert isinstance(theirs, Outcome)
    assert isinstance(ours, Outcome)
    assert [each.line for each in theirs.failures] == [each.line for each in ours.failures] == [5]
    assert theirs.failures[0].actual
