"""A server in a namespace of its own, set up as one line of JSON on its standard input says.

scripts/linux_configurations.py starts it. It writes sysctls, runs commands, listens, and then
prints "ready", or "lacks REASON" where the kernel or a program does not offer what is asked for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

ECHO = Path(__file__).resolve().parents[2] / "echo" / "echo.py"

BACKLOG = 4096
SMALL_QUEUE = 4
"""Pending fast opens of the listener on the small port."""
PORTS = {"main": 7, "plain": 8, "second": 9, "small": 10}

# linux/tcp.h, linux/in.h; Python 3.11 has no names for the last two.
TCP_DEFER_ACCEPT = 9
TCP_CONGESTION = 13
TCP_FASTOPEN = 23
TCP_FASTOPEN_NO_COOKIE = 34
IPPROTO_MPTCP = 262

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"


class LacksError(Exception):
    """The kernel or a program lacks what a configuration is about."""


def listeners(config: dict[str, Any]) -> list[socket.socket]:
    """The listening sockets, as many for each port as share it. Raises LacksError."""
    queue = config.get("queue", 8192)
    queues = {"main": queue, "plain": 0, "second": queue, "small": SMALL_QUEUE}
    found = []
    for name, port in PORTS.items():
        for _ in range(config.get("reuseport", 1)):
            try:
                found.append(listener(config, port, queues[name]))
            except OSError as error:
                raise LacksError(f"{os.strerror(error.errno or 0)} for the listener") from None
    return found


def listener(config: dict[str, Any], port: int, queue: int) -> socket.socket:
    """One listening socket for both families. queue: pending fast opens, 0 for none."""
    family = socket.AF_INET6 if Path("/proc/sys/net/ipv6").exists() else socket.AF_INET
    protocol = IPPROTO_MPTCP if config.get("mptcp") else 0
    made = socket.socket(family, socket.SOCK_STREAM, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if config.get("reuseport", 1) > 1:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    if name := config.get("congestion"):
        try:
            made.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
        except OSError:
            raise LacksError(f"the kernel has no {name}") from None
    made.bind(("", port))
    # Before listen(), since some kernels read it there.
    if queue:
        made.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, queue)
        if config.get("no_cookie"):
            made.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1)
    if seconds := config.get("defer_accept"):
        made.setsockopt(socket.IPPROTO_TCP, TCP_DEFER_ACCEPT, seconds)
    made.listen(BACKLOG)
    return made


async def discard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read everything, answer nothing but the client's FIN."""
    try:
        while await reader.read(16384):
            pass
    except OSError:
        pass
    finally:
        writer.close()


async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request, and close (RFC 9112 section 9.6)."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


def application(name: str) -> Any:
    """What serves a connection."""
    if name == "echo":
        spec = importlib.util.spec_from_file_location("echo", ECHO)
        assert spec is not None
        assert spec.loader is not None
        echo = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(echo)
        return echo.serve
    return {"discard": discard, "http": answer_once}[name]


def set_up(config: dict[str, Any]) -> None:
    """Prepare the namespace: sysctls, then programs such as ip and nft. Raises LacksError.

    The sysctls come first, since links take some of theirs from what is set when they come up.
    """
    for name, value in config["sysctls"].items():
        try:
            Path("/proc/sys", *name.split(".")).write_text(value, encoding="ascii")
        except FileNotFoundError:
            raise LacksError(f"the kernel has no sysctl {name}") from None
        except OSError as error:
            raise LacksError(f"{name}={value}: {error.strerror}") from None
    for each in config["commands"]:
        run(each["argv"], each.get("input", ""))


def run(argv: list[str], given: str) -> None:
    """Run a program to its end. Raises Lacks where it is missing or fails."""
    try:
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        raise LacksError(f"no program {argv[0]}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise LacksError(f"{argv[0]}: {said[0] if said else f'status {done.returncode}'}")


async def serve(config: dict[str, Any]) -> None:
    handler = application(config.get("app", "echo"))
    for each in listeners(config):
        # It listens once more, with a backlog of its own.
        await asyncio.start_server(handler, sock=each, limit=16384, backlog=BACKLOG)
    print("ready", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    config = json.loads(sys.stdin.readline())
    try:
        set_up(config)
        asyncio.run(serve(config))
    except LacksError as error:
        print(f"lacks {error}", flush=True)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
