"""Promptness: what a client owes, and may send, is on the wire before any timer (RFC 9293 3.8.1).

It owes the rest of its text as soon as a SYN-ACK has opened the connection. With the window open
and nothing lost, all of it comes at once, since each segment is acknowledged as it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.registry import Conversation
from scapy_tfo.clients.server import Server
from scapy_tfo.suite.outcome import judging

SOON = 0.6
"""Seconds: less than the timer of RFC 6298, and much more than a client's own work takes. A stack
with a shorter timer may pass unseen."""

_TIMERS = 8.0
"""Seconds in which what waits for timers comes, too: it is late, and not lost."""

_SIZES = (100, 3000, 20_000)


async def prompt(client: Incoming, size: int) -> None:
    """Demand so many bytes of the client's text before any timer."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    with judging("CLI-6a"):
        await client.until(
            f"{size} bytes of the client's text",
            lambda: len(client.stream.data) >= size,
            within=_TIMERS,
            acking=True,
        )
    with judging("CLI-21a"):
        took = loop.time() - began
        client.require(
            took < SOON * max(1.0, client.patience / 1.5),
            "data that is owed waits for a timer, though the window is open and nothing was lost",
            f"{size} bytes at once",
            f"after {took:.1f} s",
        )


def _owed(size: int, taken: Callable[[int], int]) -> Conversation:
    async def run(server: Server) -> None:
        server.need_chosen_text()
        client = await server.fast_open(size)
        client.answer(taken(len(client.first.payload)))
        await prompt(client, len(server.text))
        await client.serve()

    return run


WAYS: dict[str, Conversation] = {
    f"{name} of {size} bytes": _owed(size, taken)
    for size in _SIZES
    for name, taken in (
        ("nothing is taken", lambda _: 0),
        ("half is taken", lambda size: size // 2),
        ("all is taken", lambda size: size),
    )
}
"""Situations in which data is owed, by name."""
