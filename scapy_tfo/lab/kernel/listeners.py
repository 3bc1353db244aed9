"""Listening sockets of the target, with fast open as their options ask."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
from collections.abc import Collection, Sequence
from contextlib import suppress

from scapy_tfo.lab.app_registry import (
    AppFactory,
    accepts_after,
    app_factory,
    listeners_of,
    md5_key_of,
)
from scapy_tfo.lab.hooks import ListenerOptions, Session
from scapy_tfo.lab.sessions import SessionLog

FIRST_PORT = 10001
"""Ports are handed out upwards from here, so that two runs use the same ones."""

TCP_FASTOPEN_KEY = 33
"""linux/tcp.h; Python has no name for it."""

_MD5SIG_EXT, _MD5SIG_FLAG_PREFIX = 32, 1
_LARGEST_ADDRESS, _LARGEST_KEY = 128, 80
"""Likewise; sizes in bytes."""


class Listener:
    """One port, open for IPv4 and IPv6; each family has a fast open queue of its own."""

    def __init__(self) -> None:
        self.log = SessionLog()
        self._servers: list[asyncio.Server] = []
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []

    def set_keys(self, keys: Sequence[bytes]) -> None:
        """Replace the cookie keys, primary first. Raises OSError for wrong sizes."""
        for sock in self._sockets:
            sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_KEY, b"".join(keys))

    async def open(self, port: int, options: ListenerOptions, families: Sequence[int]) -> None:
        """Begin to listen. families: 4, 6 or both.

        Raises ValueError for an unknown application, OSError.
        """
        factory, wait = app_factory(options.app, self.log), accepts_after(options.app)
        loop = asyncio.get_running_loop()
        many, key = listeners_of(options.app), md5_key_of(options.app)
        for family in (*families,) * many:
            sock = _socket(family)
            self._sockets.append(sock)
            if many > 1:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if key:
                sock.setsockopt(socket.IPPROTO_TCP, _MD5SIG_EXT, _md5_option(family, key))
            if options.queue:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, options.queue)
            sock.bind(("", port))
        if options.keys:
            self.set_keys(options.keys)
        for sock in self._sockets:
            if wait:
                sock.setblocking(False)
                sock.listen(options.backlog)
                self._accepting.append(loop.create_task(_accept_late(sock, factory, wait)))
            else:
                self._servers.append(
                    await loop.create_server(factory, sock=sock, backlog=options.backlog)
                )
            if not options.queue:
                # With the bit 0x400 of tcp_fastopen, listen() turns fast open on by itself.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 0)

    def close(self) -> None:
        """Stop listening; accepted connections go on."""
        for server in self._servers:
            server.close()
        for task in self._accepting:
            task.cancel()
        for sock in self._sockets:
            sock.close()


def _socket(family: int) -> socket.socket:
    """A socket of IP version 4 or 6 that may be bound again at once."""
    # The protocol is named because asyncio sets TCP_NODELAY only where it is.
    named = socket.AF_INET6 if family == 6 else socket.AF_INET
    sock = socket.socket(named, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == 6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return sock


def _md5_option(family: int, key: bytes) -> bytes:
    """A struct tcp_md5sig for all clients of an IP version (include/uapi/linux/tcp.h)."""
    named = socket.AF_INET6 if family == 6 else socket.AF_INET
    anybody = struct.pack("=H", named).ljust(_LARGEST_ADDRESS, b"\0")
    flags, prefix, interface = _MD5SIG_FLAG_PREFIX, 0, 0
    size = struct.pack("=BBHi", flags, prefix, len(key), interface)
    return anybody + size + key.ljust(_LARGEST_KEY, b"\0")


async def _accept_late(sock: socket.socket, factory: AppFactory, wait: float) -> None:
    """Hand over the connections of a listening socket, for ever. wait: seconds for which the oldest
    is left in the queue."""
    loop = asyncio.get_running_loop()
    while True:
        await _connected(sock)
        await asyncio.sleep(wait)
        with suppress(BlockingIOError):
            while True:
                accepted, _ = sock.accept()
                accepted.setblocking(False)
                await loop.connect_accepted_socket(factory, accepted)


async def _connected(sock: socket.socket) -> None:
    """Wait until a connection can be accepted."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)


class Listeners:
    """Every listener of the target by port; closed ones keep their sessions."""

    def __init__(self, families: Sequence[int]) -> None:
        self._families = families
        self._ports = itertools.count(FIRST_PORT)
        self._listeners: dict[int, Listener] = {}

    async def open(self, options: ListenerOptions) -> int:
        """Open a listener on the next port. Raises ValueError, OSError."""
        port = next(self._ports)
        listener = Listener()
        try:
            await listener.open(port, options, self._families)
        except BaseException:
            listener.close()
            raise
        self._listeners[port] = listener
        return port

    def close(self, port: int) -> None:
        """Close a listener. Raises ValueError for a port that never was one."""
        self._find(port).close()

    def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        """Replace a listener's keys. Raises ValueError, OSError."""
        self._find(port).set_keys(keys)

    def sessions(self, port: int) -> list[Session]:
        """What a listener's application has seen. Raises ValueError."""
        return self._find(port).log.sessions()

    def settle(self, port: int, peers: Collection[tuple[str, int]]) -> list[Session]:
        """What a listener's application has seen of some clients, once for all. Raises
        ValueError."""
        return self._find(port).log.settle(peers)

    def _find(self, port: int) -> Listener:
        if port not in self._listeners:
            raise ValueError(f"no listener on port {port}")
        return self._listeners[port]
