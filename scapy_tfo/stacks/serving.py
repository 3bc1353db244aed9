"""Offers the hooks of a stack of our own to others, on a Unix socket (docs/hooks.md)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
from collections.abc import AsyncIterator
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.app_registry import app_factory
from scapy_tfo.lab.hooks import VERBS, Hooks, ListenerOptions, Session
from scapy_tfo.lab.sessions import SessionLog
from scapy_tfo.stacks.words import MAX_VALUES, VERSION

OFFERED = tuple(each for each in VERBS if each != "restart")

_LINE = 1024
_KEYS = re.compile(r"[0-9a-f]{32}(?:,[0-9a-f]{32})?")


@contextlib.asynccontextmanager
async def hooks_on(path: Path, hooks: Hooks) -> AsyncIterator[None]:
    """Answer on a Unix socket of this path, which only this user may use, and remove it at the end.

    Raises SetupError where it cannot be made.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(
                lambda reader, writer: _Conversation(hooks).hold(reader, writer), path, limit=_LINE
            )
        finally:
            os.umask(before)
    except OSError as error:
        raise SetupError(f"cannot offer hooks at {path}: {error.strerror or error}") from None
    try:
        yield
    finally:
        server.close()
        with contextlib.suppress(OSError):
            path.unlink()


class _Conversation:
    """With one who asks; the listeners that it has opened close at its end."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._opened: set[int] = set()

    async def hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(await self._answer(line.decode("ascii", "replace").split()) + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            # It hung up, or sent a line without an end.
            pass
        finally:
            for port in self._opened:
                await self._hooks.close_listener(port)
            writer.close()

    async def _answer(self, words: list[str]) -> bytes:
        try:
            return " ".join(["ok", *await self._done(words)]).encode()
        except NotImplementedError as error:
            return f"no {error}".encode("ascii", "replace")
        except KeyError as error:
            return f"error no listener on port {error}".encode("ascii", "replace")
        except (OSError, ValueError) as error:
            return f"error {error}".encode("ascii", "replace")

    async def _done(self, words: list[str]) -> list[str]:
        match words:
            case ["hello", *_]:
                return [VERSION, *OFFERED]
            case ["listen", app, queue, backlog, *port]:
                return [str(await self._listen(app, queue, backlog, port))]
            case ["close", port]:
                await self._hooks.close_listener(int(port))
                self._opened.discard(int(port))
                return []
            case ["sessions", port]:
                return [
                    _told(each) for each in (await self._hooks.sessions(int(port)))[-MAX_VALUES:]
                ]
            case ["keys", port, keys] if _KEYS.fullmatch(keys):
                await self._hooks.set_keys(int(port), [bytes.fromhex(k) for k in keys.split(",")])
                return []
            case ["counters"]:
                found = await self._hooks.counters()
                return [f"{name}={value}" for name, value in found.items()]
        raise NotImplementedError(f"such a question: {' '.join(words)[:60]!r}")

    async def _listen(self, app: str, queue: str, backlog: str, port: list[str]) -> int:
        if port:
            raise NotImplementedError("a port of your choice")
        try:
            app_factory(app, SessionLog())
        except ValueError as error:
            raise NotImplementedError(str(error)) from None
        options = ListenerOptions(app, int(queue), (), int(backlog))
        number = await self._hooks.listen(options)
        self._opened.add(number)
        return number


def _told(session: Session) -> str:
    host, port = session.peer
    state = "closed" if session.closed else "open"
    received = session.received.hex() or "-"
    return f"{host},{port},{session.eof},{state},{session.error or '-'},{received}"
