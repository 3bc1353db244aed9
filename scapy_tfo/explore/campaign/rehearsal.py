"""Plays a schedule on virtual time, and keeps the packets as its target got and sent them."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.executor.verdict import TracedPacket
from scapy_tfo.explore.conversation.run import Problem, Run
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import TargetStack, World
from scapy_tfo.explore.explorer import Found
from scapy_tfo.explore.programs import played
from scapy_tfo.reference.states import Event
from scapy_tfo.segment import MalformedPacketError, Segment
from scapy_tfo.variants.registry import named

REFERENCE = "reference"
_SIMULATED = "sim:"


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
    run = played(world, schedule)
    began = recorder.packets[0].when if recorder.packets else 0.0
    packets = [
        TracedPacket(each.when - began, each.outbound, each.data) for each in recorder.packets
    ]
    return run, packets


def packets_of(found: Found, target: str, seed: int) -> Sequence[TracedPacket]:
    """The packets of a finding, where it has any: with the request for a cookie before them."""
    if found.packets or found.before or not target.startswith(_SIMULATED):
        return found.packets
    return rehearsed(found.schedule, target.removeprefix(_SIMULATED), seed)[1]


def number_of(problem: Problem, packets: Sequence[TracedPacket]) -> int:
    """The number, from 0 on, that the packet which shows a problem has among `packets`; -1 for
    what shows at the end."""
    # They begin with the request for a cookie, which a verdict does not count.
    return problem.packet + _before(packets) if problem.packet >= 0 else -1


def _before(packets: Sequence[TracedPacket]) -> int:
    """Packets of other connections, in front of those of the schedule."""
    ports = [_client_port(each) for each in packets]
    last = next((port for port in reversed(ports) if port), 0)
    return next((at for at, port in enumerate(ports) if port == last), 0)


def _client_port(packet: TracedPacket) -> int:
    try:
        segment = Segment.read_back(packet.data)
    except MalformedPacketError:
        return 0
    return segment.sport if packet.outbound else segment.dport
