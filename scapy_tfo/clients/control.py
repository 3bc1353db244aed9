"""Control connections: what a client does that is served rightly, and what it says of itself.

A bystander is a server that has granted a cookie and never does anything wrong. Whatever other
servers and paths do to the client, it is opened fast: negative answers are kept by address and port
(RFC 7413 4.1.3.1).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scapy_tfo.clients.connection import ASKED, NOT_USED, Incoming
from scapy_tfo.clients.server import UNSERVED, Server
from scapy_tfo.errors import TargetError
from scapy_tfo.spec import Catalogue
from scapy_tfo.suite.outcome import (
    Ending,
    Failed,
    Inconclusive,
    Missing,
    Unsupported,
    judging,
)
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
                client.must_use(server.cookie, text=server.client.writes_at_once)
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


def came_to_harm(connection: Incoming) -> bool:
    """Whether a fast open or its connection met anything else than an acceptance: a refusal,
    silence, an error, or an end that was not orderly."""
    refused = connection.taken < len(connection.first.payload) if connection.syns else False
    return refused or len(connection.syns) > 1 or not connection.stream.ended


_SOON = 0.5
"""Seconds: who gives up so early does so for another reason than that it waited for long."""


class TimeOut:
    """Whether the applications of one family give up by themselves where an answer takes long.

    note: what was found of that, "" for nothing.
    """

    def __init__(self, make: Make, patience: float) -> None:
        self.note = ""
        self._make = make
        self._patience = patience
        self._one_at_a_time = asyncio.Lock()
        self._borne: list[tuple[float, float]] = []
        self._not_borne: list[tuple[float, float]] = []

    async def judged(self, ending: Failed | Missing, servers: Sequence[Server]) -> Ending:
        """How a case ended: as it did, or Inconclusive where the application gave up, and does so,
        too, on a connection that takes as long, in which nothing is opened fast."""
        if not (isinstance(ending, Missing) or ending.reason == UNSERVED):
            return ending
        found = await _given_up(servers)
        if found is None:
            return ending
        course, now = found.course, asyncio.get_running_loop().time() - found.began
        said = now if course.said is None else course.said
        answered = now if course.answered is None else min(course.answered, said)
        if said < _SOON or await self._bears(answered, said):
            return ending
        why = (
            "the client's application gives up by itself: it also does on a connection that is no "
            f"fast open and takes as long, {said:.1f} s"
        )
        self.note = self.note or f"{why}: what takes longer cannot be judged"
        return Inconclusive(why)

    async def _bears(self, answered: float, said: float) -> bool:
        """Whether an application ends well that is answered, and spoken to, after so long."""
        async with self._one_at_a_time:
            if any(answered <= one and said <= two for one, two in self._borne):
                return True
            if any(answered >= one and said >= two for one, two in self._not_borne):
                return False
            bears = await self._meets(answered, said)
            (self._borne if bears else self._not_borne).append((answered, said))
            return bears

    async def _meets(self, answered: float, said: float) -> bool:
        server = self._make("control of how long it waits", 3 * self._patience)
        try:
            found = await server.connected(ask=not server.client.can_be_plain)
            await asyncio.sleep(answered)
            found.answer(0)
            await asyncio.sleep(said - answered)
            await found.serve(within=server.again_within)
        except Ending:
            return await _given_up([server]) is None
        finally:
            server.close()
        return True


async def _given_up(servers: Sequence[Server]) -> Incoming | None:
    """The last connection of the last server that an application was started for, if that has
    ended."""
    for server in reversed(servers):
        if server.application is None or not server.connections:
            continue
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await server.application.ended()
                return server.connections[-1]
        return None
    return None


_FORGETS = (
    "the client forgets the cookie of one server where another grants one: it asks for it again, "
    "which it may"
)

_ROUNDS = 3
"""So often a client has to forget that is believed to: one may miss its cookies at times."""


class Cache:
    """Whether the client's cache is so small that one server's cookie is forgotten for another's.

    RFC 7413 names no size. note: as of TimeOut.
    """

    def __init__(self, make: Make, patience: float) -> None:
        self.note = ""
        self._make = make
        self._patience = patience
        self._is_small: bool | None = None

    async def judged(self, ending: Failed | Missing, *, is_last: bool) -> Ending:
        """How a case ended, where a cookie was asked for again that had been granted.

        is_last: it is not tried again, and runs alone if others ran beside it before. Until then
        what others were granted may have taken the cookie's place, and it is tried again.
        """
        if ending.reason != NOT_USED or not ending.actual.startswith(f"cookie: {ASKED}"):
            return ending
        if not is_last:
            ended = Missing(
                ending.reason,
                expected=ending.expected,
                actual=ending.actual,
                packets=ending.packets,
                flow=ending.flow,
            )
            ended.requirements = ending.requirements
            return ended
        if self._is_small is None:
            self._is_small = await self._forgets()
        if not self._is_small:
            return ending
        self.note = _FORGETS
        return Inconclusive(_FORGETS)

    async def _forgets(self) -> bool:
        """Whether a cookie is used that was just granted, and one is not behind which another
        server's was granted, each time."""
        servers: list[Server] = []
        try:
            for _ in range(_ROUNDS):
                three = [self._make("control of the cache", 3 * self._patience) for _ in range(3)]
                servers += three
                alone, first, second = three
                await alone.grant()
                if not await self._uses(alone):
                    return False
                await first.grant()
                await second.grant()
                if await self._uses(first):
                    return False
            return True
        except Ending:
            return False
        finally:
            for each in servers:
                each.close()

    async def _uses(self, server: Server) -> bool:
        client = await server.connected()
        option = client.option
        client.answer()
        await client.serve()
        return option is not None and option.cookie == server.cookie


@dataclass(frozen=True, slots=True)
class Beside:
    """The controls of one family that stand beside the cases."""

    bystander: Bystander
    time_out: TimeOut
    cache: Cache

    @property
    def notes(self) -> list[str]:
        """What was found of the client by controls that a case called for."""
        return [each for each in (self.time_out.note, self.cache.note) if each]

    async def judged(
        self, ending: Failed | Missing, servers: Sequence[Server], *, is_last: bool
    ) -> Ending:
        """How a case ended, in the light of what the client does in controls."""
        found = await self.cache.judged(ending, is_last=is_last)
        if isinstance(found, Failed | Missing):
            found = await self.time_out.judged(found, servers)
        return found


def harms(beside: Mapping[int, Beside], catalogue: Catalogue) -> list[Result]:
    """The failures of the bystanders, by family."""
    every = (each.bystander.result(family, catalogue) for family, each in beside.items())
    return [each for each in every if each is not None]


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
