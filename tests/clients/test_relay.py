"""Clients of a protocol that we do not speak: a real server answers, and we lead its TCP."""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scapy_tfo.cli import main
from scapy_tfo.clients.command import commands
from scapy_tfo.clients.relay.dialogue import Relayed
from scapy_tfo.clients.relay.upstream import Endpoint
from scapy_tfo.suite.outcome import Skipped


class _Doubling(socketserver.StreamRequestHandler):
    """Answers twice, each time to what came: nobody could know its answers beforehand."""

    def handle(self) -> None:
        for _ in range(2):
            line = self.rfile.readline()
            self.wfile.write(line * 2)


@pytest.fixture
def server() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Doubling) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found.server_address[1]
        found.shutdown()


SET_UP = 2
CLIENT = """
import socket, sys
end = socket.socket()
end.sendto(b"one\\n", socket.MSG_FASTOPEN, (sys.argv[1], int(sys.argv[2])))
lines = end.makefile("rb")
assert lines.readline() + lines.readline() == b"one\\none\\n"
end.sendall(b"two\\n")
assert lines.read() == b"two\\ntwo\\n"
"""


def judged(*words: str) -> int:
    only = ["--only", "CLI-6,CLI-2.a-granted-cookie-is-used", "-4", "--quiet"]
    command = ["--", sys.executable, "-I", "-S", "-c", CLIENT, "{host}", "{port}"]
    return main(["client", *only, *words, *command])


def test_a_conversation_of_several_turns_is_carried(
    server: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relay = ("--relay", f"127.0.0.1:{server}", "--require-fast-open")
    status = judged(*relay, "--out", str(tmp_path))
    if status == SET_UP:
        pytest.skip(capsys.readouterr().err.strip())
    assert status == 0


def test_what_the_suite_would_have_to_say_itself_is_skipped() -> None:
    dialogue = Relayed(Endpoint("127.0.0.1", 1))
    for ask in (lambda: dialogue.answer(b""), lambda: dialogue.is_complete(b"", b"")):
        with pytest.raises(Skipped, match="real server"):
            ask()


@pytest.mark.parametrize("text", ["127.0.0.1", "host:", ":80", "host:70000", "host:http"])
def test_a_server_that_is_none_is_an_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        judged("--relay", text)
    assert "is not HOST:PORT" in capsys.readouterr().err


def test_a_command_with_a_relay_speaks_by_it() -> None:
    relay = Endpoint("127.0.0.1", socket.IPPORT_USERRESERVED)
    command = commands(["sh", "{host}", "{port}"], relay=relay)
    assert command.dialogue_or_guess().relay == relay
