"""Speaks with the agent of a stack's hooks, over a Unix socket or a command's stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from scapy_tfo.errors import TargetError
from scapy_tfo.lab.hooks import HooksBrokenError, ListenerOptions, NotOfferedError, Session
from scapy_tfo.stacks.words import (
    MAX_LINE,
    VERSION,
    GarbledError,
    asked,
    counters_of,
    port_of,
    sessions_of,
    values_of,
    verbs_of,
)

Said = TypeVar("Said")
Meant = TypeVar("Meant")

_RETRY = 0.05
_NOT_YET = (errno.ENOENT, errno.ECONNREFUSED)


async def connected(path: Path, within: float) -> socket.socket:
    """A connection to a Unix socket, which may appear a little later. within: seconds.

    Raises TargetError where nobody takes it.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + within
    while True:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(os.fspath(path))
        except OSError as error:
            sock.close()
            if error.errno in _NOT_YET and loop.time() < until:
                await asyncio.sleep(_RETRY)
                continue
            raise TargetError(
                f"cannot connect to the hooks at {path}: {error.strerror or error}; check that "
                "their agent runs, and 'hooks.socket' in the target file"
            ) from None
        return sock


class AgentHooks:
    """`Hooks` of a stack that speaks docs/hooks.md. verbs: those that it has.

    Every method raises NotOfferedError where the agent cannot do it, and HooksBrokenError where it
    fails. An agent that breaks the rules is asked nothing more; `broken` says what it did.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        within: float,
        first_port: int | None,
        last_words: Callable[[], str],
    ) -> None:
        self.verbs: frozenset[str] = frozenset()
        self.broken = ""
        self._reader, self._writer = reader, writer
        self._within = within
        self._next_port = first_port
        self._last_words = last_words
        self._one_at_a_time = asyncio.Lock()
        self._opened: set[int] = set()

    @classmethod
    async def on(
        cls,
        sock: socket.socket,
        *,
        within: float,
        starts: float = 0.0,
        first_port: int | None = None,
        last_words: Callable[[], str] = lambda: "",
    ) -> Self:
        """Make the agent's acquaintance over a connected socket, which is ours from now on.

        within: seconds that an answer may take; starts: the first one, if that is more.
        first_port: number the listeners upwards from here, None to leave their ports to the
        agent. last_words: what the agent's process said when it ended. Raises TargetError where
        it does not answer as an agent does.
        """
        reader, writer = await asyncio.open_connection(sock=sock, limit=MAX_LINE)
        hooks = cls(reader, writer, within=within, first_port=first_port, last_words=last_words)
        try:
            hooks._within = max(starts, within)
            hooks.verbs = hooks._understood(verbs_of, await hooks._ask("hello", VERSION))
            hooks._within = within
        except (HooksBrokenError, NotOfferedError) as error:
            hooks.abort()
            raise TargetError(f"the hooks cannot be used: {error}") from None
        except BaseException:
            hooks.abort()
            raise
        return hooks

    async def listen(self, options: ListenerOptions) -> int:
        self._must_have("listen")
        if options.keys:
            self._must_have("keys")
        port = () if self._next_port is None else (self._next_port,)
        # Before others may ask, too.
        self._next_port = None if self._next_port is None else self._next_port + 1
        made = await self._ask("listen", options.app, options.queue, options.backlog, *port)
        number = self._understood(port_of, made)
        self._opened.add(number)
        if options.keys:
            await self.set_keys(number, options.keys)
        return number

    async def close_listener(self, port: int) -> None:
        self._must_have("close")
        self._opened.discard(port)
        await self._ask("close", port)

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        self._must_have("keys")
        await self._ask("keys", port, ",".join(key.hex() for key in keys))

    async def sessions(self, port: int) -> list[Session]:
        self._must_have("sessions")
        return self._understood(sessions_of, await self._ask("sessions", port))

    async def counters(self) -> dict[str, int]:
        """Empty where the agent has none."""
        if "counters" not in self.verbs:
            return {}
        return self._understood(counters_of, await self._ask("counters"))

    async def restart(self) -> None:
        """Have the stack as it was at its start."""
        self._must_have("restart")
        await self._ask("restart")
        self._opened.clear()

    async def end(self) -> None:
        """Close what was opened, and hang up."""
        with contextlib.suppress(HooksBrokenError, NotOfferedError):
            for port in sorted(self._opened):
                await self.close_listener(port)
        self.abort()

    def abort(self) -> None:
        """Hang up: an agent closes what was opened over a connection that ends."""
        self._writer.transport.abort()

    def _must_have(self, verb: str) -> None:
        if verb not in self.verbs:
            raise NotOfferedError(f"the hook '{verb}', which the agent does not have")

    def _understood(self, read: Callable[[Said], Meant], said: Said) -> Meant:
        try:
            return read(said)
        except GarbledError as error:
            raise self._break(str(error)) from None

    async def _ask(self, verb: str, *arguments: object) -> list[str]:
        async with self._one_at_a_time:
            if self.broken:
                raise HooksBrokenError(self.broken)
            try:
                async with asyncio.timeout(self._within):
                    self._writer.write(asked(verb, *arguments))
                    await self._writer.drain()
                    line = await self._reader.readuntil(b"\n")
            except TimeoutError:
                raise self._break(f"no answer to '{verb}' in {self._within:g} s") from None
            except asyncio.LimitOverrunError:
                raise self._break(f"an answer to '{verb}' of over {MAX_LINE} bytes") from None
            except (asyncio.IncompleteReadError, OSError):
                ended = f"the agent hung up at '{verb}'"
                words = self._last_words()
                raise self._break(f"{ended}: {words}" if words else ended) from None
            except asyncio.CancelledError:
                # The answer is still to come, and would be taken for that to the next question.
                self._break(f"the wait for an answer to '{verb}' was given up")
                raise
        return self._understood(lambda line: values_of(line, verb), line)

    def _break(self, why: str) -> HooksBrokenError:
        self.broken = self.broken or why
        self.abort()
        return HooksBrokenError(self.broken)
