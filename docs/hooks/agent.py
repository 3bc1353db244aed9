#!/usr/bin/env python3
"""Hooks for scapy-tfo, as docs/hooks.md describes them: an agent to copy, for Linux and FreeBSD.

    agent.py                  speaks on its standard input and output (hooks.command)
    agent.py --socket PATH    listens there, and prints "ready" (hooks.socket)

It needs Python 3.9 or later and nothing else. Copy it and change it as you like.
SPDX-License-Identifier: 0BSD
"""

import argparse
import asyncio
import collections
import contextlib
import errno
import itertools
import os
import re
import signal
import socket
import struct
import sys

FIRST_PORT = 10001
MAX_RECEIVED, MAX_SESSIONS = 1 << 20, 4096
LINUX = sys.platform.startswith("linux")
FREEBSD = sys.platform.startswith("freebsd")
TCP_FASTOPEN = getattr(socket, "TCP_FASTOPEN", 1025 if FREEBSD else 23)
TCP_FASTOPEN_KEY = 33  # linux/tcp.h
DEFAULT_BACKLOG = 16384
SIZED = ("send", "send-close", "send-abort", "two-sends", "half-close")
APPS = ("echo", "http", "mute", "close", "abort", "never-reads", *SIZED)
VERBS = ["listen", "close", "sessions", "restart", *(["keys", "counters"] if LINUX else [])]


class CannotError(Exception):
    """This stack or this agent does not do that: answered with "no"."""


class Session(asyncio.Protocol):
    """One accepted connection, with the application on it and the record of what it saw."""

    def __init__(self, app, size, sessions):
        self.app, self.size, self.sessions = app, size, sessions
        self.received, self.head = bytearray(), b""
        self.eofs, self.error, self.closed = 0, "-", False

    def connection_made(self, transport):
        self.transport = transport
        self.peer = transport.get_extra_info("peername")[:2]
        self.sessions.append(self)
        if self.app in SIZED:
            for _ in range(2 if self.app == "two-sends" else 1):
                transport.write(pattern(self.size))
        if self.app in ("send-close", "two-sends", "close"):
            self.close_drained(2)
        elif self.app in ("send-abort", "abort"):
            self.abort()
        elif self.app == "half-close":
            transport.write_eof()
        elif self.app == "never-reads":
            transport.pause_reading()

    def data_received(self, data):
        self.received += data[: MAX_RECEIVED - len(self.received)]
        if self.app in ("echo", "send"):
            self.transport.write(data)
        elif self.app == "http":
            self.head += data
            while b"\r\n\r\n" in self.head and not self.transport.is_closing():
                request, _, self.head = self.head.partition(b"\r\n\r\n")
                self.answer(request)
            if len(self.head) > 1 << 16:
                self.transport.close()

    def eof_received(self):
        self.eofs += 1
        self.transport.close()  # once all is written
        return True

    def connection_lost(self, error):
        if error is not None:
            self.error = errno.errorcode.get(getattr(error, "errno", 0) or 0, "ERROR")
        self.closed = True

    # An echo must not read faster than its peer does, or it fills the memory.
    def pause_writing(self):
        self.transport.pause_reading()

    def resume_writing(self):
        self.transport.resume_reading()

    def close_drained(self, turns):
        # To close with bytes unread sends RST, not FIN: read the data of the SYN first.
        if turns:
            asyncio.get_running_loop().call_soon(self.close_drained, turns - 1)
        else:
            self.transport.close()

    def abort(self):
        sock = self.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def answer(self, request):
        found = re.match(rb"(GET|HEAD) (\S+) HTTP/1\.1(?:\r\n|$)", request)
        last = not found or re.search(rb"(?i)\r\nconnection:\s*close", request)
        size = re.fullmatch(rb"/bytes/([0-9]{1,7})", found[2]) if found else None
        body = pattern(int(size[1])) if size else b"hello\n"
        status = b"200 OK" if found else b"400 Bad Request"
        closing = b"Connection: close\r\n" if last else b""
        head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, len(body), closing)
        self.transport.write(head if found and found[1] == b"HEAD" else head + body)
        if last:
            self.transport.close()

    def told(self):
        state = "closed" if self.closed else "open"
        received = self.received.hex() or "-"
        host, port = self.peer
        return f"{host.partition('%')[0]},{port},{self.eofs},{state},{self.error},{received}"


def pattern(size):
    """Byte i is i modulo 251."""
    period = bytes(range(251))
    return (period * (size // 251 + 1))[:size]


def families():
    """IPv4, and IPv6 where the kernel has it."""
    found = [socket.AF_INET]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as sock:
        sock.bind(("::", 0))
        found.append(socket.AF_INET6)
    return found


class Listener:
    """A port, open for IPv4 and IPv6."""

    def __init__(self):
        self.sockets, self.servers = [], []
        self.sessions = collections.deque(maxlen=MAX_SESSIONS)

    async def open(self, port, app, size, limit, backlog):
        loop = asyncio.get_running_loop()
        for family in families():
            # The protocol is named because asyncio sets TCP_NODELAY only where it is.
            sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            self.sockets.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            if limit:
                value = 1 if FREEBSD else limit
                sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, value)
            sock.bind(("", port))
        for sock in self.sockets:
            make = loop.create_server(
                lambda: Session(app, size, self.sessions), sock=sock, backlog=backlog
            )
            self.servers.append(await make)

    def close(self):
        for each in [*self.servers, *self.sockets]:
            each.close()


class Agent:
    """Everything that the suite can ask for. A verb's method returns the words behind "ok"."""

    def __init__(self):
        self.listeners = {}
        self.ports = itertools.count(FIRST_PORT)

    async def hello(self, *_versions):
        return ["1", *VERBS]

    async def listen(self, app, limit, backlog, port=None):
        name, colon, size = app.partition(":")
        if name not in APPS or bool(colon) != (name in SIZED):
            raise CannotError(f"application {app}")
        limit, backlog = int(limit), int(backlog)
        if FREEBSD and limit:
            # There the limit is half the backlog, so the two cannot be chosen apart.
            if backlog != DEFAULT_BACKLOG:
                raise CannotError("a limit and a backlog, each as asked for")
            backlog = 2 * limit
        number = next(self.ports) if port is None else int(port)
        listener = Listener()
        try:
            await listener.open(number, name, int(size or 0), limit, backlog)
        except BaseException:
            listener.close()
            raise
        self.listeners[number] = listener
        return [str(number)]

    async def close(self, port):
        self.listeners[int(port)].close()
        return []

    async def sessions(self, port):
        # What the stack has in its queues by now counts as read.
        for _ in range(10):
            await asyncio.sleep(0)
        return [each.told() for each in self.listeners[int(port)].sessions]

    async def keys(self, port, keys):
        for sock in self.listeners[int(port)].sockets:
            sock.setsockopt(
                socket.IPPROTO_TCP, TCP_FASTOPEN_KEY, bytes.fromhex(keys.replace(",", ""))
            )
        return []

    async def counters(self):
        with open("/proc/net/netstat") as file:
            lines = [line.split() for line in file]
        found = {}
        for at in range(0, len(lines) - 1, 2):  # a line of names, then one of values
            if lines[at][0] == "TcpExt:":
                found = {name: lines[at + 1][i] for i, name in enumerate(lines[at])}
        return [f"{name}={value}" for name, value in found.items() if "FastOpen" in name]

    async def restart(self):
        for listener in self.listeners.values():
            listener.close()
            for session in listener.sessions:
                if not session.closed:
                    session.abort()
        self.listeners.clear()
        return []

    async def obey(self, readline, write):
        """Answer each line with one line, until the other end hangs up."""
        try:
            while line := await readline():
                await write((await self.answer(line.decode("ascii", "replace"))).encode() + b"\n")
        except (OSError, ValueError):
            pass  # it hung up, or sent a line without an end
        finally:
            await self.restart()

    async def answer(self, line):
        verb, *arguments = line.split() or [""]
        if verb not in ("hello", *VERBS):
            return f"no verb {verb!r}"
        try:
            return " ".join(["ok", *await getattr(self, verb)(*arguments)])
        except CannotError as error:
            return f"no {error}"
        except KeyError as error:
            return f"error no listener on port {error}"
        except Exception as error:  # whatever it is, the suite should read it
            return f"error {type(error).__name__} {error}".replace("\n", " ")


async def on_socket(agent, path):
    async def take(reader, writer):
        async def write(answer):
            writer.write(answer)
            await writer.drain()

        await agent.obey(reader.readline, write)
        writer.close()

    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    server = await asyncio.start_unix_server(take, path)
    print("ready", flush=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.close)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve_forever()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


async def on_stdio(agent):
    async def readline():
        return await asyncio.to_thread(sys.stdin.buffer.readline)

    async def write(answer):
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()

    await agent.obey(readline, write)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--socket", metavar="PATH", help="listen there, not on standard input")
    path = parser.parse_args().socket
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(on_stdio(Agent()) if path is None else on_socket(Agent(), path))


if __name__ == "__main__":
    main()
