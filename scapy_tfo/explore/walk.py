"""Walks: steps drawn by chance against the listeners of one world, and the packets they take."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.conversation.run import Problem
from scapy_tfo.explore.conversation.world import World
from scapy_tfo.reference.states import Event
from scapy_tfo.segment import Segment


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A problem, and the packets of the walk to it."""

    problem: Problem
    packets: Sequence[TracedPacket]


class Walk:
    """One walk, in a world of its own. dice: what decides each step. packets: of the walk so far,
    as the target got and sent them."""

    def __init__(self, world: World, dice: random.Random) -> None:
        self._world, self._dice = world, dice
        self.packets: list[TracedPacket] = []

    def send(self, segment: Segment) -> list[Segment]:
        """Send a segment; what the target sends at once."""
        world, packet = self._world, segment.to_bytes()
        self.packets.append(TracedPacket(world.now, True, packet))
        world.target.receive(packet, world.now)
        return self.told()

    def wait(self, seconds: float) -> list[Segment]:
        """Nothing happens but the target's timers; what they make it send."""
        world, came = self._world, list[Segment]()
        end = world.now + seconds
        while (due := world.target.deadline()) is not None and due <= end:
            world.now = max(world.now, due)
            world.target.on_timer(world.now)
            came += self.told()
        world.now = end
        return came

    def told(self) -> list[Segment]:
        """What the target has sent by now; and its applications hear what happened."""
        for event in self._world.target.take_events():
            self.happened(event)
        came = self._world.taken()
        now = self._world.now
        self.packets += [TracedPacket(now, False, each.to_bytes()) for each in came]
        return came

    def happened(self, event: Event) -> None:
        """Something happened for an application of the target."""
