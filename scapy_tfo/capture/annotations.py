"""Records each change that a case makes to its target, as a comment on the next packet sent.

Such a comment says `before it, port 10127 opened for echo: 256 pending, backlog 16384`, or
`before it, port 10127 got the keys 00..ff`, or `before it, port 10127 closed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scapy_tfo.lab.hooks import Hooks, ListenerOptions, Session

_CHANGE = re.compile(
    r"before it, port (?P<port>\d+) (?:"
    r"opened for (?P<app>\S+): (?P<queue>\d+) pending, backlog (?P<backlog>\d+)"
    r"(?:, keys (?P<own>[0-9a-f,]+))?"
    r"|got the keys (?P<keys>[0-9a-f,]+)"
    r"|(?P<closed>closed))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Of the listener on a port: it was opened (options), got other keys, or else was closed."""

    port: int
    options: ListenerOptions | None = None
    keys: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        begin = f"before it, port {self.port}"
        if self.options is not None:
            made = self.options
            own = f", keys {_in_hex(made.keys)}" if made.keys else ""
            return (
                f"{begin} opened for {made.app}: {made.queue} pending, backlog {made.backlog}{own}"
            )
        return f"{begin} got the keys {_in_hex(self.keys)}" if self.keys else f"{begin} closed"


def changes_in(comment: str) -> tuple[tuple[Change, ...], str]:
    """The changes that a packet's comment tells of, and what else it says."""
    found = tuple(_change(match) for match in _CHANGE.finditer(comment))
    rest = [each for each in _CHANGE.sub("", comment).split("; ") if each.strip()]
    return found, "; ".join(rest) if found else comment


def _change(match: re.Match[str]) -> Change:
    port = int(match["port"])
    if match["app"] is None:
        return Change(port=port, keys=_from_hex(match["keys"]))
    queue, backlog = int(match["queue"]), int(match["backlog"])
    keys = _from_hex(match["own"])
    return Change(port=port, options=ListenerOptions(match["app"], queue, keys, backlog))


def _in_hex(keys: Sequence[bytes]) -> str:
    return ",".join(key.hex() for key in keys)


def _from_hex(text: str | None) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(each) for each in text.split(",")) if text else ()


class ToldHooks:
    """Hooks whose changes are told. tell: called with each, once it is made."""

    def __init__(self, hooks: Hooks, tell: Callable[[Change], None]) -> None:
        self._hooks = hooks
        self._tell = tell

    async def listen(self, options: ListenerOptions) -> int:
        port = await self._hooks.listen(options)
        self._tell(Change(port=port, options=options))
        return port

    async def close_listener(self, port: int) -> None:
        await self._hooks.close_listener(port)
        self._tell(Change(port=port))

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        await self._hooks.set_keys(port, keys)
        self._tell(Change(port=port, keys=tuple(keys)))

    async def sessions(self, port: int) -> list[Session]:
        return await self._hooks.sessions(port)

    async def counters(self) -> dict[str, int]:
        return await self._hooks.counters()
