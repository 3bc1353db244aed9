"""The near end: the reference client, which begins each connection as it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.lab.apps import pattern
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.middleboxes.box import read
from scapy_tfo.option import Form
from scapy_tfo.path.observation import REQUESTS, Probe, Sighting, Trial
from scapy_tfo.reference.client import PLAIN, ActiveConnection, Plan
from scapy_tfo.reference.icmp import quoted_segment
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import ACK, Address
from scapy_tfo.wire.link import Link

TOKEN = 8
"""Bytes at the beginning of each text, no two the same."""

SOME, MUCH, MORE = (16, 400), (2000, 6000), (1, 3000)
"""Least and most bytes of a text: for a SYN that is small, for one that is full, and behind the
first echo."""

LINGERS = 4.0
"""Seconds after a connection's end in which what still comes is recorded."""

MOST_SEEN = 20_000
"""Packets of one connection that are looked at; the rest of a flood is not."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. limit: for one connection in which nothing comes any more; SYNs go at 0, 1 and 3.
    longest: for any. late: to wait for SYNs that were given up, where there are such."""

    limit: float = 5.0
    longest: float = 30.0
    late: float = 3.0


_SETTINGS = Settings()


@dataclass(frozen=True, slots=True)
class Opening:
    """How a connection begins. cookie: for those that carry one. mss: the server's, in bytes.
    size: bytes of data, 0 for any; no fewer than TOKEN."""

    probe: Probe
    cookie: bytes = b""
    mss: int | None = None
    size: int = 0


class ProbingConnection(ActiveConnection):
    """Begins as its stack was told, whatever the caches say."""

    def plan(self, _now: float) -> Plan:
        how = self.stack.opening if isinstance(self.stack, ProbingStack) else Opening(Probe.PLAIN)
        match how.probe:
            case Probe.REQUEST | Probe.REQUEST_254:
                return Plan(opt.fast_open(form=REQUESTS[how.probe]))
            case Probe.COOKIE | Probe.COOKIE_SIZED:
                return Plan(opt.fast_open(how.cookie))
            case Probe.FAST_OPEN | Probe.FAST_OPEN_FULL | Probe.SIZED:
                return Plan(opt.fast_open(how.cookie), data=True)
            case Probe.FAST_OPEN_254:
                return Plan(opt.fast_open(how.cookie, form=Form.EXPERIMENT_2), data=True)
            case Probe.DATA:
                # An option that says nothing: the client sends no data in a regular SYN.
                return Plan(opt.nop(), data=True)
        return PLAIN


class ProbingStack(Stack):
    """One connection's own stack. port: that it sends from."""

    active_class = ProbingConnection
    opening: Opening
    port: int

    def _free_port(self, _source: Address, _destination: Address, _port: int) -> int:
        return self.port


class _Talk(asyncio.Protocol):
    """Sends a piece, awaits its echo, sends another, awaits that, and closes."""

    def __init__(self, text: tuple[bytes, bytes], *, echoes: bool) -> None:
        self._text = text
        self._echoes = echoes
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.answer = bytearray()
        self.seconds: float | None = None
        self.complete = False
        self.error = ""
        self.over: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def acknowledged(self) -> None:
        """The first piece was, which is all that a server shows that echoes nothing."""
        if not self._echoes and not self.complete:
            self.seconds = self._loop.time() - self._began
            self.complete = True
            self._end()

    def data_received(self, data: bytes) -> None:
        self.answer += data
        if not self._echoes:
            return
        first, second = self._text
        if self.seconds is None and len(self.answer) >= len(first):
            self.seconds = self._loop.time() - self._began
            self._transport.write(second)
        if len(self.answer) >= len(first + second):
            self.complete = bytes(self.answer) == first + second
            self._transport.close()
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, OSError) and not self.over.done():
            self.error = exc.strerror or str(exc)
        self._end()

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Prober:
    """Has connections with one server over a link, many at once.

    echoes: the server sends back what it is sent.
    """

    def __init__(
        self, link: Link, server: Address, *, echoes: bool, seed: int, patience: Patience
    ) -> None:
        self._link = link
        self.patience = patience
        self._server = server
        self._echoes = echoes
        self._seed = seed
        self._source = next(at for at in link.sources if at.version == server.version)
        self._takers: dict[int, Callable[[bytes, float], None]] = {}
        self._lingering: dict[int, asyncio.TimerHandle] = {}
        self._count = 0
        link.start(self._arrived)

    def now(self) -> float:
        """The near clock, in seconds."""
        return self._link.now()

    async def connect(self, port: int, how: Opening) -> Trial:
        """Have one connection with a port of the server's."""
        self._count += 1
        seed = self._seed * 1_000_003 + self._count
        near: list[Sighting] = []
        stack = ProbingStack((self._source,), _SETTINGS, seed=seed)
        stack.opening = how
        stack.port = self._link.reserve_port(self._source)
        stack.cache.learn(self._source, self._server, mss=how.mss)
        token = stack.random.randbytes(TOKEN)
        sizes = MUCH if how.probe is Probe.FAST_OPEN_FULL else SOME
        first, second = (stack.random.randint(*each) for each in (sizes, MORE))
        if how.size:
            first = how.size - TOKEN
        text = token + pattern(first), pattern(second)

        def send(packet: bytes) -> None:
            near.append(Sighting(self._link.now() + self._link.lag, True, packet))
            self._link.send(packet)

        host = ReferenceHost(stack, send)

        def take(packet: bytes, when: float) -> None:
            if len(near) < MOST_SEEN:
                near.append(Sighting(when, False, packet))
                host.receive(packet)
                if _is_acknowledged(near, packet, len(text[0])):
                    talk.acknowledged()

        self._takers[stack.port] = take
        talk = _Talk(text, echoes=self._echoes)
        transport = host.connect(talk, self._server, port, data=text[0])
        await self._over(talk, near)
        if not talk.complete or not self._echoes:
            transport.abort()
        # Our end of the connection is in TIME-WAIT now: nobody answers any more.
        await asyncio.sleep(0)
        host.close()
        self._linger(stack.port, near)
        return Trial(
            probe=how.probe,
            source=(self._source, stack.port),
            port=port,
            cookie=how.cookie,
            text=text,
            near=near,
            answer=bytes(talk.answer),
            error=talk.error,
            seconds=talk.seconds,
            complete=talk.complete,
            closed=self._link.now() + LINGERS,
        )

    async def _over(self, talk: _Talk, near: Sequence[Sighting]) -> None:
        """The end of a conversation, or of all patience with it: where something came, the timers
        of both ends may have grown to several seconds."""
        loop = asyncio.get_running_loop()
        last = loop.time() + self.patience.longest
        gap, seen = self.patience.limit, -1
        while not talk.over.done() and seen < (seen := _came(near)) and loop.time() < last:
            await asyncio.wait((talk.over,), timeout=min(gap, last - loop.time()))
            gap = 2 * self.patience.limit

    def _linger(self, port: int, near: list[Sighting]) -> None:
        """Record what still comes for a port, and answer nothing."""

        def record(packet: bytes, when: float) -> None:
            if len(near) < MOST_SEEN:
                near.append(Sighting(when, False, packet))

        def forget() -> None:
            del self._takers[port], self._lingering[port]
            self._link.release_port(self._source, port)

        self._takers[port] = record
        self._lingering[port] = asyncio.get_running_loop().call_later(LINGERS, forget)

    def close(self) -> None:
        """Record no more, for the link is to be closed."""
        for each in self._lingering.values():
            each.cancel()

    def _arrived(self, packet: bytes, when: float) -> None:
        segment = read(packet)
        port = segment.dport if segment is not None else _complains_of(packet)
        taker = self._takers.get(port)
        if taker is not None:
            taker(packet, when)


def _came(near: Sequence[Sighting]) -> int:
    return sum(not each.sent for each in near)


def _is_acknowledged(near: Sequence[Sighting], packet: bytes, size: int) -> bool:
    """Whether a packet acknowledges so many bytes behind the SYN that was sent first."""
    segment, syn = read(packet), near[0].segment
    if segment is None or syn is None or not segment.flags & ACK:
        return False
    return seq.distance(syn.seq, segment.ack) > size


def _complains_of(packet: bytes) -> int:
    """The source port of the segment that an ICMP error quotes; 0 for anything else."""
    error = IcmpError.from_bytes(packet)
    quoted = quoted_segment(error.quoted) if error is not None else None
    return quoted[1] if quoted is not None else 0
