"""Two ends and the wire between them, on a virtual clock; and one end against written segments."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.option import Form
from scapy_tfo.reference import (
    Accepted,
    Connection,
    EndOfStream,
    Received,
    Reset,
    Settings,
    Stack,
)
from scapy_tfo.segment import ACK, SYN, Address, Flags, Segment

CLIENT = IPv4Address("192.0.2.1")
OTHER = IPv4Address("192.0.2.9")
SERVER = IPv4Address("198.51.100.1")
PORT = 80
ISN = 1000
DATA = b"GET / HTTP/1.0\r\n\r\n"

Fate = Callable[[Segment, int], "list[float]"]
"""Given a segment and how many went before: the delays in seconds of the copies that arrive."""


def straight(_segment: Segment, _number: int) -> list[float]:
    return [0.05]


def losing(*numbers: int) -> Fate:
    """A wire that loses those segments, counted from 0 over both directions."""
    return lambda _segment, number: [] if number in numbers else [0.05]


class Wire:
    """Carries packets between two stacks; applications are functions of an event."""

    def __init__(self, *stacks: Stack, fate: Fate = straight) -> None:
        self.now = 0.0
        self.stacks = stacks
        self.fate = fate
        self.log: list[Segment] = []
        self.events: dict[Stack, list[Any]] = {stack: [] for stack in stacks}
        self.apps: dict[Stack, Callable[[Any, float], None]] = {}
        self._flying: list[tuple[float, int, bytes]] = []
        self._serial = itertools.count()

    def pump(self) -> None:
        """Take out what the stacks have to say."""
        busy = True
        while busy:
            busy = False
            for stack in self.stacks:
                for packet in stack.take_packets():
                    segment = Segment.from_bytes(packet)
                    for delay in self.fate(segment, len(self.log)):
                        entry = (self.now + delay, next(self._serial), packet)
                        heapq.heappush(self._flying, entry)
                    self.log.append(segment)
                for event in stack.take_events():
                    busy = True
                    self.events[stack].append(event)
                    if stack in self.apps:
                        self.apps[stack](event, self.now)

    def step(self) -> bool:
        """Go to the next thing that happens; False where nothing will."""
        self.pump()
        times = [when for stack in self.stacks if (when := stack.deadline()) is not None]
        if self._flying:
            times.append(self._flying[0][0])
        if not times:
            return False
        self.now = max(self.now, min(times))
        while self._flying and self._flying[0][0] <= self.now:
            packet = heapq.heappop(self._flying)[2]
            for stack in self.stacks:
                stack.receive(packet, self.now)
            self.pump()
        for stack in self.stacks:
            stack.on_timer(self.now)
        self.pump()
        return True

    def run(self, seconds: float = 1000.0) -> Wire:
        """Let that much time pass."""
        end = self.now + seconds
        while self.step_due(end):
            self.step()
        self.now = end
        return self

    def step_due(self, end: float) -> bool:
        self.pump()
        times = [when for stack in self.stacks if (when := stack.deadline()) is not None]
        times += [self._flying[0][0]] if self._flying else []
        return bool(times) and min(times) <= end

    def received(self, stack: Stack) -> bytes:
        return b"".join(e.data for e in self.events[stack] if isinstance(e, Received))


class Script:
    """A server against segments written by hand, from a client that is not there."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        fast_open: int = 16,
        stack_class: type[Stack] = Stack,
        **listen: Any,
    ) -> None:
        self.now = 0.0
        self.stack = stack_class([SERVER], settings or Settings(), seed=7)
        self.listener = self.stack.listen(PORT, fast_open=fast_open, **listen)
        self.events: list[Any] = []

    def cookie(self, client: Address = CLIENT) -> bytes:
        return self.listener.cookies.cookie_for(client, SERVER)

    def send(self, flags: Flags, **fields: Any) -> list[Segment]:
        """Send a segment and return the answers."""
        base = Segment(src=CLIENT, dst=SERVER, sport=40000, dport=PORT, seq=ISN, flags=flags)
        self.stack.receive(replace(base, **fields).to_bytes(), self.now)
        return self.answers()

    def answers(self) -> list[Segment]:
        self.events += self.stack.take_events()
        return [Segment.from_bytes(packet) for packet in self.stack.take_packets()]

    def one(self, flags: Flags, **fields: Any) -> Segment:
        """Send a segment that is answered by exactly one."""
        (answer,) = self.send(flags, **fields)
        return answer

    def syn(self, data: bytes = b"", **fields: Any) -> Segment:
        return self.one(SYN, payload=data, **fields)

    def establish(self, syn_ack: Segment, *, data: bytes = b"", **fields: Any) -> list[Segment]:
        """Acknowledge a SYN-ACK, with data."""
        return self.send(ACK, seq=syn_ack.ack, ack=syn_ack.end, payload=data, **fields)

    def wait(self, seconds: float) -> list[Segment]:
        """Let time pass; what is sent meanwhile."""
        end = self.now + seconds
        while (when := self.stack.deadline()) is not None and when <= end:
            self.now = when
            self.stack.on_timer(when)
        self.now = end
        return self.answers()

    @property
    def connection(self) -> Connection:
        """The connection accepted last."""
        return [e.connection for e in self.events if isinstance(e, Accepted)][-1]

    @property
    def received(self) -> bytes:
        return b"".join(e.data for e in self.events if isinstance(e, Received))

    @property
    def errors(self) -> list[str]:
        return [e.error for e in self.events if isinstance(e, Reset)]

    @property
    def ends(self) -> int:
        return sum(isinstance(e, EndOfStream) for e in self.events)


def tfo(cookie: bytes = b"", form: Form = Form.IANA, length: int | None = None) -> bytes:
    """An options field that holds Fast Open alone."""
    return opt.push_options([opt.fast_open(cookie, form=form, length=length)])


def valid(script: Script) -> bytes:
    """The same with a cookie that is good."""
    return tfo(script.cookie())
