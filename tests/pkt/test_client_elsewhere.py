"""Client scripts at a client on another host: a second namespace, reached through a program called
ssh."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.clients import linux_client
from scapy_tfo.pkt.library import own_directory
from tests.clients.test_ssh import SSH, WORLD

SERVERS = "10.99.0.1/20"
MSG = [sys.executable, "-I", "-S", str(Path(linux_client.__file__)), "msg"]


def test_a_script_at_a_client_that_ssh_starts(tmp_path: Path) -> None:
    if os.geteuid() or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        pytest.skip("needs root, unshare, nsenter and ip")
    fake = tmp_path / "bin" / "ssh"
    fake.parent.mkdir()
    fake.write_text(SSH)
    fake.chmod(0o755)
    results = tmp_path / "results.json"
    scripts = sorted(map(str, (own_directory() / "any-client").glob("*.pkt")))
    tool = [sys.executable, "-m", "scapy_tfo.cli", "pkt", "run", *scripts, "--json", str(results)]
    tool += ["--address", SERVERS, "--ssh", "me@there", "--client", "--"]
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", WORLD, "sh", *tool, *MSG, "{host}", "{port}", "{file}"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ
        | {"PATH": f"{fake.parent}:{os.environ['PATH']}", "SSH_PID": str(tmp_path / "pid")},
    )
    if "unshare:" in done.stderr or "Operation not" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(results.read_text())
    assert [each["verdict"] for each in said["results"]] == ["pass"] * len(scripts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ssh", "there", "--client", "--", "fetch", "{host}"], "--ssh needs --address"),
        (["--ssh", "there", "--target", "192.0.2.1:80"], "--ssh and --address need --client"),
        (["--address", SERVERS], "--ssh and --address need --client"),
        (
            ["--address", SERVERS, "--client", "sim:reference"],
            "--ssh and --address do not go with sim:",
        ),
    ],
)
def test_what_options_need(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pkt", "run", *words]) == 2
    assert said in capsys.readouterr().err
