"""The interface by which a case controls and observes a target of our own from the inside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

BACKLOG = 16384
"""So long that no case fills it by chance."""

QUEUE = 256
"""Pending fast opens of a listener whose limit no case is about."""

VERBS = ("listen", "close", "sessions", "keys", "counters", "restart")
"""What hooks can offer, by the words of docs/hooks.md."""


class NotOfferedError(Exception):
    """The hooks do not do what a case asks of them, so it cannot run. The message completes "the
    case needs ..."."""


class HooksBrokenError(Exception):
    """The hooks failed, or do not keep to docs/hooks.md: the message says how. This tells nothing
    about the stack."""


@dataclass(frozen=True, slots=True)
class Session:
    """One connection as the application saw it.

    peer: the client's address and port. received: every byte read, in order. eof: how often the
    end of stream was told. error: the error that ended it (`ECONNRESET`), or "". closed: the
    application is done with it.
    """

    peer: tuple[str, int]
    received: bytes = b""
    eof: int = 0
    error: str = ""
    closed: bool = False


@dataclass(frozen=True, slots=True)
class ListenerOptions:
    """How a listener is made.

    app: what answers on it (see lab/apps.py). queue: limit of pending fast opens; 0 leaves fast
    open off. keys: cookie keys of this listener alone, primary first (16 bytes each, one or
    two); empty for the host's own. backlog: connections in SYN-RCVD or not yet accepted.
    """

    app: str = "echo"
    queue: int = QUEUE
    keys: Sequence[bytes] = field(default_factory=tuple)
    backlog: int = BACKLOG


class Hooks(Protocol):
    """The inside of a target. Every port is opened for IPv4 and IPv6 at once.

    Those of a target that is not our own raise NotOfferedError and HooksBrokenError.
    """

    async def listen(self, options: ListenerOptions) -> int:
        """Open a listener and return its port. It stays open until the target ends."""
        ...

    async def close_listener(self, port: int) -> None:
        """Close a listener; its accepted connections go on."""
        ...

    async def set_keys(self, port: int, keys: Sequence[bytes]) -> None:
        """Replace a listener's cookie keys, primary first."""
        ...

    async def sessions(self, port: int) -> list[Session]:
        """Every connection accepted on a port so far, oldest first."""
        ...

    async def counters(self) -> dict[str, int]:
        """The target's own counters of fast open (TcpExt names of Linux), or an empty dict."""
        ...


@runtime_checkable
class Settling(Protocol):
    """Hooks that need not keep what nobody will ask for again."""

    async def settle(self, port: int, peers: Collection[tuple[str, int]]) -> list[Session]:
        """The connections of some clients, by address and port, as they stand now. They are
        forgotten then, and those that are open are reset."""
        ...
