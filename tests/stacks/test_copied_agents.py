"""The agents of docs/hooks that others copy do the same, as sockets of this host show."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_tfo.stacks.words import sessions_of

AGENTS = Path(__file__).resolve().parents[2] / "docs" / "hooks"
PATTERN = bytes(range(100))
LIMIT = 20.0
"""Seconds for what is awaited."""


@pytest.fixture(params=["python", "c"])
def ask(request):
    """Asks an agent that speaks on its standard input, and returns the words of its answer."""
    if request.param == "python":
        command = [sys.executable, str(AGENTS / "agent.py")]
    else:
        command = [str(request.getfixturevalue("agent_in_c"))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as agent:

        def asked(line):
            agent.stdin.write(line + "\n")
            return agent.stdout.readline().split()

        yield asked
        agent.stdin.close()


def connected(ask, app):
    """A connection to a listener of its own without fast open, and the listener's port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert ask(f"listen {app} 0 16 {port}") == ["ok", str(port)]
    return socket.create_connection(("127.0.0.1", port), LIMIT), port


def only_session(ask, port):
    ok, *told = ask(f"sessions {port}")
    assert ok == "ok"
    (session,) = sessions_of(told)
    return session


def test_half_close_writes_ends_its_stream_and_reads_on(ask):
    connection, port = connected(ask, "half-close:100")
    with connection:
        reader = connection.makefile("rb")
        assert reader.read() == PATTERN
        connection.sendall(b"more")
        while not (session := only_session(ask, port)).received:
            pass
        assert session.received == b"more"
        assert not session.closed
        connection.shutdown(socket.SHUT_WR)
        while not only_session(ask, port).closed:
            pass
        assert only_session(ask, port).eof == 1


def test_never_reads_closes_its_window(ask):
    connection, port = connected(ask, "never-reads")
    with connection:
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):
            connection.sendall(bytes(1 << 28))
        session = only_session(ask, port)
        assert (session.received, session.eof, session.closed) == (b"", 0, False)


@pytest.mark.parametrize("app", ["half-close", "never-reads:5", "send", "gopher"])
def test_no_application_is_answered_with_no(ask, app):
    assert ask(f"listen {app} 0 16")[0] == "no"
    assert ask("hello 1")[:2] == ["ok", "1"]
