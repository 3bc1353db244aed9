"""Servers of one kind each: servers.py KIND PORT."""

from __future__ import annotations

import contextlib
import functools
import socket
import socketserver
import struct
import sys
import threading


class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 4096

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 4096)
        super().server_bind()


def discard(connection: socket.socket) -> None:
    """Reads, and says nothing."""
    while connection.recv(65536):
        pass


def banner(connection: socket.socket) -> None:
    """Speaks first, as a mail server does."""
    connection.sendall(b"220 mail.example ESMTP\r\n")
    discard(connection)


def losing(connection: socket.socket) -> None:
    """An echo that loses what its send buffer refuses, and waits for as much as comes soon."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    while data := connection.recv(65536):
        connection.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            while len(data) < _MUCH and (more := connection.recv(65536)):
                data += more
        connection.settimeout(None)
        with contextlib.suppress(BlockingIOError):
            connection.send(data, socket.MSG_DONTWAIT)


def one_answer(connection: socket.socket) -> None:
    """An echo of one piece of text, and then it closes."""
    connection.sendall(connection.recv(65536))


def idle(connection: socket.socket) -> None:
    """An echo that closes what is idle for 700 ms."""
    connection.settimeout(0.7)
    with contextlib.suppress(TimeoutError):
        while data := connection.recv(65536):
            connection.sendall(data)


def gives_up(connection: socket.socket) -> None:
    """An echo that resets the connection once it has read more than it cares to."""
    left = 20_000
    while left > 0 and (data := connection.recv(4096)):
        connection.sendall(data)
        left -= len(data)
    if left <= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def mute(connection: socket.socket) -> None:  # noqa: ARG001 - not even read
    """Neither reads nor writes."""
    threading.Event().wait()


def send(connection: socket.socket) -> None:
    """Writes ten bytes, then echoes."""
    connection.sendall(bytes(range(10)))
    while data := connection.recv(65536):
        connection.sendall(data)


def send_close(connection: socket.socket) -> None:
    """Writes ten bytes and closes."""
    connection.sendall(bytes(range(10)))


def close(connection: socket.socket) -> None:
    """Closes at once."""


def abort(connection: socket.socket) -> None:
    """Resets at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


_MUCH = 1 << 16
"""Bytes, and more than a send buffer of 4,096 takes."""


def closing_http(connection: socket.socket, answers: int = 1) -> None:
    """HTTP with so many answers for each connection, the last of which says so (RFC 9112 section
    9.6)."""
    text = b""
    for left in reversed(range(answers)):
        while b"\r\n\r\n" not in text:
            piece = connection.recv(65536)
            if not piece:
                return
            text += piece
        text = text.partition(b"\r\n\r\n")[2]
        goes_on = b"keep-alive" if left else b"close"
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: " + goes_on
        connection.sendall(head + b"\r\n\r\nhello\n")


KINDS = {
    "discard": discard,
    "banner": banner,
    "losing": losing,
    "one-answer": one_answer,
    "gives-up": gives_up,
    "idle": idle,
    "mute": mute,
    "send-10": send,
    "send-close-10": send_close,
    "close": close,
    "abort": abort,
    "closing-http": closing_http,
    "closing-http-2": functools.partial(closing_http, answers=2),
    "closing-http-3": functools.partial(closing_http, answers=3),
}


def main(kind: str, port: int) -> None:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                KINDS[kind](self.request)
            except OSError:
                return

    threading.stack_size(128 << 10)
    with Server(("", port), Handler) as server:
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
