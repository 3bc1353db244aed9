"""Hands out listeners that are there already, to cases that ask for one just like them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scapy_tfo.lab.hooks import BACKLOG, Hooks, ListenerOptions, NotOfferedError, Session
from scapy_tfo.stacks.file import SMALL

STANDING = "standing"
"""Stands among the verbs of a target whose listeners are handed out so."""

_USUAL = ListenerOptions().queue


class StandingHooks:
    """`Hooks` of a stack that has only ports, and maybe hooks without `listen`.

    ports: by application, each with room for all cases. small: of an echo listener with a limit of
    `SMALL` pending fast opens, which one case at a time can use. inner: what else there is.
    """

    def __init__(
        self, ports: Mapping[str, int], small: int | None, inner: Hooks | None = None
    ) -> None:
        self.ports, self._small, self._inner = ports, small, inner

    async def listen(self, options: ListenerOptions) -> int:
        app, queue = options.app, options.queue
        wanted = f"a listener for '{app}' with a limit of {queue} pending fast opens"
        if not options.keys and options.backlog == BACKLOG:
            if queue == SMALL and app == "echo":
                if self._small is not None:
                    return self._small
                raise NotOfferedError(f"{wanted}: give --small-port, or the hook 'listen'")
            if queue == _USUAL:
                if app in self.ports:
                    return self.ports[app]
                raise NotOfferedError(f"{wanted}: give --app-port {app}=N, or the hook 'listen'")
        raise NotOfferedError(f"{wanted} of its own: only the hook 'listen' makes it")

    async def close_listener(self, port: int) -> None:
        raise NotOfferedError(f"the hook 'close', for a listener (port {port}) of its own")

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        raise NotOfferedError(f"the hook 'keys' ({len(keys)} for port {port})")

    async def sessions(self, port: int) -> list[Session]:
        if self._inner is None:
            raise NotOfferedError("the hook 'sessions', the application's own word")
        return await self._inner.sessions(port)

    async def counters(self) -> dict[str, int]:
        return {} if self._inner is None else await self._inner.counters()
