"""The reference stack as a target in memory: a host, and a link to it.

Everything lives in one asyncio loop, whose clock may be real or virtual; no privilege is needed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from scapy_tfo.address import known_address
from scapy_tfo.cookie import KeyRing
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.links.impairment import Impairment, Path
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Address
from scapy_tfo.wire.link import Receiver
from scapy_tfo.wire.ports import PortPool

TARGET_V4 = known_address(ip_address("192.0.2.1").packed)
TARGET_V6 = known_address(ip_address("fd00:7413::1").packed)
SOURCES: tuple[Address, ...] = (
    *(TARGET_V4 + 9 + number for number in range(6)),
    *(TARGET_V6 + 0xF + number for number in range(6)),
)
"""What the suite sends from, as in the Linux lab."""

STANDING = {
    "echo": ListenerOptions("echo", queue=8192),
    "second": ListenerOptions("echo", queue=8192),
    "plain": ListenerOptions("echo", queue=0),
    "http": ListenerOptions("http", queue=8192),
}
"""Listeners that are there from the start, by name."""

_CLEAN = Impairment()


@dataclass
class MemoryLink:
    """The link to a `ReferenceHost` in the same loop, by way of an impaired path.

    sources: see wire.link.Link. The clock is the loop's plus `epoch`.
    """

    impairment: Impairment = _CLEAN
    epoch: float = 0.0
    sources: tuple[Address, ...] = SOURCES
    mtu: int = 1500
    is_local: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._deliver: Callable[[bytes], None] = lambda _packet: None
        self._receive: Receiver | None = None
        self._ports = PortPool(self.seed)
        self._open = True
        dice = random.Random(self.seed)
        self._outbound = Path(self.impairment, self._arrive, dice)
        self._inbound = Path(self.impairment, self._come_back, dice)

    def attach(self, deliver: Callable[[bytes], None]) -> None:
        """Where the suite's packets go."""
        self._deliver = deliver

    async def prepare(self) -> None:
        """Nothing to find out."""

    def start(self, receive: Receiver) -> None:
        self._receive = receive

    def send(self, packet: bytes) -> None:
        self._outbound.send(packet)

    def _arrive(self, packet: bytes) -> None:
        if self._open:
            self._deliver(packet)

    def answer(self, packet: bytes) -> None:
        """Take a packet of the target's."""
        self._inbound.send(packet)

    def _come_back(self, packet: bytes) -> None:
        if self._open and self._receive is not None:
            self._receive(packet, self.now())

    @property
    def lag(self) -> float:
        return 0.0

    def now(self) -> float:
        return self.epoch + self._loop.time()

    def reserve_port(self, source: Address, port: int = 0) -> int:
        return self._ports.reserve(source, port)

    def release_port(self, source: Address, port: int) -> None:
        self._ports.release(source, port)

    def close(self) -> None:
        self._open = False


@dataclass
class ReferenceLab:
    """The reference stack, or one derived from it, ready to be probed in this loop."""

    link: MemoryLink
    host: ReferenceHost
    ports: dict[str, int]
    addresses: dict[int, Address]

    @classmethod
    async def start(
        cls,
        *,
        stack_class: type[Stack] = Stack,
        settings: Settings | None = None,
        seed: int = 0,
        epoch: float = 0.0,
        impairment: Impairment | None = None,
        mtu: int = 1500,
    ) -> ReferenceLab:
        """Start a stack with the standing listeners. seed: of everything random in it. mtu: of the
        link, in bytes."""
        # Seeded apart from the suite's own random numbers, which would choose the same ISNs.
        seed += 1 << 32
        keys = random.Random(seed).randbytes(16)
        stack = stack_class(
            (TARGET_V4, TARGET_V6), settings or Settings(), cookies=KeyRing([keys]), seed=seed
        )
        link = MemoryLink(impairment=impairment or Impairment(), epoch=epoch, mtu=mtu, seed=seed)
        host = ReferenceHost(stack, link.answer)
        link.attach(host.receive)
        ports = {name: await host.listen(options) for name, options in STANDING.items()}
        return cls(link, host, ports, {4: TARGET_V4, 6: TARGET_V6})

    def close(self) -> None:
        """End the target. Harmless when called twice."""
        self.link.close()
        self.host.close()
