"""The servers that a client connects to, and the dispatch of its packets to them."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from scapy_tfo.clients.application import (
    NO_COOKIE,
    NOT_ACKNOWLEDGED,
    SENT_AGAIN,
    Application,
    Client,
    Dialogue,
    Ended,
    KernelWord,
)
from scapy_tfo.clients.connection import Incoming
from scapy_tfo.segment import Address, Segment
from scapy_tfo.suite.outcome import Ending, Failed, Missing, Skipped
from scapy_tfo.suite.switchboard import Heard, Key, Switchboard

PORT = 80
TEXT = 100
"""Bytes that an application has to say unless a case wants another size."""

AGAIN_WITHIN = 4.0
"""Seconds within which a SYN without an answer comes again: RFC 6298 has it after one."""

Variant = TypeVar("Variant")

_ALPHABET = b"abcdefghijklmnopqrstuvwxyz0123456789"

UNSERVED = "the application did not get our answer whole"

NOT_TOLD = (
    "the client exits with status 0 even if a connection is refused without fast open: whether its "
    "user is told of failures cannot be judged"
)

NOT_ENDING = (
    "the client does not end even if a connection is refused without fast open, maybe because it "
    "tries again by itself: whether its user is told of failures cannot be judged; let the command "
    "try once, as with wget2 --tries=1"
)

_STARTS_AT_ONCE = 8
"""Applications that start at the same time: more of them would only wait for each other."""

_MOST, _MOST_IN_ALL = 256, 20_000
"""Connections that one server takes, and all servers of a run: a run of all cases has about 2,000,
and each is kept to the end."""


class Reception(Switchboard):
    """A switchboard at which servers answer connections that they did not open.

    connections: all that came. starting: held by who starts an application. shares: the families
    have half of the variants each, where a case has many. habit: NOT_TOLD or NOT_ENDING where
    applications end well, or not at all, though a plain connection is refused; "" where they tell
    of it; None where nobody needed to know. asking: held by who finds that out.
    """

    def __init__(
        self, client: Client, *, seed: int = 0, capture: bool = True, shares: bool = False
    ) -> None:
        self.client = client
        self.shares = shares
        self.habit: str | None = None
        self.asking = asyncio.Lock()
        self.connections: list[Incoming] = []
        self.starting = asyncio.Semaphore(_STARTS_AT_ONCE)
        self._servers: dict[tuple[Address, int], Server] = {}
        super().__init__(client.link, seed=seed, capture=capture)
        watch = self.watch
        watch.opens, watch.active = True, client.unchanged
        watch.ordered = watch.whole = client.direct

    def add(self, server: Server) -> None:
        """Let a server answer from now on."""
        self._servers[server.address, server.port] = server

    def _flow(self, key: Key, when: float, segment: Segment | None) -> Heard | None:
        heard = super()._flow(key, when, segment)
        server = self._servers.get((key[0], key[1]))
        if server is None or (heard is not None and not server.reopens(heard, segment)):
            return heard
        if len(server.connections) >= _MOST or len(self.connections) >= _MOST_IN_ALL:
            self.bounds.flooded.add(server.owner)
            return None
        return server.admit(key)


class Server:
    """An address and port of ours that the client has not heard of yet, and what comes to it.

    watch: told of each server that a case makes. cookie: one that it may grant. text: what the
    application that was started last has to say. observed: facts for the report that judge nothing.
    doubts: why the case cannot tell something, though nothing failed. takes: makes a connection of
    what comes.
    """

    def __init__(
        self,
        board: Reception,
        *,
        family: int,
        owner: str,
        patience: float,
        observed: dict[str, str],
        watch: Callable[[Server], None],
        address: Address | None = None,
        port: int = PORT,
    ) -> None:
        self.board = board
        self.family = family
        self.owner = owner
        self.patience = patience
        self.again_within = AGAIN_WITHIN
        self.observed = observed
        self.address = board.client.server(family) if address is None else address
        self.port = port
        self.cookie = board.random.randbytes(8)
        self.text = b""
        self.connections: list[Incoming] = []
        self.doubts: list[str] = []
        self.takes: Callable[..., Incoming] = Incoming
        self.application: Application | None = None
        self._watch = watch
        self._seen = 0
        self._came: asyncio.Event = asyncio.Event()
        self._begun: list[Application] = []
        board.add(self)
        watch(self)

    @property
    def client(self) -> Client:
        return self.board.client

    @property
    def dialogue(self) -> Dialogue:
        return self.client.dialogue

    @property
    def random(self) -> random.Random:
        return self.board.random

    def siblings(self, number: int) -> list[Server]:
        """So many other servers, of new addresses."""
        return [self.sibling() for _ in range(number)]

    def sibling(self, *, port: int | None = None) -> Server:
        """Another server: of a new address, or of ours where a port is given."""
        return Server(
            self.board,
            family=self.family,
            owner=self.owner,
            patience=self.patience,
            observed=self.observed,
            watch=self._watch,
            address=None if port is None else self.address,
            port=PORT if port is None else port,
        )

    def some(self, variants: Sequence[Variant]) -> Sequence[Variant]:
        """The variants of a conversation that are for this family: all, or half of them, where
        the other one has the other half."""
        if not self.board.shares:
            return variants
        return variants[0 if self.family == 4 else 1 :: 2]

    def reopens(self, heard: Heard, segment: Segment | None) -> bool:
        """Whether a segment on the ports of an earlier connection begins another one: a SYN that
        came after the next application had started, and repeats none of a connection that goes
        on. A client may take a port again as soon as it is free."""
        if segment is None or not isinstance(heard, Incoming):
            return False
        is_another = len(self._begun) > heard.application and (
            heard.stream.ended or all(segment.seq != each.seq for each in heard.syns)
        )
        return is_another and segment.is_syn and not segment.is_rst

    def admit(self, key: Key) -> Incoming:
        """A connection that is new here."""
        found = self.takes(self, key, isn=self.random.getrandbits(32), patience=self.patience)
        found.application = len(self._begun)
        self.connections.append(found)
        self.board.connections.append(found)
        self._came.set()
        return found

    # What a case calls

    async def start(
        self, size: int = TEXT, *, ask: bool = True, crowded: bool = False
    ) -> Application:
        """Start an application that connects here and sends so many bytes. crowded: with little
        room among its options."""
        tag = b"<%d:%d>" % (len(self._begun), self.port)
        room = max(size - len(tag), 0)
        self.text = (tag + (_ALPHABET * (room // len(_ALPHABET) + 1))[:room])[:size]
        client = self.client
        if not (ask or client.can_be_plain):
            raise Skipped("needs a client that can do without fast open: use a ready-made one")
        if crowded and not client.crowding:
            raise Skipped("needs a client whose options can be crowded: use a ready-made one")
        self.application = await client.start(
            self.address, self.port, self.text, ask=ask, crowded=crowded
        )
        self._begun.append(self.application)
        return self.application

    async def connection(self, what: str = "a SYN", *, within: float | None = None) -> Incoming:
        """The next connection that the client opens here. Raises Missing where none comes."""
        loop = asyncio.get_running_loop()
        until = loop.time() + (self.patience if within is None else within)
        while True:
            waiting = [each for each in self.connections[self._seen :] if each.syns]
            if waiting:
                self._seen = self.connections.index(waiting[0]) + 1
                return waiting[0]
            self._came.clear()
            try:
                async with asyncio.timeout_at(until):
                    await self._came.wait()
                    # It is counted where the packet that made it has been read.
                    await asyncio.sleep(0)
            except TimeoutError:
                raise Missing(f"{what} did not come", expected=what, actual="nothing") from None

    async def connected(
        self, size: int = TEXT, *, ask: bool = True, crowded: bool = False
    ) -> Incoming:
        """Start an application, and its connection: none that another one opens once more."""
        async with self.board.starting:
            self._seen = len(self.connections)
            application = await self.start(size, ask=ask, crowded=crowded)
            try:
                return await self.connection("a SYN of the application that was started")
            except Missing:
                if not crowded:
                    raise
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.patience):
                        said = (await application.ended()).said
                        raise Skipped(f"its options cannot be crowded here: {said}") from None
                raise

    async def grant(
        self, cookie: bytes | None = None, *, mss: int | None = None, with_mss: bool = True
    ) -> bytes:
        """Let the client get a cookie in a whole connection; the cookie. A client that asks for
        none ends the case as unsupported."""
        cookie = self.cookie if cookie is None else cookie
        first = await self.connected()
        if mss is not None:
            first.mss = mss
        first.must_ask()
        first.answer(0, cookie=cookie, with_mss=with_mss)
        await first.serve()
        return cookie

    async def fast_open(self, size: int = TEXT, *, mss: int | None = None) -> Incoming:
        """A connection with text in its SYN, by a cookie that was granted in one before."""
        cookie = await self.grant(mss=mss)
        found = await self.connected(size)
        found.opens_fast(cookie)
        return found

    async def must_be_content(self, connection: Incoming, body: bytes) -> None:
        """Demand that the application ends well, with our answer; and where its kernel can be
        asked, that it says of the fast open what we saw."""
        ended = await self.ended(connection)
        connection.require(
            ended.status == 0 and (self.dialogue.relay is not None or ended.received == body),
            UNSERVED,
            f"exit status 0 and {len(body)} bytes",
            f"status {ended.status}, {len(ended.received)} bytes {ended.said}".strip(),
        )
        if ended.word is not None:
            self._must_agree(connection, ended.word)

    async def must_be_told(
        self, connection: Incoming, of: str, *, within: float | None = None
    ) -> None:
        """Demand that the application hears that its connection failed, if it hears that of plain
        ones."""
        try:
            ended = await self.ended(connection, within=within)
        except Missing:
            if not await self.cannot_tell(NOT_ENDING):
                raise
            # What it opens by itself would be taken for the connection of the next application.
            assert self.application is not None
            self.application.kill()
            self._seen = len(self.connections)
            return
        if not ended.status and await self.cannot_tell(NOT_TOLD):
            return
        connection.require(
            ended.status != 0,
            f"the application is not told of {of}",
            "an exit status other than 0",
            f"status 0, {len(ended.received)} bytes",
        )
        self.record(f"the application's word on {of}", ended.said or f"status {ended.status}")

    async def cannot_tell(self, habit: str) -> bool:
        """Whether the applications have that habit, NOT_TOLD or NOT_ENDING, also where a connection
        is refused that is no fast open. If so, the case is in doubt."""
        async with self.board.asking:
            if self.board.habit is None:
                self.board.habit = await self._habit()
        if self.board.habit == habit:
            self.doubts.append(habit)
        return self.board.habit == habit

    async def _habit(self) -> str:
        """What an application does whose connection is refused: where it can do without, it does
        not even ask for a cookie."""
        other = self.sibling()
        try:
            found = await other.connected(ask=not self.client.can_be_plain)
        except Ending:
            return ""
        found.refuse()
        try:
            return "" if (await other.ended(found)).status else NOT_TOLD
        except Missing:
            return NOT_ENDING

    async def ended(self, connection: Incoming, *, within: float | None = None) -> Ended:
        """How the application ended. Raises Missing where it does not."""
        assert self.application is not None
        try:
            async with asyncio.timeout(self.patience if within is None else within):
                return await self.application.ended()
        except TimeoutError:
            raise connection.missing("the end of the client's application") from None

    def _must_agree(self, connection: Incoming, word: KernelWord) -> None:
        """Hold what the kernel says of the connection against what we saw of it."""
        size, taken = len(connection.first.payload), connection.taken
        if connection.first.fast_open:
            self.observed["the client's kernel"] = str(word)
        if connection.crossed:
            # Linux counts no SYN-ACK behind a SYN that crossed its own.
            return
        if connection.brought_data:
            # Linux says so also of data that came in the SYN-ACK, wherever the SYN had none.
            word = replace(word, accepted=word.accepted and size > 0)
        again = len(connection.syns) > 1
        saw = KernelWord(accepted=0 < size == taken, failed="")
        if not size and connection.first.fast_open:
            saw = KernelWord(accepted=False, failed=NO_COOKIE)
        elif taken < size:
            saw = KernelWord(accepted=False, failed=SENT_AGAIN if again else NOT_ACKNOWLEDGED)
        # A SYN that was sent again while our SYN-ACK was under way counts or does not.
        connection.require(
            word == saw or (again and word.accepted == saw.accepted),
            "the client's kernel says otherwise of its fast open (TCP_INFO)",
            str(saw),
            str(word),
        )

    def record(self, what: str, value: object) -> None:
        """Note a fact that is shown in the report and judges nothing."""
        self.observed[what] = str(value)

    def failed(self, reason: str, *, expected: str, actual: str) -> Failed:
        """A failure that cites the last connection."""
        last = self.connections[-1] if self.connections else None
        return Failed(
            reason,
            expected=expected,
            actual=actual,
            packets=last.cited if last else (),
            flow=last.name if last else "",
        )

    def need_chosen_text(self) -> None:
        """End the case where the client's text is its own."""
        if not self.dialogue.chosen:
            raise Skipped("needs a client that sends what it is given: {file} in its command")

    def need_raw_text(self) -> None:
        """End the case where an answer of nothing is none for the client."""
        if self.dialogue.answer(b""):
            raise Skipped("needs a client that takes an empty answer, which is none in HTTP")

    def close(self) -> None:
        """End the applications, then the connections."""
        for each in self._begun:
            each.kill()
        for connection in self.connections:
            connection.hang_up()
