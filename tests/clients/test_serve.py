"""Real servers that a run starts for its client, and ends."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.clients.relay.recipes import RECIPES
from scapy_tfo.clients.relay.started import serving
from scapy_tfo.clients.relay.upstream import Upstream
from scapy_tfo.errors import SetupError

SET_UP = 2
ECHO = """
import socketserver, sys
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline())
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Echo).serve_forever()
"""
OWN = f"{sys.executable} -c '{ECHO}' {{port}}"


def said(server: Upstream, text: bytes) -> bytes:
    async def ask() -> bytes:
        reader, writer = await server.connect()
        writer.write(text)
        answer = await reader.read()
        writer.close()
        return answer

    return asyncio.run(ask())


def is_gone(server: Upstream) -> bool:
    try:
        said(server, b"")
    except ConnectionRefusedError:
        return True
    return False


def test_a_command_of_the_user_s_serves_until_the_end() -> None:
    with serving(OWN) as server:
        assert said(server, b"once\n") == b"once\n"
        assert said(server, b"again\n") == b"again\n"
    assert is_gone(server)


@pytest.mark.skipif(shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="no nginx")
def test_nginx_answers() -> None:
    with serving("nginx") as server:
        answer = said(server, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"\r\n\r\nserved\n")
    assert is_gone(server)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_a_client_of_tls_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    curl = ["curl", "-q", "-k", "-sS", "--tcp-fastopen", "https://{host}:{port}/"]
    only = ["--only", "CLI-2.a-granted-cookie-is-used", "--require-fast-open", "-4", "--quiet"]
    status = main(["client", "--serve", "openssl", *only, "--out", str(tmp_path), "--", *curl])
    if status == SET_UP:
        pytest.skip(capsys.readouterr().err.strip())
    assert status == 0
    assert "1 pass" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ("ngnix", "did you mean 'nginx'"),
        ("absent-server {port}", "absent-server, which is not installed"),
        ("sh -c 'echo no room; exit 3' {port}", "status 3: no room"),
        ("sh 'unfinished {port}", "is no command"),
    ],
)
def test_a_server_that_does_not_start_says_why(server: str, why: str) -> None:
    with pytest.raises(SetupError, match=why), serving(server):
        pass


def test_the_help_names_each_server() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "clients.md").read_text("utf-8")
    assert [each for each in RECIPES if f"`--serve {each}`" not in page] == []
