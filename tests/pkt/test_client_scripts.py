"""Client scripts at a client that a command starts."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.clients import linux_client
from scapy_tfo.errors import SetupError
from scapy_tfo.pkt.client.run import JudgedClient, run_client
from scapy_tfo.pkt.language.errors import ScriptError
from scapy_tfo.pkt.language.settings import Settings
from scapy_tfo.pkt.library import find_scripts, own_directory, task_of
from scapy_tfo.pkt.local.run import Task
from scapy_tfo.pkt.play.outcome import Outcome

OWN = own_directory() / "any-client"
ASKS = """\
     0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0 sendto(3, ..., 100, MSG_FASTOPEN, ..., ...) = -1 EINPROGRESS (Operation now in progress)
    +0 > S 0:0(0) <FO,...>
"""
"""Lines 1 to 3 of a script."""

SENDER = (sys.executable, str(Path(linux_client.__file__)), "msg", "{host}", "{port}", "{file}")
OTHER_KINDS = {"asks-in-the-experimental-form"}
"""Our scripts are about kind 34."""


def own_tasks(version: str = "ipv4") -> list[Task]:
    return [task_of(each, version, Settings(), {}) for each in find_scripts([str(OWN)])]


def failing_lines(words: Sequence[str], tasks: list[Task], app: str = "") -> dict[str, list[int]]:
    try:
        answers = dict(run_client(tasks, JudgedClient(tuple(words), app=app)))
    except SetupError as error:
        pytest.skip(str(error))
    failed = {}
    for number, answer in answers.items():
        assert isinstance(answer, Outcome), answer
        failed[Path(tasks[number].name).stem] = [each.line for each in answer.failures]
    return failed


def refusal(text: str, app: str = "") -> str:
    task = Task("it.pkt", text, Path(), Settings())
    [(_, answer)] = run_client([task], JudgedClient(("sim:reference",), app=app))
    assert isinstance(answer, ScriptError), answer
    return str(answer)


def run_text(text: str, *words: str, app: str = "") -> list[int]:
    return failing_lines(words, [Task("it.pkt", text, Path(), Settings())], app)["it"]


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_our_scripts_pass_at_the_reference(version: str) -> None:
    assert not any(failing_lines(["sim:reference"], own_tasks(version)).values())


@pytest.mark.parametrize(
    "name", [each.name for each in all_client_variants() if each.name not in OTHER_KINDS]
)
def test_our_scripts_blame_no_legal_client(name: str) -> None:
    assert not any(failing_lines([f"sim:{name}"], own_tasks()).values())


@pytest.mark.parametrize(
    ("mutant", "script"),
    [
        ("cookie-is-not-kept", "asks-for-a-cookie-and-uses-it"),
        ("request-of-length-zero", "asks-for-a-cookie-and-uses-it"),
        ("first-cookie-stays", "longer-cookie-replaces-the-first"),
        ("refused-data-is-doubled", "refused-data-is-sent-again"),
        ("refused-data-waits-for-the-timer", "refused-data-is-sent-again"),
    ],
)
def test_a_wrong_client_fails(mutant: str, script: str) -> None:
    assert failing_lines([f"sim:{mutant}"], own_tasks())[script]


@pytest.mark.parametrize("words", [SENDER, ("lab:python-connect",)])
def test_our_scripts_pass_at_real_clients(words: Sequence[str]) -> None:
    assert not any(failing_lines(words, own_tasks()).values())


def test_commands_of_a_script_run_where_its_client_is() -> None:
    text = f"`sysctl -qw net.ipv4.tcp_fastopen=0`\n{ASKS}"
    assert run_text(text, "lab:python-msg") == [3, 4]
    text = f"{ASKS}+0 `test $(sysctl -n net.ipv4.tcp_fastopen) = 7`\n"
    assert run_text(text, "lab:python-msg") == [4]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_a_client_that_takes_no_file_says_what_it_likes() -> None:
    text = """\
     0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
    +0 > S 0:0(0) <mss 1460,...>
 +0.01 < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +0 > P. 1:48(47) ack 1
 +0.01 < F. 1:1(0) ack 48 win 65535
    +0 > . 48:48(0) ack 2 or none
    +0 close(3) = 0
    +0 > F. 48:48(0) ack 2
"""
    curl = ("curl", "-q", "-s", "-A", "", "-H", "Accept:", "-H", "Host: a", "--noproxy", "*")
    url = ("http://{host}:{port}/" + "a" * (47 - len("GET / HTTP/1.1\r\nHost: a\r\n\r\n")),)
    assert run_text(text, *curl, *url) == []
    assert run_text(text.replace("1:48(47)", "1:47(46)"), *curl, *url)[0] == 5


def test_a_client_that_never_connects_is_told_with_its_words() -> None:
    words = (sys.executable, "-c", "import sys; sys.exit('no, {host} {port}')")
    task = Task("it.pkt", ASKS, Path(), Settings())
    try:
        [(_, answer)] = run_client([task], JudgedClient(words))
    except SetupError as error:
        pytest.skip(str(error))
    assert isinstance(answer, Outcome)
    assert answer.failures[0].line == 2
    assert answer.failures[0].actual.startswith("it ended with status 1: no, ")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("+0 listen(3, 1) = 0", "it.pkt:4:1: a client does not call listen()"),
        ("+0 close(3) = 0", "it.pkt:4:1: a client that reads until the server closes"),
        ("+0 > . 1:1(0) ack 1\n+0 expect none for 1s", "it.pkt:5:1: the client sends 100 bytes"),
        ("+0 < 1 > 2 S. 0:0(0) ack 1 win 9", "it.pkt:4:1: a client chooses its port by itself"),
        ("+0 setsockopt(3, SOL_TCP, TCP_SYNCNT, [1], 4) = 0", "it.pkt:4:1: the client sets no"),
        ("+0 write(3, ..., 101) = 101", "it.pkt:4:1: the client sends its whole file at once"),
    ],
)
def test_calls_that_a_client_would_not_make_are_refused(line: str, problem: str) -> None:
    assert refusal(f"{ASKS}{line}\n").startswith(problem)


def test_a_script_of_a_server_is_none_for_a_client() -> None:
    text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 < S 0:0(0) win 9\n"
    assert refusal(text) == "it.pkt:2:1: a client speaks first: connect before this"


def test_the_command_takes_a_client_after_two_dashes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "it.pkt"
    script.write_text(ASKS)
    assert main(["pkt", "run", str(script), "--client", "sim:reference"]) == 0
    assert main(["pkt", "run", str(script), "--client", "--quiet", "--", *SENDER]) in (0, 2)
    assert main(["pkt", "run", str(script), "--client", "lab:curl", "--target", "lab:linux"]) == 2
    assert main(["pkt", "run", str(script), "--", "curl"]) == 2
    assert "a command after -- needs --client" in capsys.readouterr().err
