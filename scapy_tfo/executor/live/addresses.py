"""The addresses and ports that live programs use, and the limit on their sending rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.program.cookies import Client, Jar
from scapy_tfo.program.program import CLIENTS, TOO_BIG, Icmp, Program
from scapy_tfo.segment import Address
from scapy_tfo.wire.links.batch import Batch

_TOO_BIG = 4
"""Code of destination unreachable: fragmentation needed (RFC 792)."""

_LONGEST_SLEEP = 0.05
_BURST = 0.1
"""Seconds' worth of packets that may go at once after a pause."""


@dataclass(frozen=True, slots=True)
class Range:
    """The way to a target, and its ends.

    sources: by client; those that are missing cannot be had. spare: other addresses for the same
    clients, for programs that leave a mark on those that they come from, or nothing. addresses:
    the target's, by family. ports: by the names of `program.PORTS`; a name that the target has
    no listener for is missing.
    """

    batch: Batch
    sources: dict[Client, Address]
    spare: dict[Client, Address]
    addresses: dict[int, Address]
    ports: dict[str, int]


@dataclass(slots=True)
class Site:
    """Addresses that programs come from, with what the target has granted to them and shown."""

    sources: Mapping[Client, Address]
    jar: Jar
    profile: Profile


def clients_of(
    sources: Sequence[Address], families: Sequence[int], skip: int = 0
) -> dict[Client, Address]:
    """The sources of each family as clients, without so many of the first ones."""
    found: dict[Client, Address] = {}
    for family in families:
        these = [each for each in sources if each.version == family][skip : skip + CLIENTS]
        found.update({(family, number): each for number, each in enumerate(these)})
    return found


def leaves_a_mark(program: Program) -> bool:
    """Whether a target remembers something of the addresses that a program came from: an MTU is
    believed for ten minutes, and all connections from there have it."""
    return any(
        isinstance(each, Icmp) and (each.what == TOO_BIG or each.code == _TOO_BIG)
        for each in program.steps
    )


class Throttle:
    """Holds sending back to a rate. rate: packets a second, None for no limit.

    waited: seconds that it has held back so far.
    """

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.rate = rate
        self.waited = 0.0
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def note(self, packets: int) -> None:
        """Count packets that were sent."""
        if self.rate is not None:
            now = self._clock()
            self._free_at = max(self._free_at, now - _BURST) + packets / self.rate

    def delay(self) -> float:
        """Seconds until more may be sent; 0 where it may be now."""
        return 0.0 if self.rate is None else max(0.0, self._free_at - self._clock())

    def take(self, packets: int) -> None:
        """Wait until so many may be sent, and count them."""
        while (delay := self.delay()) > 0:
            self._sleep(min(delay, _LONGEST_SLEEP))
            self.waited += delay if delay < _LONGEST_SLEEP else _LONGEST_SLEEP
        self.note(packets)
