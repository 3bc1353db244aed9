"""The applications that answer on a target, written once for real sockets and for simulation.

Each is an `asyncio.Protocol`, so it runs on a kernel's sockets (`loop.create_server`) and on any
transport that a simulated stack offers. None of them sleeps or reads a clock: those that take their
time let the running loop call them.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import ClassVar, cast

from scapy_tfo.lab.sessions import SessionLog

PATTERN_PERIOD = 251
"""Prime, so that bytes lost, doubled or moved by a power of two or by a segment show."""

MAX_WRITE = 16 << 20
"""Most bytes that an application can be asked to write at once."""

MAX_REQUEST = 64 << 10
"""Longest head of an HTTP request that is read, in bytes."""

MAX_DELAY = 3_600_000
"""Longest time that an application can be asked to take, in milliseconds."""

MAX_LISTENERS = 16
"""Most listeners that may share a port."""

MAX_KEY = 80
"""Most bytes of a key of TCP MD5."""

_RENO = "reno"
"""The congestion control of RFC 5681, as hosts name it."""

_DRAIN_TURNS = 2
"""Turns of the loop between connection_made and the data that was there on accept."""


def pattern(size: int) -> bytes:
    """The `size` bytes that applications write: byte i is i modulo 251."""
    period = bytes(range(PATTERN_PERIOD))
    return (period * (size // PATTERN_PERIOD + 1))[:size]


class App(asyncio.Protocol):
    """What all applications share: the record of the connection, and reading no faster than
    writing.

    The transport may offer `get_extra_info("peername")`, and a real one `"socket"`.
    """

    takes_size: ClassVar[bool] = False
    least: ClassVar[int] = 0
    limit: ClassVar[int] = MAX_WRITE

    def __init__(self, log: SessionLog, size: int = 0) -> None:
        self._log = log
        self._size = size

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        host, port = self.transport.get_extra_info("peername")[:2]
        self._record = self._log.open((str(host), port), self._reset)
        self.accepted()

    def data_received(self, data: bytes) -> None:
        self._record.add(data)
        self.read(data)

    def eof_received(self) -> bool:
        self._record.eof += 1
        self.ended()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._record.error = _error_name(exc)
        self._record.closed = True

    def pause_writing(self) -> None:
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.transport.resume_reading()

    def accepted(self) -> None:
        """The connection is there; its handshake may not have ended yet."""

    def read(self, data: bytes) -> None:
        """Bytes have come."""

    def ended(self) -> None:
        """The client has sent everything: close once all is written."""
        self.transport.close()

    def _close_drained(self, turns: int = _DRAIN_TURNS) -> None:
        # Closing with bytes unread sends RST instead of FIN (RFC 9293 section 3.6.1), so the
        # data of the SYN has to be read first.
        if turns:
            asyncio.get_running_loop().call_soon(self._close_drained, turns - 1)
        else:
            self.transport.close()

    def _reset(self) -> None:
        sock = self.transport.get_extra_info("socket")
        if sock is not None:
            # A kernel resets on close only when told not to linger (socket(7), SO_LINGER).
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class Mute(App):
    """`mute`: reads everything and writes nothing."""


class Echo(App):
    """`echo`: writes back what it reads."""

    def read(self, data: bytes) -> None:
        self.transport.write(data)


class Send(Echo):
    """`send:N`: writes N bytes of `pattern` on accept, then echoes."""

    takes_size = True

    def accepted(self) -> None:
        self.transport.write(pattern(self._size))


class Reno(Send):
    """`reno:N`: asks for the congestion control of RFC 5681, writes N bytes, and echoes. It closes
    where it cannot have that."""

    def accepted(self) -> None:
        if self._is_had():
            super().accepted()
        else:
            self.transport.close()

    def _is_had(self) -> bool:
        sock = self.transport.get_extra_info("socket")
        if sock is None:
            return bool(self.transport.get_extra_info("congestion control") == _RENO)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _RENO.encode())
        except OSError:
            return False
        return True


class SendClose(App):
    """`send-close:N`: writes N bytes of `pattern` on accept, then closes."""

    takes_size = True

    def accepted(self) -> None:
        self.transport.write(pattern(self._size))
        self._close_drained()


class TwoSends(App):
    """`two-sends:N`: writes N bytes of `pattern` twice on accept, then closes."""

    takes_size = True

    def accepted(self) -> None:
        self.transport.write(pattern(self._size))
        self.transport.write(pattern(self._size))
        self._close_drained()


class Close(App):
    """`close`: closes right away."""

    def accepted(self) -> None:
        self._close_drained()


class Abort(App):
    """`abort`: resets right away."""

    def accepted(self) -> None:
        self._reset()


class SendAbort(Abort):
    """`send-abort:N`: writes N bytes of `pattern` on accept, then resets."""

    takes_size = True

    def accepted(self) -> None:
        self.transport.write(pattern(self._size))
        self._reset()


class HalfClose(App):
    """`half-close:N`: writes N bytes of `pattern`, ends its stream, and reads until the client's
    ends."""

    takes_size = True

    def accepted(self) -> None:
        self.transport.write(pattern(self._size))
        self.transport.write_eof()


class NeverReads(App):
    """`never-reads`: stops reading on accept, so that the window closes."""

    def accepted(self) -> None:
        self.transport.pause_reading()


class _Slow(App):
    """Does what it does so many milliseconds later, in order."""

    takes_size = True
    limit = MAX_DELAY

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._loop = asyncio.get_running_loop()
        self._timers: deque[asyncio.TimerHandle] = deque()
        self._waiting: deque[Callable[[], None]] = deque()
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in self._timers:
            timer.cancel()
        self._waiting.clear()
        super().connection_lost(exc)

    def later(self, act: Callable[[], None]) -> None:
        """Do it after the time, unless the connection has ended then."""
        # Two timers of one moment may fire in any order.
        self._waiting.append(act)
        self._timers.append(self._loop.call_later(self._size / 1000, self._due))

    def _due(self) -> None:
        self._timers.popleft()
        act = self._waiting.popleft() if self._waiting else None
        if act is not None and not self.transport.is_closing():
            act()


class Think(_Slow):
    """`think:N`: writes back what it reads N milliseconds after it came."""

    def read(self, data: bytes) -> None:
        self.later(lambda: self.transport.write(data))

    def ended(self) -> None:
        self.later(self.transport.close)


class SlowReader(_Slow):
    """`slow-reader:N`: writes back what it reads, and reads every N milliseconds only."""

    def accepted(self) -> None:
        self._rest()

    def read(self, data: bytes) -> None:
        self.transport.write(data)
        if not self._timers:
            self._rest()

    def _rest(self) -> None:
        self.transport.pause_reading()
        self.later(self.transport.resume_reading)


class LateClose(_Slow):
    """`late-close:N`: writes back what it reads, and closes N milliseconds after the client did."""

    def read(self, data: bytes) -> None:
        self.transport.write(data)

    def ended(self) -> None:
        self.later(self.transport.close)


class CloseUnread(_Slow):
    """`close-unread:N`: reads nothing, and closes N milliseconds after it was accepted."""

    def accepted(self) -> None:
        self.transport.pause_reading()
        self.later(self.transport.close)


class LateAccept(Echo):
    """`late-accept:N`: an echo that takes a connection N milliseconds after it is ready: see
    `app_registry`."""

    takes_size = True
    limit = MAX_DELAY


class Shared(Echo):
    """`shared:N`: an echo behind N listeners of one port, of which each client meets one: see
    `app_registry`."""

    takes_size = True
    least, limit = 1, MAX_LISTENERS


class Signed(Echo):
    """`signed:N`: an echo whose connections are signed with TCP MD5 (RFC 2385): see
    `app_registry`."""

    takes_size = True
    least, limit = 1, MAX_KEY


class Http(App):
    """`http`: HTTP/1.1 with GET and HEAD (RFC 9112); `/bytes/N` is N bytes of `pattern`."""

    def accepted(self) -> None:
        self._head = b""

    def read(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head and not self.transport.is_closing():
            request, _, self._head = self._head.partition(b"\r\n\r\n")
            self._answer(request.decode("latin-1").split("\r\n"))
        if len(self._head) > MAX_REQUEST and not self.transport.is_closing():
            self._reply("431 Request Header Fields Too Large", b"", last=True)

    def _answer(self, lines: list[str]) -> None:
        match lines[0].split(" "):
            case [method, path, version] if version.startswith("HTTP/1."):
                options = [
                    value.strip().lower()
                    for name, _, value in (line.partition(":") for line in lines[1:])
                    if name.lower() == "connection"
                ]
                last = "close" in options or (version == "HTTP/1.0" and "keep-alive" not in options)
                if method in ("GET", "HEAD"):
                    self._reply("200 OK", _body(path), last=last, head_only=method == "HEAD")
                else:
                    self._reply("405 Method Not Allowed", b"", last=True)
            case _:
                self._reply("400 Bad Request", b"", last=True)

    def _reply(self, status: str, body: bytes, *, last: bool, head_only: bool = False) -> None:
        fields = [f"HTTP/1.1 {status}", "Server: scapy-tfo", f"Content-Length: {len(body)}"]
        if last:
            fields.append("Connection: close")
        head = "\r\n".join([*fields, "", ""]).encode()
        self.transport.write(head if head_only else head + body)
        if last:
            self.transport.close()


def _body(path: str) -> bytes:
    size = path.removeprefix("/bytes/")
    if size != path and size.isascii() and size.isdigit():
        return pattern(min(int(size), MAX_WRITE))
    return b"scapy-tfo lab\n"


def _error_name(exc: Exception | None) -> str:
    if exc is None:
        return ""
    number = exc.errno if isinstance(exc, OSError) else None
    return errno.errorcode.get(number or 0, type(exc).__name__)
