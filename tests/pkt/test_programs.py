"""Programs that scripts call, on machines that lack them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.local import packetdrill, programs
from scapy_tfo.pkt.play.outcome import Outcome
from tests.pkt.locally import LISTEN, answers, outcome, task, told

OWN_SYSCTL = Path(programs.__file__).with_name("bin") / "sysctl"
FAST_OPEN = "/proc/sys/net/ipv4/tcp_fastopen"
TWO_SETTINGS = '`sysctl -q net.ipv4.tcp_fastopen=0x202 \\\n  net.ipv4.tcp_rmem="4096 5000 6000"`\n'
BOTH_ARE_SET = (
    f'+0 `test "$(cat {FAST_OPEN})" = 514`\n'
    '+0 `test "$(cut -f 2 /proc/sys/net/ipv4/tcp_rmem)" = 5000`\n'
)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with the programs that every system has, and no others."""
    place = tmp_path / "few"
    place.mkdir()
    for name in ("bash", "sh", "cat", "cut", "grep", "tr", "true"):
        found = next(filter(Path.exists, (Path("/bin", name), Path("/usr/bin", name))))
        (place / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(place))


def sysctl(*words: str) -> tuple[int, str, str]:
    done = subprocess.run([OWN_SYSCTL, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.strip()


@pytest.mark.usefixtures("bare")
def test_a_script_sets_the_kernel_without_a_sysctl() -> None:
    assert told(TWO_SETTINGS + LISTEN + BOTH_ARE_SET) == []


@pytest.mark.usefixtures("bare")
def test_packetdrill_finds_it_too(tmp_path: Path) -> None:
    answers(task(""))
    stand_in = tmp_path / "packetdrill"
    stand_in.write_text(f"#!/bin/sh\nsysctl -q net.ipv4.tcp_fastopen=5 && exec cat {FAST_OPEN}\n")
    stand_in.chmod(0o755)
    answer = packetdrill.run(str(stand_in), task(LISTEN, tmp_path))
    assert isinstance(answer, Outcome)
    assert answer.failures == []


@pytest.mark.usefixtures("bare")
def test_what_it_cannot_set_fails_the_script_with_the_reason() -> None:
    (told_of_name,) = told("`sysctl -q net.ipv4.no_such=1`\n" + LISTEN)
    assert told_of_name.endswith("there is no /proc/sys/net/ipv4/no_such on this kernel")
    (told_of_value,) = told("`sysctl -q net.ipv4.tcp_fastopen=on`\n" + LISTEN)
    assert told_of_value.endswith(f"cannot write 'on' to {FAST_OPEN}: Invalid argument")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("command", ["nstat -as | grep -q x", 'test "$(nstat -as)" = 0', "nstat"])
def test_a_script_that_needs_what_is_missing_is_not_judged(command: str) -> None:
    for text in (f"`{command}`\n{LISTEN}", f"{LISTEN}+0 `{command}`\n"):
        (answer,) = answers(task(text))
        assert isinstance(answer, SetupError)
        assert str(answer) == (
            "the script cannot run here: it needs the program nstat, which is not on PATH: "
            "install it (package iproute2 on Debian and Ubuntu)"
        )


def test_one_of_the_machine_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sysctl").write_text("#!/bin/sh\necho the machine has one; exit 1\n")
    (tmp_path / "sysctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (failure,) = outcome("`sysctl -q net.ipv4.tcp_fastopen=1`\n" + LISTEN).failures
    assert failure.problem.endswith("the machine has one")


@pytest.mark.parametrize(("is_root", "found"), [(False, "run as root"), (True, "")])
def test_what_only_the_hosts_root_may_do(
    is_root: bool, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_is_hosts_root", lambda: is_root)
    assert programs.advice("RTNETLINK answers: Operation not permitted\n").endswith(found)


def test_it_tells_settings() -> None:
    value = Path(FAST_OPEN).read_text().strip()
    assert sysctl("net.ipv4.tcp_fastopen") == (0, f"net.ipv4.tcp_fastopen = {value}\n", "")
    assert sysctl("-n", "net/ipv4/tcp_fastopen") == (0, f"{value}\n", "")


def test_it_says_what_it_does_not_know() -> None:
    status, _, said = sysctl("-p")
    assert status == 1
    assert said.endswith("does not know -p: install procps")


@pytest.mark.parametrize(
    "said",
    [
        "bash: line 1: nstat: command not found",
        "bash: nstat: command not found\n",
        "/bin/sh: 1: nstat: not found",
    ],
)
def test_what_shells_say_of_a_program_that_is_missing(said: str) -> None:
    assert "needs the program nstat" in programs.advice(f"before\n{said}")


@pytest.mark.parametrize("said", ["", "grep: x: No such file or directory", "the page: not found"])
def test_what_else_they_say(said: str) -> None:
    assert programs.advice(said) == ""
