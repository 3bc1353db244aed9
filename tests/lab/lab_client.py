"""A client that sends single segments, for tests that talk to a lab's target."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, replace

from scapy_tfo import option as opt
from scapy_tfo.segment import ACK, RST, SYN, Address, Segment

PATIENCE = 5.0
ISN = 1000


@dataclass
class Client:
    """One 4-tuple. `ack` is where the target's next byte is expected."""

    wire: Wire
    src: Address
    dst: Address
    sport: int
    dport: int
    seq: int = ISN
    ack: int = 0

    def send(self, flags: int, payload: bytes = b"", options: bytes = b"") -> None:
        segment = Segment(
            src=self.src,
            dst=self.dst,
            sport=self.sport,
            dport=self.dport,
            seq=self.seq,
            ack=self.ack if flags & ACK else 0,
            flags=flags,
            options=options,
            payload=payload,
        )
        self.wire.link.send(segment.to_bytes())
        self.seq = segment.end

    def syn(self, cookie: bytes | None = b"", data: bytes = b"") -> None:
        """A SYN with a cookie; b"" asks for one, None leaves the option out."""
        options = [opt.mss(1460)]
        if cookie is not None:
            options.append(opt.fast_open(cookie))
        self.send(SYN, data, opt.push_options(options))

    async def receive(self) -> Segment:
        """The next segment of this 4-tuple."""
        segment = await asyncio.wait_for(self.wire.queue(self.src, self.sport).get(), PATIENCE)
        self.ack = segment.end
        return segment

    async def read(self, size: int) -> bytes:
        """At least that much payload, each segment acknowledged."""
        data = b""
        while len(data) < size:
            data += (await self.receive()).payload
            self.send(ACK)
        return data

    def reset(self) -> None:
        self.send(RST)


class Wire:
    """Hands what comes over a link to the client that it is for."""

    def __init__(self, lab) -> None:
        self.lab = lab
        self.link = lab.link
        self._ports = itertools.count(40000)
        self._queues = {}
        self.link.start(self._arrived)

    def queue(self, address: Address, port: int) -> asyncio.Queue[Segment]:
        return self._queues.setdefault((address, port), asyncio.Queue())

    def client(self, family: int, dport: int, *, source: int = 0) -> Client:
        sources = [each for each in self.link.sources if each.version == family]
        dst = self.lab.addresses[family]
        return Client(self, sources[source], dst, next(self._ports), dport)

    async def cookie(self, family: int, dport: int, *, source: int = 0) -> bytes:
        client = self.client(family, dport, source=source)
        client.syn()
        cookie = (await client.receive()).cookie
        client.reset()
        assert cookie, "no cookie came"
        return cookie

    def _arrived(self, packet: bytes, _when: float) -> None:
        segment = replace(Segment.from_bytes(packet))
        self.queue(segment.dst, segment.dport).put_nowait(segment)
