"""The path between the client and the target: it numbers packets, and does to them what a schedule
says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scapy_tfo.explore.conversation.deeds import split
from scapy_tfo.explore.conversation.run import Traced
from scapy_tfo.explore.conversation.schedule import (
    CORRUPTED,
    DELAYED,
    DOUBLED,
    GONE,
    HALVED,
    LOST,
    OUTAGE,
    PIECES,
    SWAPPED,
    Fault,
)
from scapy_tfo.explore.conversation.world import Setting
from scapy_tfo.segment import RST, SYN, Segment

LATENCY = 0.01
"""Seconds, each way."""
_DELAY = 1.6
"""Seconds by which a packet is late, beyond the first timeout of most stacks."""
_BEHIND = 0.35
"""Seconds for which a packet waits for the next one that is to overtake it."""
_OUTAGE = 5.0
"""Seconds for which a direction carries nothing: longer than two timeouts that double, the first of
them of a second."""
_SHORTLY = 0.001
"""Seconds between a packet and the one that comes right behind it."""


class Path:
    """faults: of the packets of one schedule. to_client, to_target: take what arrives. spoilt:
    takes what arrives at the target with a wrong checksum, as bytes.

    order: of the packets so far, which went to the target. trace: they, where they are kept, as the
    target gets and sends them: those that are lost come when they would have arrived.
    began: where their time is counted from, in seconds.
    """

    def __init__(
        self,
        world: Setting,
        faults: Sequence[Fault],
        to_client: Callable[[Segment], None],
        to_target: Callable[[Segment], None],
        spoilt: Callable[[bytes], None],
    ) -> None:
        self.order: list[bool] = []
        self.trace: list[Traced] | None = None
        self._world = world
        self.began = world.now
        self._faults = {(each.to_target, each.index): each.kind for each in faults}
        self._takers = to_client, to_target
        self._spoilt = spoilt
        self._sent = [0, 0]
        self._held: list[Callable[[], None] | None] = [None, None]
        self._is_gone = False
        self._out_until = [-math.inf, -math.inf]

    def carry(self, to_target: bool, segment: Segment) -> None:
        """A packet goes on its way, where something may befall it."""
        index = self._sent[to_target]
        self._sent[to_target] = index + 1
        self.order.append(to_target)
        fate = self._faults.get((to_target, index), "") if self._faults else ""
        if self._is_gone or fate == GONE:
            self._is_gone, fate = True, LOST
        if fate == OUTAGE:
            self._out_until[to_target] = self._world.now + _OUTAGE
        if self._world.now < self._out_until[to_target]:
            fate = LOST
        arrive = self._takers[to_target]
        if self.trace is not None:
            arrive = self._traced(to_target, segment, fate, arrive)
        held, self._held[to_target] = self._held[to_target], None
        later = self._world.later
        if not fate:
            later(LATENCY, lambda: arrive(segment))
        elif fate == DOUBLED:
            later(LATENCY, lambda: arrive(segment))
            later(LATENCY + _SHORTLY, lambda: arrive(segment))
        elif fate == DELAYED:
            later(LATENCY + _DELAY, lambda: arrive(segment))
        elif fate == CORRUPTED:
            spoilt = corrupted(segment.to_bytes())
            if to_target:
                later(LATENCY, lambda: self._spoilt(spoilt))
        elif fate == SWAPPED:
            self._hold(to_target, lambda: arrive(segment))
        elif fate in PIECES:
            self._in_pieces(segment, fate, arrive)
        else:
            assert fate == LOST
        if held is not None:
            later(LATENCY + _SHORTLY, held)

    def _in_pieces(self, segment: Segment, fate: str, arrive: Callable[[Segment], None]) -> None:
        """A segment with text comes as two, or only the first of them."""
        if len(segment.payload) < 2 or segment.flags & (SYN | RST):
            self._world.later(LATENCY, lambda: arrive(segment))
            return
        first, second = split(segment, len(segment.payload) // 2)
        self._world.later(LATENCY, lambda: arrive(first))
        if fate == HALVED:
            self._world.later(LATENCY + _SHORTLY, lambda: arrive(second))

    def _traced(
        self, to_target: bool, segment: Segment, fate: str, arrive: Callable[[Segment], None]
    ) -> Callable[[Segment], None]:
        """Keep a packet: now, or when it arrives, which `arrive` brings about."""

        def keep(it: Segment, after: float = 0.0) -> None:
            if self.trace is not None:
                at = self._world.now - self.began + after
                self.trace.append(Traced(at, to_target, it.to_bytes(), fate))

        def arrived(it: Segment) -> None:
            keep(it)
            arrive(it)

        if not to_target:
            keep(segment)
            return arrive
        if fate in (LOST, CORRUPTED):
            keep(segment, LATENCY)
        return arrived

    def _hold(self, to_target: bool, act: Callable[[], None]) -> None:
        """Until the next packet of the direction has gone, or for a while."""
        done = False

        def once() -> None:
            nonlocal done
            if not done:
                done = True
                act()

        self._held[to_target] = once
        self._world.later(LATENCY + _BEHIND, once)


def corrupted(packet: bytes) -> bytes:
    """The packet with one bit of its last byte turned, behind its checksum's back."""
    return packet[:-1] + bytes((packet[-1] ^ 0x10,))
