"""Our servers, and who of them a packet of the client's is for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from scapy_tfo.clients.application import Application, Client, Dialogue
from scapy_tfo.clients.incoming import Incoming
from scapy_tfo.segment import Address
from scapy_tfo.suite.outcome import Failed, Missing, Skipped
from scapy_tfo.suite.switchboard import Heard, Key, Switchboard

PORT = 80
TEXT = 100
"""Bytes that an application has to say unless a case wants another size."""

AGAIN_WITHIN = 4.0
"""Seconds within which a SYN without an answer comes again: RFC 6298 has it after one."""

_ALPHABET = b"abcdefghijklmnopqrstuvwxyz0123456789"


class Reception(Switchboard):
    """A switchboard at which servers answer connections that they did not open."""

    def __init__(self, client: Client, *, seed: int = 0, capture: bool = True) -> None:
        self.client = client
        self._servers: dict[tuple[Address, int], Server] = {}
        super().__init__(client.link, seed=seed, capture=capture)

    def add(self, server: Server) -> None:
        """Let a server answer from now on."""
        self._servers[server.address, server.port] = server

    def _flow(self, key: Key, when: float) -> Heard | None:
        heard = super()._flow(key, when)
        server = self._servers.get((key[0], key[1]))
        return server.admit(key) if heard is None and server is not None else heard


class Server:
    """An address and port of ours that the client has not heard of yet, and what comes to it.

    watch: told of each server that a case makes. cookie: one that it may grant. text: what the
    application that was started last has to say. observed: facts for the report that judge nothing.
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
        self.application: Application | None = None
        self._watch = watch
        self._seen = 0
        self._came: asyncio.Event = asyncio.Event()
        self._begun: list[Application] = []
        board.add(self)
        watch(self)

    @property
    def dialogue(self) -> Dialogue:
        return self.board.client.dialogue

    @property
    def random(self) -> random.Random:
        return self.board.random

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

    def admit(self, key: Key) -> Incoming:
        """A connection that is new here."""
        found = Incoming(self, key, isn=self.random.getrandbits(32), patience=self.patience)
        self.connections.append(found)
        self._came.set()
        return found

    # What a case calls

    async def start(self, size: int = TEXT, *, ask: bool = True) -> Application:
        """Start an application that connects here and sends so many bytes."""
        tag = b"<%d:%d>" % (len(self._begun), self.port)
        room = max(size - len(tag), 0)
        self.text = (tag + (_ALPHABET * (room // len(_ALPHABET) + 1))[:room])[:size]
        client = self.board.client
        if not (ask or client.can_be_plain):
            raise Skipped("needs a client that can do without fast open: use a ready-made one")
        self.application = await client.start(self.address, self.port, self.text, ask=ask)
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

    async def connected(self, size: int = TEXT, *, ask: bool = True) -> Incoming:
        """Start an application, and its connection."""
        await self.start(size, ask=ask)
        return await self.connection("a SYN of the application that was started")

    async def grant(self, cookie: bytes | None = None, *, mss: int | None = None) -> bytes:
        """Let the client get a cookie in a whole connection; the cookie. A client that asks for
        none ends the case as unsupported."""
        cookie = self.cookie if cookie is None else cookie
        first = await self.connected()
        if mss is not None:
            first.mss = mss
        first.must_ask()
        first.answer(0, cookie=cookie)
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
        assert self.application is not None
        try:
            async with asyncio.timeout(self.patience):
                ended = await self.application.ended()
        except TimeoutError:
            raise connection.missing("the end of the client's application") from None
        connection.require(
            ended.status == 0 and ended.received == body,
            "the application did not get our answer whole",
            f"exit status 0 and {len(body)} bytes",
            f"status {ended.status}, {len(ended.received)} bytes {ended.said}".strip(),
        )
        if ended.word is not None and connection.first.payload:
            saw = connection.taken == len(connection.first.payload)
            told = f"SYN data acknowledged: {ended.word.accepted}"
            self.observed["the client's kernel"] = told + (
                f" ({ended.word.failed})" if ended.word.failed else ""
            )
            if len(connection.syns) == 1:
                connection.require(
                    ended.word.accepted == saw,
                    "the client's kernel says otherwise of the SYN's data (TCP_INFO)",
                    f"SYN data acknowledged: {saw}",
                    told,
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

    def close(self) -> None:
        """End the applications, then the connections."""
        for each in self._begun:
            each.kill()
        for connection in self.connections:
            connection.hang_up()
