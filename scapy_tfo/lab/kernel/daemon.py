"""Runs a real server as a child of the agent, with a private /tmp."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.process.namespace import die_with_parent, enter_private_tmp
from scapy_tfo.lab.process.stderr import Stderr

START_LIMIT = 10.0
"""Seconds a server may take until it listens."""

_POLL = 0.01
_LISTEN = "0A"
_FAILED = 70


class Daemon:
    """One server process. It ends with the agent, and its files with it."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: Stderr) -> None:
        self._process = process
        self._stderr = stderr

    @classmethod
    def start(cls, argv: Sequence[str], files: Mapping[str, bytes]) -> Daemon:
        """Run a command that stays in the foreground.

        files: what it finds in its /tmp, by relative path; without any it has the host's, where the
        program itself may be. Raises OSError.
        """
        stderr = Stderr()
        agent = os.getpid()

        def confine() -> None:
            try:
                if files:
                    enter_private_tmp(files)
            except OSError as error:
                os.write(2, f"no private /tmp: {error.strerror}\n".encode())
                os._exit(_FAILED)
            die_with_parent(agent)

        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stderr.fd,
            stderr=stderr.fd,
            cwd="/",
            preexec_fn=confine,
        )
        return cls(process, stderr)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def listening(self, port: int, families: Sequence[int]) -> None:
        """Wait until it listens on a port, in every family. Raises SetupError if it never does."""
        tables = ["/proc/net/tcp6" if family == 6 else "/proc/net/tcp" for family in families]
        for _ in range(int(START_LIMIT / _POLL)):
            status = self._process.poll()
            if status is not None:
                said = self._stderr.last_words(2) or f"status {status}"
                raise SetupError(f"{self._name} did not start: {said}")
            if all(_listens(table, port) for table in tables):
                return
            await asyncio.sleep(_POLL)
        raise SetupError(f"{self._name} did not listen on port {port} in {START_LIMIT:g} s")

    def stop(self) -> None:
        """End it and reap it."""
        self._process.kill()
        self._process.wait()

    @property
    def _name(self) -> str:
        args = self._process.args
        return str(args[0]) if isinstance(args, Sequence) else str(args)


def _listens(table: str, port: int) -> bool:
    rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == _LISTEN for row in rows)
