"""Real clients in a namespace: this kernel's, used by curl and from Python."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest

from scapy_tfo import spec
from scapy_tfo.clients.command import Command, CommandClient, commands, ready_made
from scapy_tfo.clients.environment import Here, Namespace
from scapy_tfo.clients.judge import Options, judge
from scapy_tfo.clients.registry import all_cases
from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.option import FastOpen, pull_options
from scapy_tfo.segment import Segment
from scapy_tfo.suite.registry import select
from scapy_tfo.suite.result import Run, Verdict, label_of

QUICK = (
    "CLI-1.the-first-syn-asks",
    "CLI-2.a-granted-cookie-is-used",
    "CLI-6.refused-data-is-sent-again",
    "CLI-18.an-application-that-does-not-ask-gets-plain-tcp",
    "CLI-20.a-syn-that-was-too-big",
    "CLI-22.a-rst-in-answer-to-a-fast-open-is-told",
    "CLI-23.a-bulk-behind-a-refusal",
)


def judged(command: Command, *only: str) -> Run:
    try:
        client = CommandClient(command, Namespace())
    except SetupError as error:
        pytest.skip(str(error))
    try:
        return asyncio.run(judge(client, select(all_cases(), only or QUICK), spec.load()))
    finally:
        client.close()


@pytest.mark.parametrize("name", ["python-msg", "python-connect"])
def test_a_python_client_and_what_its_kernel_says(name: str) -> None:
    run = judged(ready_made(name))
    assert [each for each in run.results if each.verdict is not Verdict.PASS] == []
    used = next(each for each in run.results if each.case == "CLI-2.a-granted-cookie-is-used")
    assert used.observed["the client's kernel"] == "SYN data acknowledged: True"


def test_curl_whatever_its_user_has_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".curlrc").write_text("no-such-option-of-curl\nfail\nproxy = 127.0.0.1:9\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    if shutil.which("curl") is None:
        pytest.skip("there is no curl on PATH")
    run = judged(ready_made("curl"))
    assert [each for each in run.results if each.verdict is not Verdict.PASS] == []


def test_why_a_command_does_not_connect_is_told() -> None:
    words = ["sh", "-c", "echo no such option >&2; exit 7", "{host}", "{port}"]
    try:
        client = CommandClient(commands(words), Namespace())
    except SetupError as error:
        pytest.skip(str(error))
    quick = Options(families=(4,), patience=0.3)
    with contextlib.closing(client), pytest.raises(TargetError, match="status 7: no such option"):
        asyncio.run(judge(client, all_cases(), spec.load(), quick))


def test_a_command_of_which_no_plain_form_is_known() -> None:
    words = ready_made("python-msg").words
    run = judged(commands(words), *QUICK[1::2])
    verdicts = {each.case.partition(".")[0]: each.verdict for each in run.results}
    plain = verdicts.pop("CLI-18")
    assert plain is Verdict.SKIPPED
    assert set(verdicts.values()) == {Verdict.PASS}


def test_a_client_in_this_namespace(tmp_path: Path) -> None:
    """In one that has no past, since this host's kernel remembers the cookies of an earlier run."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare on PATH")
    alone = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-Urn"]
    words = ["client", "lab:python-msg", "--address", "198.51.100.10/24", "--only", "CLI-2"]
    run = [*alone, sys.executable, "-m", "scapy_tfo.cli", *words, "--out", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    if done.returncode == 2 or "unshare:" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout
    assert "fail" not in done.stdout.split("section")[0]


def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    words = ["client", "lab:python-msg", "--only", "CLI-23", "--quiet", "--out", str(tmp_path)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "scapy_tfo.cli", *words]
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)

    def children() -> list[str]:
        found = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        return [pid for pid in found if "launcher.py" in Path(f"/proc/{pid}/cmdline").read_text()]

    def within(condition: Callable[[], object]) -> bool:
        for _ in range(400):
            if condition() or run.poll() is not None:
                break
            sleep(0.05)
        return bool(condition())

    try:
        if not within(lambda: run.poll() is None and children() and list(tmp_path.glob("*/*.out"))):
            pytest.skip(run.communicate()[1].strip() or "the run was over before it was killed")
        (starter,) = children()
    finally:
        run.kill()
        run.communicate()

    def left() -> list[str]:
        """The starter too, unless it only waits for somebody to hear of its end."""
        with contextlib.suppress(OSError):
            if Path(f"/proc/{starter}/cmdline").read_text():
                return [starter]
        return [str(each) for each in tmp_path.glob("scapy-tfo-*")]

    for _ in range(400):
        if not left():
            break
        sleep(0.05)
    assert left() == []


def test_a_network_without_room() -> None:
    with pytest.raises(SetupError, match="no room for the servers"):
        Here(["198.51.100.250/24"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no command"),
        (["curl", "http://{host}/"], "no {port}"),
        (["no-such-client", "{host}", "{port}"], "no command no-such-client on PATH"),
    ],
)
def test_what_cannot_be_a_command(words: list[str], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        commands(words)


INSISTENT = """
import socket, struct, sys
text = open(sys.argv[3], "rb").read()
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
for _ in range(2):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 0))
        try:
            client.sendto(text, socket.MSG_FASTOPEN, (sys.argv[1], int(sys.argv[2])))
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(65536):
                sys.stdout.write(piece.decode())
            break
        except OSError:
            continue
else:
    sys.exit("refused twice")
"""
"""Connects once more by itself where a connection fails."""


def test_what_a_client_opens_once_more_by_itself_is_not_the_next_application() -> None:
    words = [sys.executable, "-c", INSISTENT, "{host}", "{port}", "{file}"]
    only = ("CLI-1.a-request-whose-connection-fails-is-made-again", "CLI-14")
    run = judged(commands(words), *only)
    assert {each.case for each in run.results} > {only[0]}
    # A busy machine may start it too late for its case, time and again.
    told = [each for each in run.results if each.verdict is not Verdict.INCONCLUSIVE]
    assert len(told) > len(run.results) // 2
    assert [each for each in told if each.verdict is not Verdict.PASS] == []


def _syns(run: Run) -> set[tuple[str, tuple[int, ...], tuple[int, ...], bytes]]:
    """Of each case, what its SYNs have, but for what differs from one connection to the next.

    Not of what comes before the cases: how often a client is asked for its first connection
    depends on how fast this machine is.
    """
    found = set()
    for each in run.packets:
        if not label_of(each.comment):
            continue
        segment = None if each.outbound else Segment.read_back(each.data)
        if segment is not None and segment.is_syn and not segment.is_syn_ack:
            kinds = tuple(option.kind for option in pull_options(segment.options))
            cookies = tuple(
                len(each.cookie) for each in segment.fast_open if isinstance(each, FastOpen)
            )
            found.add((label_of(each.comment), kinds, cookies, segment.payload))
    return found


def test_both_ways_to_ask_for_fast_open_put_the_same_on_the_wire() -> None:
    msg, connect = (_syns(judged(ready_made(name))) for name in ("python-msg", "python-connect"))
    assert msg == connect
    assert len(msg) > len(QUICK)
