"""A client on another host: a second namespace, reached through a program called ssh."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.clients.command import commands

SSH = """#!/bin/sh
for last; do :; done
exec nsenter -t "$(cat "$SSH_PID")" -n sh -c "$last"
"""

WORLD = """
set -e
ip link set lo up
unshare -n sleep 120 &
pid=$!
trap 'kill $pid' EXIT
echo $pid > "$SSH_PID"
until [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add ours type veth peer name theirs netns $pid
ip addr add 192.0.2.1/24 dev ours
ip link set ours up
echo 1 > /proc/sys/net/ipv4/ip_forward
nsenter -t $pid -n sh -c '
  ip addr add 192.0.2.2/24 dev theirs && ip link set theirs up
  ip route add 10.99.0.0/20 via 192.0.2.1
  echo 3 > /proc/sys/net/ipv4/tcp_fastopen'
"$@"
"""

SENDER = [sys.executable, "-I", "-S"]
FILE = Path(__file__).parents[2] / "scapy_tfo" / "clients" / "linux_client.py"
CASES = "CLI-1.the-first-syn-asks,CLI-2.a-granted-cookie-is-used,CLI-6.refused-data-is-sent-again"


def test_a_client_that_ssh_starts(tmp_path: Path) -> None:
    if os.geteuid() or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        pytest.skip("needs root, unshare, nsenter and ip")
    fake = tmp_path / "bin" / "ssh"
    fake.parent.mkdir()
    fake.write_text(SSH)
    fake.chmod(0o755)
    results = tmp_path / "results.json"
    tool = [sys.executable, "-m", "scapy_tfo.cli", "client", "--address", "10.99.0.1/20"]
    tool += ["--ssh", "me@there", "--only", CASES, "--json", str(results), "--quiet"]
    words = [*tool, "--out", str(tmp_path / "out"), "--", *SENDER, str(FILE), "msg"]
    environment = os.environ | {
        "PATH": f"{fake.parent}:{os.environ['PATH']}",
        "SSH_PID": str(tmp_path / "pid"),
    }
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", WORLD, "sh", *words, "{host}", "{port}", "{file}"],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    if "unshare:" in done.stderr or "Operation not" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(results.read_text())
    assert {each["verdict"] for each in said["results"]} == {"pass"}
    assert len(said["results"]) == 3


def test_words_arrive_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "ssh"
    fake.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    file = tmp_path / "text"
    file.write_text("what to send")
    script = "import sys; print(sys.argv[1:3], open(sys.argv[3][5:]).read())"
    words = [sys.executable, "-c", script, "it's $HOME {host}", "{port} `date`", "name={file}"]
    command = commands(words, ssh="me@there")
    assert command.name.startswith("me@there: ")
    filled = [
        each.replace("{host}", "192.0.2.7").replace("{port}", "80").replace("{file}", str(file))
        for each in command.words
    ]
    done = subprocess.run(filled, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "[\"it's $HOME 192.0.2.7\", '80 `date`'] what to send\n"


def test_the_exit_status_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "ssh"
    fake.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for words in (["sh", "-c", "exit 7", "{host}", "{port}"], ["false", "{host}{port}{file}"]):
        filled = [each.replace("{file}", "/dev/null") for each in commands(words, ssh="x").words]
        done = subprocess.run(filled, timeout=30, check=False)
        assert done.returncode == {"sh": 7, "false": 1}[words[0]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ssh", "there", "--", "curl", "http://{host}:{port}/"], "--ssh needs --address"),
        (["--ssh", "there", "--address", "10.99.0.1/20", "lab:curl"], "needs a command after --"),
        (["--ssh", "there", "sim:reference"], "--ssh and --address do not go with sim:"),
        (["--address", "10.99.0.1/20", "sim:reference"], "--ssh and --address do not go with sim:"),
        (["--dialogue", "post", "sim:reference"], "--dialogue needs a command after --"),
        (["--dialogue", "raw", "lab:python-msg"], "--dialogue needs a command after --"),
    ],
)
def test_what_options_need(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["client", *words]) == 2
    assert said in capsys.readouterr().err
