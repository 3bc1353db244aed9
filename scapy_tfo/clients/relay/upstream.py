"""A real server, as the relay sees it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Upstream(Protocol):
    """name: for messages. It is for one run, and serves many connections at a time."""

    @property
    def name(self) -> str: ...

    async def connect(self) -> Streams:
        """A new connection to it. Raises OSError where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that listens somewhere, on a host and a port."""

    host: str
    port: int

    @property
    def name(self) -> str:
        return f"the server {self.host}:{self.port}"

    async def connect(self) -> Streams:
        return await asyncio.open_connection(self.host, self.port)
