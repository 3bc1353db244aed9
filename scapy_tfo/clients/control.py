"""Control connections: what a client does that is served rightly, and what it says of itself.

A bystander is a server that has granted a cookie and never does anything wrong. Whatever other
servers and paths do to the client, it is opened fast: negative answers are kept by address and port
(RFC 7413 4.1.3.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from scapy_tfo.clients.connection import Incoming
from scapy_tfo.clients.server import Server
from scapy_tfo.errors import TargetError
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.outcome import Ending, Failed, Missing, Unsupported, judging
from scapy_tfo.suite.registry import strongest
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


_MEETINGS = 200
"""Connections that one bystander takes before another one follows it."""


class Bystander:
    """Servers of one family that are met after each conversation in which a fast open came to harm.

    met: how often. broke: why one was not opened fast, or not served; no more are met then. after:
    the conversations before that.
    """

    def __init__(self, make: Make, patience: float) -> None:
        self.met = 0
        self.broke: Ending | None = None
        self.after = ""
        self._make = make
        self._patience = patience
        self._server: Server | None = None
        self._one_at_a_time = asyncio.Lock()
        self._before: list[str] = []
        self._is_off = True

    async def prepare(self) -> None:
        """Grant a cookie, before anything comes to harm; without this nothing is met. A client that
        asks for none is left alone; what else goes wrong here is for the cases."""
        self._is_off = False
        self._server = self._make("bystander", 3 * self._patience)
        try:
            await self._server.grant()
        except Ending:
            self._is_off = True

    async def meet(self, owner: str) -> None:
        """Be connected to, after the conversation of that owner. One meeting is enough for all
        conversations that ended before it began."""
        self._before.append(owner)
        if len(self._before) > 1:
            return
        async with self._one_at_a_time:
            before, self._before = self._before, []
            if self._is_off or self.broke is not None:
                return
            self.met += 1
            if self.met % _MEETINGS == 0:
                await self.prepare()
            self.broke = await self._outcome()
            self.after = ", ".join(before)

    async def _outcome(self) -> Ending | None:
        """Why it was not opened fast, or not served, twice where something did not come."""
        for attempt in (1, 2):
            try:
                await self._serve()
                return None
            except Unsupported:
                self._is_off = True
                return None
            except Failed as ending:
                return ending
            except Missing as ending:
                if attempt == 2:
                    return ending
        return None

    async def _serve(self) -> None:
        """One connection. A client may have forgotten the cookie (a cache may be as small as that):
        it then asks for another one, and uses that."""
        server = self._server
        assert server is not None
        for has_another in (True, False):
            with judging("CLI-6a"):
                client = await server.connected()
                asked = client.option is not None and client.option.is_request
                if asked and has_another:
                    client.answer(0, cookie=server.cookie)
                    await client.serve()
                    continue
            with judging("CLI-24"):
                client.must_use(server.cookie)
            with judging("CLI-6a"):
                client.answer()
                await client.serve()
            return

    def result(self, family: int, catalogue: Catalogue) -> Result | None:
        """The failure, if there was one."""
        if self.broke is None:
            return None
        level = strongest(self.broke.requirements, catalogue)
        return Result(
            case="CLI-24.a-bystander-is-still-opened-fast",
            title="After each conversation, a server that did no harm is opened fast as before.",
            family=family,
            requirements=self.broke.requirements,
            level=level,
            verdict=Verdict.FAIL if level.can_fail else Verdict.UNSUPPORTED,
            reason=f"a server that did no harm, after {self.after}: {self.broke.reason}",
            expected=self.broke.expected,
            actual=self.broke.actual,
            flow=self.broke.flow,
            packets=self.broke.packets,
        )


def harms(bystanders: Mapping[int, Bystander], catalogue: Catalogue) -> list[Result]:
    """The failures of the bystanders, by family."""
    every = (each.result(family, catalogue) for family, each in bystanders.items())
    return [each for each in every if each is not None]


def came_to_harm(connection: Incoming) -> bool:
    """Whether a fast open or its connection met anything else than an acceptance: a refusal,
    silence, an error, or an end that was not orderly."""
    refused = connection.taken < len(connection.first.payload) if connection.syns else False
    return refused or len(connection.syns) > 1 or not connection.stream.ended


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
