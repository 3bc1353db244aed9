"""The interface of a link to the target, live or simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from scapy_tfo.segment import Address

Receiver = Callable[[bytes, float], None]
"""Called with a whole IP packet and the time it arrived, in seconds since the epoch."""


class Link(Protocol):
    """Whole IP packets to the target and back, without the host's kernel getting in the way.

    sources: addresses that may be sent from, both families, the preferred first of each.
    mtu: largest IP packet in bytes.
    is_local: False where packets leave this machine: sending is then limited in rate.
    """

    sources: tuple[Address, ...]
    mtu: int
    is_local: bool

    def start(self, receive: Receiver) -> None:
        """Begin to hand in every packet for `sources`; needs a running asyncio loop."""
        ...

    async def prepare(self) -> None:
        """Make ready to send, after `start` and before the first packet: find the neighbours.

        Returns at once where nothing is needed. Raises TargetError where the target cannot be
        reached on the link.
        """
        ...

    def send(self, packet: bytes) -> None:
        """Send one IP packet; never blocks. Raises OSError only where the link itself is gone."""
        ...

    @property
    def lag(self) -> float:
        """Seconds until a packet sent now really leaves: 0 unless the rate is limited."""
        ...

    def now(self) -> float:
        """The clock that packets are stamped with, in seconds since the epoch."""
        ...

    def reserve_port(self, source: Address, port: int = 0) -> int:
        """A source port that is nobody else's until released: that one, or any for 0.

        Raises SetupError when none is left, or that one is taken.
        """
        ...

    def release_port(self, source: Address, port: int) -> None:
        """Give a reserved port back."""
        ...

    def close(self) -> None:
        """Give everything back; harmless when called twice."""
        ...
