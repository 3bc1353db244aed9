"""An echo server for thousands of connections a second, many of which end badly.

Plain epoll and descriptors: asyncio takes several times as long for each connection.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
from collections.abc import Sequence

FIRST_PORT = 10001
BACKLOG = 1 << 20

QUEUES = {"main": 1 << 20, "second": 1 << 20, "plain": 0, "small": 4}
"""Listeners in the order of their ports: room for pending fast opens, 0 for none at all."""

CLOSED = "closed"
"""The port behind the last one, where nobody listens."""

_AT_ONCE = 1024
_LARGEST = 1 << 17
_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 900, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 2}
"""Seconds, seconds, probes: a connection whose client has gone without a word goes too, and none
before the longest silence of a program, or a wait would seem to be answered with RST."""

_accept4 = ctypes.CDLL(None, use_errno=True).accept4


class Echo:
    """The listeners of `QUEUES`, for IPv4 and IPv6, and what is connected to them.

    control: the server ends when its other end is closed. families: 4, 6 or both.
    Raises OSError.
    """

    def __init__(self, control: socket.socket, families: Sequence[int]) -> None:
        self._control = control
        self._poll = select.epoll()
        self._poll.register(control.fileno(), select.EPOLLIN)
        self._listeners: dict[int, socket.socket] = {}
        self._unsent: dict[int, bytes] = {}
        self._paused = False
        for number, queue in enumerate(QUEUES.values()):
            for family in families:
                listener = _listener(family, FIRST_PORT + number, queue)
                self._listeners[listener.fileno()] = listener
                self._poll.register(listener.fileno(), select.EPOLLIN)

    @property
    def ports(self) -> dict[str, int]:
        """Ports by name, the closed one among them."""
        return {name: FIRST_PORT + at for at, name in enumerate((*QUEUES, CLOSED))}

    def serve(self) -> None:
        """Answer until the other end of `control` is closed."""
        while True:
            for fd, _ in self._poll.poll(-1, _AT_ONCE):
                if fd in self._listeners:
                    self._accept(fd)
                elif fd == self._control.fileno():
                    return
                elif fd in self._unsent:
                    self._send_rest(fd)
                else:
                    self._echo(fd)

    def _accept(self, listener: int) -> None:
        for _ in range(_AT_ONCE):
            fd = _accept4(listener, None, None, socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
            if fd < 0:
                if ctypes.get_errno() in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._listen(False)
                return
            self._poll.register(fd, select.EPOLLIN)
            # The text of a fast open is there already; of others it may be.
            self._echo(fd)

    def _echo(self, fd: int) -> None:
        try:
            data = os.read(fd, _LARGEST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(fd)
            return
        self._write(fd, data)

    def _write(self, fd: int, data: bytes) -> bool:
        """Whether all went into the socket."""
        try:
            sent = os.write(fd, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._close(fd)
            return False
        if sent == len(data):
            return True
        if fd not in self._unsent:
            # Nothing more is read until this is written.
            self._poll.modify(fd, select.EPOLLOUT)
        self._unsent[fd] = data[sent:]
        return False

    def _send_rest(self, fd: int) -> None:
        if self._write(fd, self._unsent[fd]):
            del self._unsent[fd]
            self._poll.modify(fd, select.EPOLLIN)

    def _close(self, fd: int) -> None:
        self._unsent.pop(fd, None)
        os.close(fd)
        if self._paused:
            self._listen(True)

    def _listen(self, wanted: bool) -> None:
        """Whether to accept: without a descriptor to be had, connections wait in their queue."""
        self._paused = not wanted
        for each in self._listeners:
            self._poll.modify(each, select.EPOLLIN if wanted else 0)


def _listener(family: int, port: int, queue: int) -> socket.socket:
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    listener = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setblocking(False)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == 6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    # Connections have these from their listener. Urgent text is text (RFC 6093 section 5).
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        listener.setsockopt(socket.IPPROTO_TCP, name, value)
    if queue:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, queue)
    listener.bind(("", port))
    listener.listen(BACKLOG)
    return listener
