"""The reference as a small and slow target: one core, few sockets, a backlog that is held long."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from scapy_tfo import spec
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.lab.memory.target import ReferenceLab
from scapy_tfo.mutants.registry import named
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.states import State
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.runner.runner import Options, judge
from scapy_tfo.segment import ACK, RST, SYN, MalformedPacketError, Segment
from scapy_tfo.suite.application import Echo
from scapy_tfo.suite.registry import Case
from scapy_tfo.suite.result import Run
from scapy_tfo.suite.target import Service
from scapy_tfo.targets.own import reference_target

_NO_SOCKET = (State.CLOSED, State.TIME_WAIT)

SYN_ACK_RETRIES = 6
"""After 1, 2, 4, 8, 16 and 32 s; the last is waited for 64 s more: 127 s in all."""


@dataclass
class SmallTarget:
    """Stands before a reference stack. per_second: segments that its one core serves. sockets:
    connections at a time. backlog: of them half open. queue: packets that wait; more are dropped.

    dropped: SYNs for want of room, and packets that found the queue full.
    """

    lab: ReferenceLab
    per_second: float = 300.0
    sockets: int = 64
    backlog: int = 128
    queue: int = 500
    dropped: int = 0
    longest: int = 0
    _waiting: deque[bytes] = field(default_factory=deque)
    _busy: bool = False

    def receive(self, packet: bytes) -> None:
        """Take a packet in, to be served when the core has time for it."""
        if len(self._waiting) >= self.queue:
            self.dropped += 1
            return
        self._waiting.append(packet)
        self.longest = max(self.longest, len(self._waiting))
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_later(1 / self.per_second, self._serve)

    def _serve(self) -> None:
        packet = self._waiting.popleft()
        if self._has_room_for(packet):
            self.lab.host.receive(packet)
        else:
            self.dropped += 1
        self._busy = bool(self._waiting)
        if self._busy:
            asyncio.get_running_loop().call_later(1 / self.per_second, self._serve)

    def _has_room_for(self, packet: bytes) -> bool:
        try:
            segment = Segment.read_back(packet)
        except MalformedPacketError:
            return True
        if segment.flags & (SYN | ACK | RST) != SYN:
            return True
        ends = (segment.dst, segment.dport, segment.src, segment.sport)
        every = self.lab.host.stack.connections
        if ends in every:
            return True
        half_open = sum(each.state is State.SYN_RCVD for each in every.values())
        taken = sum(each.state not in _NO_SOCKET for each in every.values())
        return half_open < self.backlog and taken < self.sockets


def judge_small(
    cases: list[Case],
    *,
    mutant: str = "reference",
    queue: int = 1024,
    intrusive: bool = False,
    options: Options | None = None,
    **size: float,
) -> tuple[Run, SmallTarget]:
    """Judge a stack of the registry from outside, without its hooks, as a small target."""

    async def whole() -> tuple[Run, SmallTarget]:
        stack = named(mutant).stack
        lab = await ReferenceLab.start(
            stack_class=stack, settings=Settings(syn_ack_retries=SYN_ACK_RETRIES)
        )
        small = SmallTarget(lab, **size)  # type: ignore[arg-type]
        lab.link.attach(small.receive)
        target = reference_target("small", lab)
        port = await lab.host.listen(ListenerOptions("echo", queue=queue))
        target.main, target.hooks = Service(port, Echo()), None
        usual = options or Options(families=(4,), intrusive=intrusive, capture=False)
        return await judge(target, cases, spec.load(), usual), small

    return run_virtually(whole())
