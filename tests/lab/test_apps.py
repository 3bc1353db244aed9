"""The applications alone, over a transport that only records calls."""

from __future__ import annotations

import asyncio

import pytest

from scapy_tfo.lab.app_registry import APPS, app_factory
from scapy_tfo.lab.apps import MAX_WRITE, pattern
from scapy_tfo.lab.sessions import (
    MAX_RECEIVED,
    MAX_SESSIONS,
    Session,
    SessionLog,
    from_json,
    to_json,
)


class Transport(asyncio.Transport):
    """Remembers what was asked of it; offers no socket, as a simulated one."""

    def __init__(self) -> None:
        super().__init__({"peername": ("2001:db8::1", 1234, 0, 0)})
        self.written = []
        self.paused = False
        self.end = ""

    def write(self, data):
        assert not self.end
        self.written.append(data)

    def write_eof(self):
        self.written.append(None)

    def close(self):
        self.end = self.end or "closed"

    def abort(self):
        self.end = "aborted"

    def is_closing(self):
        return bool(self.end)

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False


def _talk(spec, *events):
    """Open the application, feed it bytes and ends of stream (b""), and let the loop turn."""

    async def talk():
        log = SessionLog()
        app = app_factory(spec, log)()
        transport = Transport()
        app.connection_made(transport)
        for event in events:
            if event:
                app.data_received(event)
            else:
                assert app.eof_received(), "the transport stays open for what is to be written"
        for _ in range(5):
            await asyncio.sleep(0)
        return transport, log.sessions()[0]

    return asyncio.run(talk())


PEER = ("2001:db8::1", 1234)


@pytest.mark.parametrize(
    ("spec", "events", "written", "end"),
    [
        ("echo", [b"a", b"bc"], [b"a", b"bc"], ""),
        ("echo", [b"a", b""], [b"a"], "closed"),
        ("mute", [b"a"], [], ""),
        ("mute", [b"a", b""], [], "closed"),
        ("close", [b"a"], [], "closed"),
        ("abort", [], [], "aborted"),
        ("send:3", [b"a"], [b"\0\1\2", b"a"], ""),
        ("send:0", [], [b""], ""),
        ("send-close:3", [b"a"], [b"\0\1\2"], "closed"),
        ("two-sends:2", [], [b"\0\1", b"\0\1"], "closed"),
        ("half-close:2", [b"a"], [b"\0\1", None], ""),
        ("half-close:2", [b"a", b""], [b"\0\1", None], "closed"),
        ("think:0", [b"a", b"b", b""], [b"a", b"b"], "closed"),
        ("late-close:0", [b"a", b""], [b"a"], "closed"),
        ("late-close:9", [b"a", b""], [b"a"], ""),
        ("never-reads", [], [], ""),
        ("close-unread:0", [], [], "closed"),
        ("close-unread:9", [], [], ""),
        ("reno:3", [], [], "closed"),
    ],
)
def test_what_each_application_does(spec, events, written, end):
    transport, session = _talk(spec, *events)
    assert (transport.written, transport.end) == (written, end)
    assert session == Session(PEER, b"".join(events), eof=events.count(b""))


@pytest.mark.parametrize(
    ("request_head", "status", "body", "end"),
    [
        (b"GET / HTTP/1.1\r\n", b"200 OK", b"scapy-tfo lab\n", ""),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n", b"200 OK", b"scapy-tfo lab\n", "closed"),
        (b"GET / HTTP/1.0\r\n", b"200 OK", b"scapy-tfo lab\n", "closed"),
        (b"GET /bytes/300 HTTP/1.1\r\n", b"200 OK", pattern(300), ""),
        (b"HEAD /bytes/300 HTTP/1.1\r\n", b"200 OK", b"", ""),
        (b"PUT / HTTP/1.1\r\n", b"405 Method Not Allowed", b"", "closed"),
        (b"GET /\r\n", b"400 Bad Request", b"", "closed"),
        (b"\xff\0\r\n", b"400 Bad Request", b"", "closed"),
    ],
)
def test_http(request_head, status, body, end):
    request = request_head + b"\r\n"
    at_once, _ = _talk("http", request)
    answer = b"".join(at_once.written)
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert (rest, at_once.end) == (body, end)
    by_byte, _ = _talk("http", *(request[at : at + 1] for at in range(len(request))))
    assert b"".join(by_byte.written) == answer


def test_http_answers_requests_in_a_row_and_no_endless_head():
    request = b"GET / HTTP/1.1\r\n\r\n"
    transport, _ = _talk("http", request * 3)
    assert len(transport.written) == 3
    transport, _ = _talk("http", bytes(70_000))
    assert transport.written[0].startswith(b"HTTP/1.1 431 ")
    assert transport.end == "closed"


def test_reading_waits_for_writing():
    app = app_factory("echo", SessionLog())()
    transport = Transport()
    app.connection_made(transport)
    app.pause_writing()
    assert transport.paused
    app.resume_writing()
    assert not transport.paused


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (None, ""),
        (ConnectionResetError(104, "reset"), "ECONNRESET"),
        (BrokenPipeError(32, "pipe"), "EPIPE"),
        (OSError("no number"), "OSError"),
    ],
)
def test_the_error_that_ends_a_connection_is_recorded_by_name(error, name):
    log = SessionLog()
    app = app_factory("mute", log)()
    app.connection_made(Transport())
    app.connection_lost(error)
    assert log.sessions() == [Session(PEER, error=name, closed=True)]


@pytest.mark.parametrize(
    "spec", ["", "ech", "echo:", "echo:3", "send", "send:", "send:-1", "send:x", "send:٣"]
)
def test_a_wrong_name_is_a_value_error(spec):
    with pytest.raises(ValueError, match="application"):
        app_factory(spec, SessionLog())
    with pytest.raises(ValueError, match="size"):
        app_factory(f"send:{MAX_WRITE + 1}", SessionLog())
    with pytest.raises(ValueError, match="time of 0 to 3600000 milliseconds"):
        app_factory("think:3600001", SessionLog())
    with pytest.raises(ValueError, match="number of 1 to 16 listeners"):
        app_factory("shared:0", SessionLog())
    with pytest.raises(ValueError, match="key of 1 to 80 bytes"):
        app_factory("signed:81", SessionLog())


def test_every_application_is_told_apart_by_its_docstring():
    for name, app in APPS.items():
        assert app.__doc__.startswith(f"`{name}{':N' if app.takes_size else ''}`")


def test_memory_is_bounded():
    log = SessionLog()
    record = log.open(PEER)
    for _ in range(3):
        record.add(bytes(MAX_RECEIVED // 2 + 1))
    assert len(log.sessions()[0].received) == MAX_RECEIVED
    for port in range(MAX_SESSIONS + 1):
        log.open(("192.0.2.1", port))
    assert len(log.sessions()) == MAX_SESSIONS


def test_a_session_survives_json():
    session = Session(PEER, bytes(range(256)), eof=2, error="EPIPE", closed=True)
    assert from_json(to_json(session)) == session


def test_the_pattern_is_a_prime_period():
    assert pattern(0) == b""
    assert pattern(253) == bytes([*range(251), 0, 1])
