"""The peer that a case talks to: the target at one address, over one IP family."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from scapy_tfo.capture.annotations import Change, ToldHooks
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import BACKLOG, QUEUE, Hooks, ListenerOptions, Session
from scapy_tfo.segment import ACK, RST, Address
from scapy_tfo.suite.application import Dressed, NoApp, make_app
from scapy_tfo.suite.context.context import USUAL, Context
from scapy_tfo.suite.context.dress import FIXED, Dress
from scapy_tfo.suite.control import PathRecord
from scapy_tfo.suite.delivery.timer import first_timeout
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.needs import NEEDS
from scapy_tfo.suite.outcome import (
    Cookieless,
    Failed,
    Inconclusive,
    Skipped,
    Symptom,
    Ungranted,
    Unsupported,
    shows,
)
from scapy_tfo.suite.switchboard import Switchboard
from scapy_tfo.suite.target import LOOKS_ACCEPTED, Service, Target

_PORTS_TRIED = 8
_MANY = 32
"""Conversations of one case from which a small target may have no room for others."""
_LATE = 0.4
"""Seconds, with each attempt more."""
GRANT_PAUSE = 1.1
"""Seconds between requests to a server that may grant one in a second."""
_COOKIE_REQUESTS = 3
"""Without a cookie, after so many a target counts as granting none."""


class Peer:
    """The target as one run of one case sees it.

    family: 4 or 6. main: the listener to use unless a case needs another. observed: facts that the
    case records where the standard leaves the outcome open. patience: seconds that an expectation
    waits, worked out from the path's round trip. path: the run's own record. turn: for what one
    conversation of the case does at a time. sources: addresses to send from, the preferred first.
    attempt: counted from 1; a target of our own meets the second from other addresses, so that it
    remembers nothing of them. context, dress: what surrounds the case, and what makes it so.
    """

    def __init__(
        self,
        target: Target,
        board: Switchboard,
        *,
        family: int,
        owner: str,
        patience: float,
        path: PathRecord,
        attempt: int = 1,
        context: Context = USUAL,
    ) -> None:
        known = target.sources_in(context, family)
        # Two by two, because cases use no more; with hooks, for others may have to allow each.
        fresh = 2 * (attempt - 1) % len(known) if target.is_ours else 0
        self.sources = known[fresh:] + known[:fresh]
        self.target, self.family, self.context = target, family, context
        self.main: Service = target.main_in(context)
        self.observed: dict[str, str] = {}
        self.dress = Dress(context, family, board.link.now, target.link.mtu)
        self.patience = patience + self.dress.thinks
        # A timer of a host that is busy with others comes later than it should.
        self._late = 0.0 if target.is_ours else _LATE * (attempt - 1)
        self.flows, self.turn = list[Flow](), asyncio.Lock()
        self._board, self._owner, self._path = board, owner, path
        self._dressed = Dressed(context, self.largest_segment)

    @property
    def address(self) -> Address:
        return self.target.addresses[self.family]

    @property
    def _slack(self) -> float:
        """Seconds that path, application and a busy host may take; some round trips fit in."""
        return 4 * self._path.rtt + self._path.thinking + self.dress.thinks + self._late

    @property
    def largest_segment(self) -> int:
        """The MSS that the link allows, in bytes: 1460 (IPv4) or 1440 (IPv6) on Ethernet."""
        return min(self.target.link.mtu, 1500) - FIXED[self.family]

    def flow(
        self,
        service: Service | None = None,
        *,
        source: int = 0,
        isn: int | None = None,
        like: Flow | None = None,
        port: int = 0,
        sender: Address | None = None,
        receiver: Address | None = None,
    ) -> Flow:
        """A new conversation on a source port of its own, or on the 4-tuple of `like`.

        source: 0 for the first source address, 1 for the second. sender, receiver: others than both
        ends have. port: the source port; raises SetupError where another case has it.
        """
        where = service or self.main
        address = like.source if like else sender or self.sources[source]
        port = like.sport if like else port
        if not any((each.source, each.sport) == (address, port) for each in self.flows):
            port = self.dress.reserve(self._board, address, (self.address, where.port), port)
        flow = Flow(
            self._board,
            owner=self._owner,
            source=address,
            target=receiver or self.address,
            sport=port,
            dport=like.dport if like else where.port,
            app=like.app if like else self._dressed(where.app),
            isn=self.dress.isn(self._board.random, again=bool(like)) if isn is None else isn,
            mss=self.largest_segment,
            patience=self.patience,
            dress=self.dress.signing(where.md5) if where.md5 else self.dress,
        )
        flow.slack = self._slack
        flow.timer.timeout = first_timeout(self._path.rtt)
        self.flows.append(flow)
        if len(self.flows) >= _MANY:
            self._path.holding.add(self._owner)
        return flow

    def two_clients(self, isns: Sequence[int | None] = (None, None)) -> tuple[Flow, Flow]:
        """Conversations from two source addresses that have the source port in common."""
        for _ in range(_PORTS_TRIED):
            first = self.flow(isn=isns[0])
            with suppress(SetupError):
                return first, self.flow(source=1, isn=isns[1], port=first.sport)
        raise Inconclusive("no port is free at both source addresses")

    @shows(missing=Symptom.GRANTS_NOTHING, again=True)
    async def cookie(
        self, service: Service | None = None, *, source: int = 0, **fields: Any
    ) -> bytes:
        """Ask for a cookie as a client does, and give the connection up again.

        fields: of the SYN's Segment, where they shall be other than usual.

        Asks again where none is granted, because a SYN-ACK that is sent a second time has none
        (RFC 7413 section 4.2.2), and a server may grant few in a second. Raises Cookieless where
        the target grants none: it may; Ungranted where it has granted one before in this run.
        """
        usual = service in (None, self.main)
        for number in range(_COOKIE_REQUESTS):
            if usual and self._path.grants_nothing(self.family):
                break
            if number and self.family in self._path.grants:
                await self.wait(GRANT_PAUSE)
            flow = self.flow(service, source=source)
            flow.syn(cookie=b"", **fields)
            syn_ack = await flow.syn_ack("a SYN-ACK to a cookie request")
            flow.send(RST, seq=flow.their_rcv_nxt)
            if syn_ack.cookie:
                if usual:
                    self._path.grants.add(self.family)
                return syn_ack.cookie
            self._path.asked[self.family] += usual
        if self.family in self._path.grants and usual:
            raise Ungranted(
                "no cookie was granted this time",
                expected="a SYN-ACK with a cookie, as before",
                actual="a SYN-ACK without one",
                packets=flow.cited,
                flow=flow.name,
            )
        raise Cookieless("the target grants no cookie when asked for one")

    async def open(
        self,
        service: Service | None = None,
        *,
        data: bytes | None = None,
        source: int = 0,
        isn: int | None = None,
        cookie: bytes = b"",
    ) -> Flow:
        """A fast open with a fresh cookie or that one, accepted, still in SYN-RCVD there. Where
        the server took a part of the data, that is `sent`, and the rest goes out later."""
        cookie = cookie or await self.cookie(service, source=source)
        flow = self.flow(service, source=source, isn=isn)
        request = flow.app.request() if data is None else data
        flow.syn(cookie=cookie, data=request)
        flow.must_accept(await flow.syn_ack(), len(request))
        return flow

    async def connect(self, service: Service | None = None, *, source: int = 0) -> Flow:
        """A plain connection, its handshake done."""
        flow = self.flow(service, source=source)
        flow.syn()
        await flow.syn_ack("a SYN-ACK to a plain SYN")
        flow.ack()
        return flow

    async def goes_on(self, flow: Flow, *, rst: int | None = None) -> bool:
        """Whether a connection still answers, where the standard lets it go on or end.

        Asks for more: True for the right answer to all of `sent`, False for a RST; else the case
        fails. rst: the sequence number of a RST that rejects one segment and ends nothing.
        """
        lives = await flow.goes_on(rst=rst)
        self.record("the connection", "goes on" if lives else "is reset")
        return lives

    async def fill(
        self, service: Service | None = None, *, most: int, cookie: bytes = b""
    ) -> list[Flow]:
        """Leave fast opens without an ACK until one is refused, or `most` are pending.

        Those accepted, oldest first; fewer than `most` means that the next one was refused. Give
        a cookie where the limit is reached: a target may grant none. Raises Unsupported.
        """
        if self.target.keeps_syn_data:
            raise Unsupported(LOOKS_ACCEPTED)
        cookie = cookie or await self.cookie(service)
        pending: list[Flow] = []
        while len(pending) < most:
            flow = self.flow(service)
            request = flow.app.request()
            flow.syn(cookie=cookie, data=request)
            syn_ack = await flow.syn_ack()
            if not flow.acknowledged(syn_ack):
                break
            flow.must_accept(syn_ack, len(request))
            pending.append(flow)
        return pending

    async def still_serves(self, service: Service | None = None) -> None:
        """Demand that the listener still takes a plain connection and, with an app, answers it."""
        flow = await self.connect(service)
        flow.request()
        await flow.answered()

    async def accepts(
        self, cookie: bytes, service: Service | None = None, *, source: int = 0
    ) -> bool:
        """Whether a cookie with data is accepted now; the connection is closed again."""
        flow = self.flow(service, source=source)
        flow.syn(cookie=cookie, data=flow.app.request())
        syn_ack = await flow.syn_ack("a SYN-ACK to a cookie with data")
        flow.ack(seq=syn_ack.ack)
        flow.hang_up()
        return flow.acknowledged(syn_ack) > 0

    async def falls_back(self, flow: Flow, why: str, *, fresh: bool = False) -> None:
        """Demand a plain handshake on a SYN just sent, `why` ("on ...") says for what reason.

        The SYN alone is acknowledged, no cookie comes back unless `fresh`, and the data, sent
        again, is delivered once. A server that takes data without any cookie (OPT-11) takes this
        data too: that is recorded, and no failure.
        """
        syn_ack = await flow.syn_ack(f"a SYN-ACK {why}")
        if not fresh:
            flow.require(
                not syn_ack.cookie,
                f"a cookie was granted {why}",
                "a SYN-ACK without a cookie",
                f"cookie {(syn_ack.cookie or b'').hex()}",
            )
        if flow.acknowledged(syn_ack) and (
            await self.takes_any_data() or await self.takes_empty_cookies()
        ):
            self.record("data without a cookie", "accepted")
            flow.must_accept(syn_ack, sum(map(len, flow.sent)))
            flow.ack()
        else:
            flow.must_refuse(syn_ack, why)
            flow.send(ACK, b"".join(flow.sent), seq=flow.their_rcv_nxt)
        if flow.app.answers:
            if not flow.sent:
                flow.request()
            await flow.finish()

    async def copes(self, why: str, *flows: Flow) -> None:
        """Demand that malformed SYNs just sent have done no harm, `why` as in `falls_back`.

        The target may drop or reset each. Where it answers, that is a plain handshake; and the
        listener goes on serving in any case.
        """
        await self.still_serves()
        for flow in flows:
            if any(each.is_syn_ack for each in flow.heard):
                await self.falls_back(flow, why)

    async def must_not_be_cookieless(self, why: str) -> None:
        """Leave the case where data was taken without a good cookie, `why` says how, by a server
        that needs none: it grants none, and takes data with no option or with an empty one (RFC
        7413 section 7.3).

        Raises Unsupported there, since its operator may choose so.
        """
        try:
            await self.cookie()
        except (Unsupported, Ungranted):
            if await self.takes_any_data() or await self.takes_any_data(cookie=b""):
                raise Unsupported(f"{why}: the server takes data without any cookie") from None

    async def takes_any_data(
        self, service: Service | None = None, *, cookie: bytes | None = None
    ) -> bool:
        """Whether SYN data is acknowledged with no option at all: by a server without cookies, or
        one that keeps it until the handshake ends (RFC 9293 section 3.10.7.2)."""
        async with self.turn:  # Many that are half-open would change the answer.
            flow = self.flow(service)
            flow.syn(cookie=cookie, data=flow.app.request())
            syn_ack = await flow.syn_ack("a SYN-ACK to a SYN with data")
            flow.hang_up()
        return flow.acknowledged(syn_ack) > 0

    async def takes_empty_cookies(self) -> bool:
        """Whether SYN data is acknowledged with an empty option, by a server that grants no cookie
        of another length (RFC 7413 section 7.3)."""
        try:
            await self.cookie()
        except Unsupported:
            return await self.takes_any_data(cookie=b"")
        return False

    # What only a target of our own lets a case do

    @property
    def hooks(self) -> Hooks:
        if self.target.hooks is None:
            raise Skipped(f"needs {NEEDS['listeners']}")
        return ToldHooks(self.target.hooks, self._tell)

    def _tell(self, change: Change) -> None:
        self._board.announce(self._owner, str(change))

    async def listen(
        self,
        app: str = "echo",
        *,
        queue: int = QUEUE,
        keys: Sequence[bytes] = (),
        backlog: int = BACKLOG,
    ) -> Service:
        """A listener made to order; `app` and the rest as in lab.hooks.ListenerOptions."""
        told = self.context.listens(app, limited=queue < QUEUE or backlog < BACKLOG)
        port = await self.hooks.listen(ListenerOptions(told, queue, tuple(keys), backlog))
        known = app in ("echo", "http")
        return Service(port, make_app(app, str(self.address)) if known else NoApp())

    async def small_queue(self, size: int = 4) -> Service:
        """An echo listener of its own whose limit of pending fast opens is `size`."""
        return await self.listen("echo", queue=size)

    async def sessions(self, service: Service) -> list[Session]:
        """The connections that the application behind a service has seen."""
        return await self.hooks.sessions(service.port)

    async def session(self, flow: Flow, service: Service) -> Session | None:
        """What the application saw of one conversation, None where it saw nothing of it."""
        for each in await self.sessions(service):
            if each.peer == (str(flow.source), flow.sport):
                return each
        return None

    async def wait(self, seconds: float) -> None:
        """Let time pass at the target, virtual in simulation, and on the path."""
        await asyncio.sleep(seconds + self._slack)

    def record(self, what: str, value: object) -> None:
        """Note a fact that is shown in the report and judges nothing."""
        self.observed[what] = str(value)

    def require(self, holds: bool, reason: str, *, expected: str, actual: str) -> None:
        """Fail the case unless the condition holds; cites the last flow."""
        if not holds:
            last = self.flows[-1] if self.flows else None
            raise Failed(
                reason,
                expected=expected,
                actual=actual,
                packets=last.cited if last else (),
                flow=last.name if last else "",
            )

    def hang_up(self) -> None:
        """End every conversation and give the ports back."""
        self._path.holding.discard(self._owner)
        for flow in self.flows:
            flow.hang_up()
        for source, port in {(flow.source, flow.sport) for flow in self.flows}:
            self.target.link.release_port(source, port)
