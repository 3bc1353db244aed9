"""A kernel on virtual time that sends what a test tells it to."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from scapy_tfo.address import Address
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.parse import parse
from scapy_tfo.pkt.language.settings import Settings, with_options
from scapy_tfo.pkt.packets.bindings import Meanings
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.pkt.packets.sending import segment_to_send
from scapy_tfo.pkt.play.actions import Program
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.pkt.play.player import Player
from scapy_tfo.pkt.play.wire import Arrival
from scapy_tfo.segment import SYN, MalformedPacketError, Segment
from tests.pkt.lines import inbound

START = 1_700_000_000_000_000_000
MS = 1_000_000
ISN = 2**32 - 3
"""Of the kernel: its first bytes go past the end of the numbers."""

CLIENT_PORT = 33333

Reply = tuple[float, str | bytes]
"""After how many ms it sends what, in a script's words or as bytes."""


class VirtualKernel:
    """The wire of a run. replies: what it sends after the n-th packet that it gets.

    delay: ms by which each sleep of the script is too long. busy: ns that to send a packet takes,
    at whose beginning the kernel has it.
    """

    def __init__(self, replies: Mapping[int, Sequence[Reply]], *, delay: float = 0) -> None:
        self.tick = 0
        self.time = START
        self.got: list[Segment] = []
        self.refuses = False
        self.busy = 0
        self._replies = replies
        self._delay = int(delay * MS)
        self._coming: list[tuple[int, int, bytes]] = []
        self._order = itertools.count()
        self._ports = itertools.count(40000)
        self._isns: dict[tuple[int, int], int] = {}

    # What the player asks of a wire.

    def now(self) -> int:
        return self.time

    def sleep_until(self, when: int) -> None:
        if when > self.time:
            self.time = when + self._delay

    def send(self, packet: bytes) -> None:
        if self.refuses:
            raise ValueError("the kernel takes no such packet")
        try:
            segment = Segment.from_bytes(packet)
        except MalformedPacketError:
            segment = self.got[-1]
        number = len(self.got)
        self.got.append(segment)
        ports = (segment.sport, segment.dport)
        if segment.flags & SYN:
            self._isns[ports] = segment.seq
        self.reply(number, segment.dst, segment.src, ports)
        self.time += self.busy

    def receive(self, until: int) -> Arrival | None:
        self._coming.sort()
        if self._coming and self._coming[0][0] <= max(until, self.time):
            when, _, data = self._coming.pop(0)
            self.time = max(self.time, when)
            return Arrival(data, when)
        self.time = max(self.time, until)
        return None

    def new_port(self) -> int:
        return next(self._ports)

    # What it sends.

    def reply(self, number: int, own: Address, other: Address, ports: tuple[int, int]) -> None:
        """Send what is to come then. ports: the other side's, and its own."""
        for delay, text in self._replies.get(number, ()):
            data = text if isinstance(text, bytes) else self._built(text, own, other, ports)
            when = self.time + int(delay * MS)
            self._coming.append((when, next(self._order), data))

    def _built(self, text: str, own: Address, other: Address, ports: tuple[int, int]) -> bytes:
        packet = inbound(text)
        named = packet.ports
        there, here = (named[1], named[0]) if named else ports
        # Both sides' ISNs change places: what is sent here comes in at the script's end.
        flow = Flow(other, own, there, here)
        flow.remote_isn = ISN
        flow.live_isn = flow.script_isn = self._isns.get((there, here), 0)
        syn = "S" in packet.flags
        start = packet.range.start
        assert isinstance(start, int)
        data = segment_to_send(packet, flow, Meanings({}))
        if not syn:
            return data
        segment = Segment.from_bytes(data)
        seq = (ISN + start) % 2**32
        ack = (segment.ack + flow.live_isn) % 2**32 if "." in packet.flags else 0
        return replace(segment, seq=seq, ack=ack).to_bytes()


@dataclass
class Calls(Program):
    """Does what calls mean for packets, and notes them."""

    player: Player | None = None
    names: list[str] = field(default_factory=list)

    def call(self, event: tree.Event, call: tree.Syscall) -> None:
        assert self.player is not None
        self.names.append(call.name)
        _, remote = self.player.settings.addresses
        wire = self.player.wire
        assert isinstance(wire, VirtualKernel)
        if call.name == "socket":
            self.player.catch_up()
            self.player.flows.socket_made()
        if call.name == "listen":
            self.player.flows.listening()
        if call.name == "connect":
            local = self.player.settings.addresses[0]
            self.player.flows.connecting(remote, 8080)
            wire.reply(-1, local, remote, (8080, CLIENT_PORT))
        self.player.act(event, lambda: None)

    def finish(self) -> None:
        self.names.append("finish")


def played(
    script: str, replies: Mapping[int, Sequence[Reply]], **more: object
) -> tuple[Outcome, VirtualKernel]:
    """What the run of a script found."""
    delay = more.pop("delay", 0)
    assert isinstance(delay, int | float)
    wire = VirtualKernel(replies, delay=delay)
    for name, value in more.items():
        setattr(wire, name, value)
    tree_ = parse(script)
    settings = with_options(Settings(), tree_.options, script, "script")
    calls = Calls()
    calls.player = Player(tree_, wire, settings)
    return calls.player.play(calls), wire
