"""Loads pages in each of the ways that save round trips today, on virtual time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.link_shape import PAPERS, Line
from scapy_tfo.gain.measuring.rounds import Tell
from scapy_tfo.gain.names import WAY_NAMES
from scapy_tfo.gain.pages import loader
from scapy_tfo.gain.pages.experiment import Plan as PagePlan
from scapy_tfo.gain.pages.experiment import answers_of, work_of
from scapy_tfo.gain.pages.page import Page, Resource
from scapy_tfo.gain.pages.server import Server
from scapy_tfo.gain.secure.certificate import write_certificate
from scapy_tfo.gain.secure.openssl import Context
from scapy_tfo.gain.secure.quic import Host, QuicNetwork, QuicWire, Tickets, import_quic
from scapy_tfo.gain.secure.tls import TlsServer, TlsWire
from scapy_tfo.gain.virtual.network import LINUX, Network
from scapy_tfo.gain.virtual.wire import Wire
from scapy_tfo.runner.clock import run_virtually

RTTS = (0.02, 0.1, 0.2)
_LONGEST_HEAD = 1 << 16
_MULTIPLEXED = 100
"""Requests at a time over a connection of QUIC's to a host: browsers set no such limit as for
connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """name: for users. title: in words. fast_open: of TCP. tls: 1.3, resumed; early: with early
    data. quic: instead of TCP. kept: over connections that the load before has left open."""

    name: str
    title: str
    fast_open: bool = False
    tls: bool = False
    early: bool = False
    quic: bool = False
    kept: bool = False

    @property
    def sends_first(self) -> bool:
        """Whether the first request goes before any answer of the server's."""
        return self.early or (self.fast_open and not self.tls)


WAYS = (
    Way(name="tcp", title="TCP"),
    Way(name="tfo", title="TCP, fast open", fast_open=True),
    Way(name="kept", title="TCP, connections kept", kept=True),
    Way(name="tls", title="TLS 1.3", tls=True),
    Way(name="tls-tfo", title="TLS 1.3, fast open", tls=True, fast_open=True),
    Way(name="tls-early", title="TLS 1.3, early data", tls=True, early=True),
    Way(name="tls-early-tfo", title="both", tls=True, early=True, fast_open=True),
    Way(name="quic", title="QUIC", quic=True),
    Way(name="quic-early", title="QUIC, 0-RTT", quic=True, early=True),
)

REQUEST = Page(
    "request",
    "one request",
    400,
    (Resource(name="only", host="a.test", type="text/html", size=1000),),
)
"""A page of one answer of 1,000 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """ways: their names. rtts: of the link, in seconds. line: all else of it. window: segments of
    the servers' initial window over TCP. parallel: connections to a host over TCP."""

    ways: Sequence[str] = WAY_NAMES
    rtts: Sequence[float] = RTTS
    line: Line = PAPERS
    window: int = 10
    parallel: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load. seconds: until the last byte of the last resource. connections: that were opened;
    early: those whose first request was accepted before the handshake was over. again: segments
    that the client sent again, None over QUIC."""

    page: str
    rtt: float
    way: str
    seconds: float
    connections: int
    early: int
    again: int | None


def measure(plan: Plan, pages: Sequence[Page], tell: Tell = str) -> Iterator[Load]:
    """Load after load. The client has visited each page once in the same way: it has cookies,
    sessions and tickets. Raises SetupError where a library is missing, and TargetError."""
    chosen = [each for each in WAYS if each.name in plan.ways]
    if any(each.quic for each in chosen):
        import_quic()
    with tempfile.TemporaryDirectory() as place:
        files = write_certificate(Path(place))
        for page in pages:
            for rtt in plan.rtts:
                for way in chosen:
                    tell(f"{page.title}, {rtt * 1000:g} ms, {way.title}")
                    try:
                        told = run_virtually(_loaded(plan, page, rtt, way, files))
                    except OSError as error:
                        raise TargetError(f"{page.title} did not load: {error}") from error
                    yield Load(page=page.name, rtt=rtt, way=way.name, **told)


def less(seconds: Mapping[tuple[str, str], float], way: str, page: str) -> float | None:
    """What part of its time a load saves by fast open, 0 to 1; None for ways without. seconds: by
    way and page."""
    plain = "tcp" if way == "tfo" else way.removesuffix("-tfo")
    if plain == way or not {(way, page), (plain, page)} <= seconds.keys():
        return None
    return 1 - seconds[way, page] / seconds[plain, page]


async def _loaded(
    plan: Plan, page: Page, rtt: float, way: Way, files: tuple[Path, Path]
) -> dict[str, Any]:
    setting = (_QuicSetting if way.quic else _TcpSetting)(plan, page, rtt, way, files)
    pages = PagePlan(pages=(), line=plan.line, parallel=plan.parallel)
    work = work_of(pages, page, rtt)
    work["addresses"] = setting.addresses
    if way.quic:
        work["parallel"] = _MULTIPLEXED

    class WayLoad(loader.Load):
        @property
        def sends_first(self) -> bool:
            return way.sends_first

        def wire(self, at: tuple[str, int]) -> loader.Connection:
            return setting.wire(at[0])

        def sent_again(self) -> int:
            return setting.again

    try:
        # The visit before: it leaves cookies, sessions and tickets, and connections to be kept.
        await WayLoad(work, way.name).run()
        setting.leave()
        await asyncio.sleep(work["pause"])
        opened = setting.opened
        told = await WayLoad(work, way.name).run()
        return {
            "seconds": told["seconds"],
            "connections": setting.opened - opened,
            "early": told["early"],
            "again": None if way.quic else told["again"],
        }
    finally:
        setting.close()


class _TcpSetting:
    """Of one page: the link, the servers, and what the client keeps. opened: connections so far."""

    def __init__(
        self, plan: Plan, page: Page, rtt: float, way: Way, files: tuple[Path, Path]
    ) -> None:
        settings = replace(LINUX, initial_window=plan.window)
        shapes = plan.line.shapes(rtt)
        self._network = Network(*shapes, places=len(page.hosts), settings=settings)
        self.addresses = dict(zip(page.hosts, map(str, self._network.places), strict=True))
        self._way = way
        self._client = Context() if way.tls else None
        self._ours = Context(files) if way.tls else None
        self._pool: dict[str, list[Wire]] = {}
        self._server = Server(dict(answers_of(page)))
        self._serving: set[asyncio.Task[None]] = set()
        self._network.serve(self._protocol)
        self.opened = 0

    @property
    def again(self) -> int:
        """Segments so far."""
        return self._network.again

    def wire(self, place: str) -> loader.Connection:
        """One to open, or one that is open."""
        way = self._way
        if way.kept and self._pool.get(place):
            return _Kept(self._pool[place].pop(0), self._pool[place], is_open=True)
        self.opened += 1
        if self._client is not None:
            return TlsWire(
                self._network, place, self._client, fast_opens=way.fast_open, early=way.early
            )
        wire = Wire(self._network, place)
        if way.kept:
            return _Kept(wire, self._pool.setdefault(place, []), is_open=False)
        return wire

    def leave(self) -> None:
        """The visit is over. The loader gives connections back in no certain order."""
        for each in self._pool.values():
            each.sort(key=lambda wire: wire.port)

    def close(self) -> None:
        """Stop all."""
        self._network.close()

    def _protocol(self) -> asyncio.Protocol:
        inside = asyncio.StreamReaderProtocol(asyncio.StreamReader(_LONGEST_HEAD), self._serve)
        return inside if self._ours is None else TlsServer(self._ours, inside)

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._server.serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)


class _Kept:
    """A connection that is given back instead of being closed; see loader.Connection."""

    def __init__(self, wire: Wire, pool: list[Wire], *, is_open: bool) -> None:
        self._wire, self._pool, self._is_open = wire, pool, is_open

    async def connect(self) -> None:
        if not self._is_open:
            await self._wire.connect()

    async def fast_open(self, _: bytes) -> None:
        raise SetupError("connections that are kept are not opened by a request")

    async def send(self, data: bytes) -> None:
        await self._wire.send(data)

    async def receive(self) -> bytes:
        return await self._wire.receive()

    @property
    def taken(self) -> bool:
        return False

    def close(self) -> None:
        self._pool.append(self._wire)


class _QuicSetting:
    """As _TcpSetting."""

    again = 0

    def __init__(
        self, plan: Plan, page: Page, rtt: float, way: Way, files: tuple[Path, Path]
    ) -> None:
        server = Server(dict(answers_of(page)))
        self.addresses = {each: each for each in page.hosts}
        self._early = way.early
        self._hosts: dict[str, Host] = {}
        self._network = QuicNetwork(
            *plan.line.shapes(rtt),
            files,
            Tickets(),
            lambda head: server.answer(head.decode("latin-1")),
        )

    @property
    def opened(self) -> int:
        """Connections so far."""
        return self._network.opens

    def wire(self, place: str) -> loader.Connection:
        """A stream."""
        return QuicWire(self._network, self._hosts, place, early=self._early)

    def leave(self) -> None:
        """The next visit opens connections of its own."""
        for each in self._hosts.values():
            each.end.stop()
        self._hosts.clear()

    def close(self) -> None:
        """Stop all."""
        self._network.close()
