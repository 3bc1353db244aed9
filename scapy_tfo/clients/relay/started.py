"""Real servers that a run starts for itself, on loopback, and ends with itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from scapy_tfo.clients.relay.recipes import DIRECTORY, PORT, RECIPES, Recipe
from scapy_tfo.clients.relay.upstream import Endpoint, Streams, Upstream
from scapy_tfo.errors import SetupError, TargetError, did_you_mean
from scapy_tfo.lab.process.kept import Kept
from scapy_tfo.lab.process.namespace import die_with_parent

_HOST = "127.0.0.1"
_START_LIMIT = 10.0
"""Seconds that a server may take until it listens."""
_POLL = 0.02
_ACCEPTS = b"ACCEPT"
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where servers are, which an ordinary user does not have on PATH."""


class _PerConnection:
    """A server of which each process serves one connection: another one is started for each."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self.name = name
        self._words = words

    async def connect(self) -> Streams:
        parent = os.getpid()
        process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            preexec_fn=lambda: die_with_parent(parent),
        )
        assert process.stdout is not None
        async with asyncio.timeout(_START_LIMIT):
            async for line in process.stdout:
                if line.startswith(_ACCEPTS):
                    port = int(line.rpartition(b":")[2])
                    return await asyncio.open_connection(_HOST, port)
        raise OSError("it ended before it listened")


@contextlib.contextmanager
def serving(server: str) -> Iterator[Upstream]:
    """Start a server, and end it afterwards.

    server: the name of a recipe, or a command with {port}, as a shell would read it, that stays in
    the foreground and listens there on 127.0.0.1. Raises SetupError where it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="scapy-tfo-") as directory:
        recipe = RECIPES.get(server) or _of_user(server)
        port = str(_free_port())

        def filled(text: str) -> str:
            return text.replace(DIRECTORY, directory).replace(PORT, port)

        words = [_program(recipe.words[0], server), *map(filled, recipe.words[1:])]
        for name, text in recipe.files.items():
            Path(directory, name).write_text(filled(text), "utf-8")
        if recipe.secure:
            _make_certificate(directory)
        if recipe.one_at_a_time:
            yield _PerConnection(server, words)
            return
        process = Kept(words, what=f"the server {server}", directory=Path.cwd(), environment={})
        try:
            _wait(process, int(port))
            yield Endpoint(_HOST, int(port))
        finally:
            process.close()


def _of_user(server: str) -> Recipe:
    if PORT not in server:
        raise SetupError(
            f"--serve '{server}' is no server that is known here, and no command with {PORT}; "
            f"known are {', '.join(RECIPES)}" + did_you_mean(server, RECIPES)
        )
    try:
        words = shlex.split(server)
    except ValueError as error:
        raise SetupError(f"--serve '{server}' is no command: {error}") from None
    return Recipe("", tuple(words))


def _program(name: str, server: str) -> str:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SBIN])
    found = shutil.which(name, path=path)
    if found is None:
        raise SetupError(f"--serve {server} needs the command {name}, which is not installed")
    return found


def _free_port() -> int:
    with socket.create_server((_HOST, 0)) as found:
        port: int = found.getsockname()[1]
        return port


def _wait(process: Kept, port: int) -> None:
    """Wait until something listens there. Raises SetupError where nothing does."""
    try:
        asyncio.run(process.ready(_START_LIMIT))
    except TargetError as error:
        raise SetupError(str(error)) from None
    until = time.monotonic() + _START_LIMIT
    while time.monotonic() < until:
        if why := process.ended():
            raise SetupError(why)
        with contextlib.suppress(OSError), socket.create_connection((_HOST, port), _POLL):
            return
        time.sleep(_POLL)
    raise SetupError(f"the server does not listen on {_HOST}:{port} after {_START_LIMIT:g} s")


def _make_certificate(directory: str) -> None:
    """A key, and a certificate that it signs itself."""
    made = f"-nodes -days 2 -subj /CN=scapy-tfo -keyout {DIRECTORY}/key.pem"
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 {made}".split()
    words = [each.replace(DIRECTORY, directory) for each in words]
    ended = subprocess.run(
        [_program("openssl", "with TLS"), *words, "-out", f"{directory}/certificate.pem"],
        capture_output=True,
        check=False,
    )
    if ended.returncode:
        raise SetupError(f"openssl makes no certificate: {ended.stderr.decode().strip()[-200:]}")
