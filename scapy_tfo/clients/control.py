"""Control connections: what a client does that is served rightly, and what it says of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from scapy_tfo.clients.server import Server
from scapy_tfo.errors import TargetError
from scapy_tfo.suite.outcome import Ending, Failed, Missing
from scapy_tfo.suite.result import Level, Result, Verdict

_LAST_WORDS = 0.1
"""Seconds in which an application that has ended tells so."""

_TRIES = 3
"""Fast opens that must all break before a run is ended for it."""

Make = Callable[[str, float], Server]
"""A new server: for whom, and how long it waits, in seconds."""


async def plain_connection(make: Make, name: str, family: int, patience: float) -> None:
    """One plain connection, served whole. Raises TargetError where that fails."""
    server = make("control connection", 3 * patience)
    try:
        found = await server.connected()
        found.answer(0)
        await found.serve()
    except Ending as ending:
        flood = server.board.bounds.doubt(server.owner)
        said = f"{ending.reason}: expected {ending.expected}, got {ending.actual}"
        said += f"; flooded: {flood}" if flood else ""
        raise TargetError(
            f"{name} cannot be judged over IPv{family}: a plain connection fails: "
            f"{said}{await last_words([server])}"
        ) from None


async def fast_open(make: Make, family: int, patience: float) -> Result | None:
    """A fast open that is accepted and served rightly; the failure where the client's application
    breaks each time, None otherwise. Whatever else goes wrong is for the cases."""
    words = ""
    ending: Ending | None = None
    for attempt in range(_TRIES):
        server = make("control fast open", (1 + attempt) * patience)
        try:
            client = await server.fast_open()
            client.answer()
            await client.serve()
            return None
        except (Failed, Missing) as found:
            ending, words = found, await last_words([server])
            if not words:
                return None
        except Ending:
            return None
    assert ending is not None
    return Result(
        case="CLI-23.a-fast-open-that-is-accepted-gets-through",
        title="A fast open by a cookie that was granted is served like any other connection.",
        family=family,
        requirements=("CLI-23",),
        level=Level.ROBUST,
        verdict=Verdict.FAIL,
        reason=f"plain connections work, and those with a cookie break{words}",
        expected=ending.expected,
        actual=f"{ending.reason}: {ending.actual}".removesuffix(": "),
        flow=ending.flow,
        packets=ending.packets,
        attempts=_TRIES,
    )


async def last_words(servers: Sequence[Server]) -> str:
    """What an application says that has ended badly: of the last that has; "" if none has."""
    for server in reversed(servers):
        if server.application is None:
            continue
        try:
            async with asyncio.timeout(_LAST_WORDS):
                ended = await server.application.ended()
        except TimeoutError:
            continue
        if ended.status:
            said = f": {ended.said}" if ended.said else ""
            return f"; the client ended with status {ended.status}{said}"
    return ""
