"""Queries the agent of the far end over plain TCP."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from scapy_tfo.path.far import CONTROL
from scapy_tfo.path.observation import Heard, Sighting
from scapy_tfo.path.serve import TOOL
from scapy_tfo.segment import Address

PATIENCE = 5.0
"""Seconds to wait for an answer."""

_LARGEST = 64 << 20


class Remote:
    """One conversation for each question: a path that breaks long ones is no hindrance.

    mirror: its port. Times are on the agent's clock.
    """

    def __init__(self, address: Address, port: int) -> None:
        self._address = address
        self._port = port
        self._since = 0.0
        self.mirror = 0

    async def greet(self) -> bool:
        """Whether there is an agent at all."""
        said = await self._ask({"ask": "hello"})
        if said is None or said.get("tool") != TOOL:
            return False
        self._since, self.mirror = float(said["now"]), int(said["mirror"])
        return True

    async def report(self) -> tuple[Sequence[Sighting], Sequence[Heard]] | None:
        """What it saw since it was greeted; None where it does not answer."""
        said = await self._ask({"ask": "report", "since": self._since})
        if said is None:
            return None
        seen = [Sighting(when, sent, b64decode(packet)) for when, sent, packet in said["seen"]]
        heard = [Heard((host, port), b64decode(data)) for host, port, data in said["heard"]]
        return seen, heard

    async def _ask(self, question: dict[str, Any]) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection(
                    str(self._address), self._port + CONTROL, limit=_LARGEST
                )
                try:
                    writer.write(json.dumps(question).encode() + b"\n")
                    said = json.loads(await reader.readline())
                finally:
                    writer.close()
        except (OSError, ValueError):
            return None
        return said if isinstance(said, dict) else None
