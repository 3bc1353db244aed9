"""Plays a schedule on virtual time, and keeps the packets as its target got and sent them."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.conversation.play import Play
from scapy_tfo.explore.conversation.run import Run
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import TargetStack, World
from scapy_tfo.reference.states import Event
from scapy_tfo.variants.registry import named

REFERENCE = "reference"


class _Recorder:
    """A target between whose packets nothing is lost. packets: in the order of the target."""

    def __init__(self, target: TargetStack) -> None:
        self._target = target
        self._now = 0.0
        self.settings = target.settings
        self.packets: list[TracedPacket] = []

    def receive(self, packet: bytes, now: float) -> None:
        self._now = now
        self.packets.append(TracedPacket(now, True, packet))
        self._target.receive(packet, now)

    def take_packets(self) -> list[bytes]:
        came = self._target.take_packets()
        self.packets += [TracedPacket(self._now, False, each) for each in came]
        return came

    def take_events(self) -> list[Event]:
        return self._target.take_events()

    def deadline(self) -> float | None:
        return self._target.deadline()

    def on_timer(self, now: float) -> None:
        self._now = now
        self._target.on_timer(now)


def rehearsed(
    schedule: Schedule, name: str = REFERENCE, seed: int = 0
) -> tuple[Run, Sequence[TracedPacket]]:
    """What a schedule shows at a simulated stack in a world of its own, and its packets, with the
    request for a cookie before them. name: without `sim:`. Raises SetupError."""
    world = World(named(name), SimulatedBench(f"sim:{name}").profile, seed)
    world.port_of(schedule.server)
    recorder = _Recorder(world.target)
    world.target = recorder
    run = Play(world, schedule).play()
    began = recorder.packets[0].when if recorder.packets else 0.0
    packets = [
        TracedPacket(each.when - began, each.outbound, each.data) for each in recorder.packets
    ]
    return run, packets
