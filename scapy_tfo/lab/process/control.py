"""Starts the agent, sends it requests, and notices when it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import socket
import subprocess
from collections.abc import Mapping
from typing import Any, cast

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.lab.process.module_process import start_module
from scapy_tfo.lab.process.stderr import Stderr

START_LIMIT = 20.0
"""Seconds the agent may take to begin, and to answer one request."""

CLOSE_LIMIT = 2.0
"""Seconds the agent may take to end before it is killed."""

_MAX_GREETING = 4096


class Agent(asyncio.Protocol):
    """One agent process, and the requests under way.

    descriptor: gives and takes IP packets; whoever takes it closes it. device: what is behind
    it, "tun" or "veth" (see lab/kernel/relay.py).
    """

    def __init__(self, process: subprocess.Popen[bytes], stderr: Stderr) -> None:
        self.descriptor = -1
        self.device = ""
        self._process = process
        self._stderr = stderr
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._buffer = bytearray()
        self._gone = ""
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def start(cls, config: Mapping[str, Any]) -> Agent:
        """Start an agent; `config` as `scapy_tfo.lab.kernel.agent.prepare` reads it.

        Raises SetupError with the agent's own reason.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            stderr = Stderr()
            words = [json.dumps({**config, "parent": os.getpid()})]
            try:
                module = "scapy_tfo.lab.kernel.agent"
                process = start_module(module, theirs, words, output=stderr.fd)
            except SetupError:
                ours.close()
                stderr.close()
                raise
        agent = cls(process, stderr)
        try:
            await agent._greeting(ours)
            await asyncio.get_running_loop().create_unix_connection(lambda: agent, sock=ours)
        except BaseException:
            ours.close()
            agent.close()
            raise
        return agent

    async def ask(self, command: str, *arguments: object, limit: float = START_LIMIT) -> Any:
        """Have the agent run one of its `Commands` and give back what it returns.

        limit: seconds that it has for an answer.

        Raises ValueError where the agent refuses, TargetError where it is gone.
        """
        if self._gone or self._transport is None:
            raise TargetError(self._gone)
        number = next(self._ids)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        request = {"id": number, "do": command, "with": arguments}
        self._transport.write(json.dumps(request).encode() + b"\n")
        try:
            async with asyncio.timeout(limit):
                return await answer
        except TimeoutError:
            raise TargetError(f"the lab's agent does not answer {command!r}") from None
        finally:
            del self._waiting[number]

    def close(self) -> None:
        """End the agent, and with it its namespace. Harmless when called twice."""
        if self._transport is not None:
            with contextlib.suppress(OSError):
                self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            # It ends by itself at the end of the stream, and reaps its own children first.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_LIMIT)
            self._transport.abort()
        self._end("the lab is closed")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        for line in lines:
            reply = json.loads(line)
            answer = self._waiting.get(reply["id"])
            if answer is None or answer.done():
                continue
            if "error" in reply:
                answer.set_exception(ValueError(reply["error"]))
            else:
                answer.set_result(reply["value"])

    def connection_lost(self, _exc: Exception | None) -> None:
        self._end("the lab's agent ended")

    def _end(self, what: str) -> None:
        if self._gone:
            return
        self._process.kill()
        self._process.wait()
        self._gone = f"{what}: {self._last_words()}"
        self._stderr.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(TargetError(self._gone))

    def _last_words(self) -> str:
        return self._stderr.last_words() or f"status {self._process.returncode}"

    async def _greeting(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(sock, readable.set)
        try:
            async with asyncio.timeout(START_LIMIT):
                await readable.wait()
        except TimeoutError:
            raise SetupError(f"the lab's agent did not start in {START_LIMIT:g} s") from None
        finally:
            loop.remove_reader(sock)
        try:
            line, fds, _, _ = socket.recv_fds(sock, _MAX_GREETING, 1)
        except ConnectionError:
            line, fds = b"", []
        if not line:
            self._process.wait()
            raise SetupError(f"the lab's agent did not start: {self._last_words()}")
        said = json.loads(line)
        if "error" in said:
            raise SetupError(said["error"])
        self.descriptor, self.device = fds[0], said["device"]
