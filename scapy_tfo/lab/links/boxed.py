"""A path through middleboxes, on the running asyncio loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from scapy_tfo.middleboxes.box import Box, Out


class BoxedPath:
    """boxes: from the client on. to_client and to_server: called with what comes out there."""

    def __init__(
        self,
        boxes: Sequence[Box],
        to_client: Callable[[bytes], None],
        to_server: Callable[[bytes], None],
    ) -> None:
        self._boxes = tuple(boxes)
        self._to_client = to_client
        self._to_server = to_server
        self._loop = asyncio.get_running_loop()
        self._open = True

    def from_client(self, packet: bytes) -> None:
        """Put in a packet of the client's."""
        self._onward(packet, 0)

    def from_server(self, packet: bytes) -> None:
        """Put in a packet of the server's."""
        self._homeward(packet, len(self._boxes) - 1)

    def close(self) -> None:
        """What is under way is lost."""
        self._open = False

    def _onward(self, packet: bytes, at: int) -> None:
        """at: the box that is next."""
        if not self._open:
            return
        if at == len(self._boxes):
            self._to_server(packet)
        else:
            self._pass(self._boxes[at].from_client(packet, self._loop.time()), at)

    def _homeward(self, packet: bytes, at: int) -> None:
        if not self._open:
            return
        if at < 0:
            self._to_client(packet)
        else:
            self._pass(self._boxes[at].from_server(packet, self._loop.time()), at)

    def _pass(self, out: Out, at: int) -> None:
        for each in out:
            step, there = (self._onward, at + 1) if each.onward else (self._homeward, at - 1)
            if each.after:
                self._loop.call_later(each.after, step, each.packet, there)
            else:
                step(each.packet, there)
