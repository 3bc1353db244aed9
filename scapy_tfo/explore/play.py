"""Plays one schedule: the reference as the client, the target, and the path between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.explore.actors import Actor, Writer, client_of, server_of
from scapy_tfo.explore.context import Context, context_of
from scapy_tfo.explore.handshake import Handshake
from scapy_tfo.explore.opening import (
    OLD_KEY,
    PLAIN,
    REQUEST,
    opening_of,
    relative_of,
    rewritten,
)
from scapy_tfo.explore.run import Problem, Run, Traced
from scapy_tfo.explore.schedule import CORRUPTED, DELAYED, DOUBLED, LOST, SWAPPED, Schedule
from scapy_tfo.explore.world import TARGETS, World
from scapy_tfo.option import Form
from scapy_tfo.oracle.conduct.conduct import Conduct
from scapy_tfo.oracle.conduct.history import History
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import (
    Accepted,
    Closed,
    Connected,
    EndOfStream,
    Received,
    Reset,
)
from scapy_tfo.segment import ACK, RST, SYN, Address, MalformedPacketError, Segment

LATENCY = 0.01
"""Seconds, each way."""
HORIZON = 120.0
"""Seconds after which a conversation should have ended, whatever two faults did to it."""
_DELAY = 1.6
"""Seconds by which a packet is late, beyond the first timeout of most stacks."""
_BEHIND = 0.35
"""Seconds for which a packet waits for the next one that is to overtake it."""
_SHORTLY = 0.001
_LINGER = 5.0
"""Seconds in which an application may still read what has come."""
_MOST = 3000
"""Packets of one schedule at most: a stack that never comes to rest is a finding, not a hang."""


class Client(Stack):
    """The reference as a client that sends segments, not bytes.

    port: the one that it connects from. instead: what stands in its SYN for the Fast Open option.
    """

    port = 0
    instead: bytes | None = None

    def __init__(self, address: Address, settings: Settings, seed: int) -> None:
        super().__init__([address], settings, seed=seed)
        self.outgoing: list[Segment] = []

    def send(self, segment: Segment) -> None:
        if self._ip_fields is not None:
            segment = self._ip_fields.dress(segment)
        if segment.flags & SYN and self.instead is not None and segment.fast_open:
            segment = replace(segment, options=rewritten(segment.options, self.instead))
        self.outgoing.append(segment)

    def first_port(self) -> int:
        return self.port


class Play:
    """One schedule in a world. keep: whether its packets are kept."""

    def __init__(self, world: World, schedule: Schedule, *, keep: bool = False) -> None:
        self.world = world
        self.schedule = schedule
        self.context: Context = context_of(schedule.context)
        self.server: Actor = server_of(schedule.server, self)
        self.client: Writer = client_of(schedule.client, self)
        self.run = Run(schedule, self.server, self.client)
        self._keep = keep
        self._faults = {(each.to_target, each.index): each.kind for each in schedule.faults}
        self._sent = [0, 0]
        self._order: list[bool] = []
        self._held: list[Callable[[], None] | None] = [None, None]
        self._marks: list[tuple[float, int, int, int]] = []
        self._spare: Actor | None = None
        self._left = _MOST
        self._over = False

    # What its applications use, see `actors.Clock`.

    @property
    def now(self) -> float:
        return self.world.now

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        def done() -> None:
            act()
            self._pump_client()
            self._pump_target()

        self.world.later(seconds, done)

    # The whole

    def play(self) -> Run:
        """From the first SYN to the last packet, or until time is over."""
        world, context = self.world, self.context
        self._port = port = world.port_of(self.schedule.server)
        self._address = context.client
        target = TARGETS[context.family]
        self._make_client(target, port)
        world.played += 1
        self._began = world.now
        key = (target, port, context.client, self._stack.port)
        history = History(key, world.population, ordered=True)
        self._conduct = Conduct(history, world.tally)
        self._connection: ActiveConnection = self._stack.connect(
            context.client,
            target,
            port,
            data=self.client.first(),
            fast_open=self._opening.asks,
            now=world.now,
        )
        self._isn = self._connection.send.iss
        self._sport = self._connection.local[1]
        self._handshake = Handshake(
            world.profile, self._isn, self.cookie, taken=self.schedule.opening != OLD_KEY
        )
        self._pump_client()
        self._drive()
        return self._ended()

    def _make_client(self, target: Address, port: int) -> None:
        """A client that holds the cookie that its opening wants."""
        world, name, context = self.world, self.schedule.opening, self.context
        self.cookie = b""
        if name not in (PLAIN, REQUEST):
            self.cookie = world.cookie(self._address, port, anew=name == OLD_KEY)
        self._opening = opening = opening_of(name, self.cookie, self._cookie_of)
        settings = context.settings
        if opening.form is not Form.IANA or opening.sends_data:
            settings = replace(
                settings, client_form=opening.form, data_without_cookie=opening.sends_data
            )
        self._stack = stack = Client(context.client, settings, seed=world.played)
        stack.port = context.port or world.free_port()
        stack.instead = opening.option
        if opening.holds:
            cookie = self.cookie or bytes(8)
            stack.cache.learn(self._address, target, cookie=cookie, mss=context.mss)
        if name == OLD_KEY:
            world.rotate_keys()

    def _cookie_of(self, bit: int) -> bytes:
        other = relative_of(self._address, bit)
        return self.world.cookie(other, self._port)

    def _drive(self) -> None:
        world, target, client = self.world, self.world.target, self._stack
        end = self._began + HORIZON
        while self._left > 0:
            act, ours, theirs = world.next_act(), client.deadline(), target.deadline()
            due = min((each for each in (act, ours, theirs) if each is not None), default=None)
            if due is None:
                return
            if self._is_over(act):
                end = min(end, world.now + _LINGER)
            if due > end:
                self.run.quiet = act is None and ours is None
                return
            if act is not None and act <= due:
                world.do_next()
            elif ours is not None and ours <= due:
                world.now = max(world.now, ours)
                client.on_timer(world.now)
                self._pump_client()
            else:
                world.now = max(world.now, due)
                target.on_timer(world.now)
                self._pump_target()
        self.run.quiet = False

    def _is_over(self, act: float | None) -> bool:
        """Both ends are done, and nothing is on its way."""
        server = self.server
        return act is None and self.client.ended and (server.ended or not server.accepted)

    def _ended(self) -> Run:
        run, world = self.run, self.world
        world.forget_agenda()
        run.order = tuple(self._order)
        run.mark = hash(tuple(self._marks))
        run.seconds = world.now - self._began
        if not self.server.ended and self.server.accepted:
            self._part()
        return run

    def _part(self) -> None:
        """End what is left of the connection at the target."""
        history = self._conduct.history
        numbers = sorted(history.acks) if history.acks else []
        reset = Segment(
            src=self._address,
            dst=TARGETS[self.context.family],
            sport=self._sport,
            dport=self._port,
            seq=self._next_at_target,
            ack=numbers[-1] if numbers else 0,
            flags=RST | ACK if numbers else RST,
        )
        self.world.exchange(reset)

    @property
    def _next_at_target(self) -> int:
        """The number that the target expects next, by what it acknowledged."""
        return seq.add(self._isn, self.run.acked + 1 + self._fin_acked)

    # To the target

    def _pump_client(self) -> None:
        client = self._stack
        while True:
            out, client.outgoing = client.outgoing, []
            for segment in out:
                self._leaves(True, segment)
            events = client.take_events()
            if not events and not client.outgoing:
                return
            for event in events:
                if isinstance(event, Connected):
                    self.client.begin(event.connection)
                elif isinstance(event, Received):
                    self.client.take(event.data)
                elif isinstance(event, EndOfStream):
                    self.client.end_of_stream()
                elif isinstance(event, Reset | Closed):
                    self.client.end(event.error if isinstance(event, Reset) else None)

    def _leaves(self, to_target: bool, segment: Segment) -> None:
        """A packet goes on its way, where something may befall it."""
        index = self._sent[to_target is False]
        self._sent[to_target is False] = index + 1
        self._left -= 1
        self._order.append(to_target)
        fate = self._faults.get((to_target, index), "") if self._faults else ""
        if self._keep:
            at = self.world.now - self._began
            self.run.trace.append(Traced(at, to_target, segment.to_bytes(), fate))
        arrive = self._at_target if to_target else self._at_client
        held, self._held[to_target] = self._held[to_target], None
        later = self.world.later
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
                later(LATENCY, lambda: self._spoilt_at_target(spoilt))
        elif fate == SWAPPED:
            self._hold(to_target, lambda: arrive(segment))
        else:
            assert fate == LOST
        if held is not None:
            later(LATENCY + _SHORTLY, held)

    def _hold(self, to_target: bool, act: Callable[[], None]) -> None:
        """Until the next packet of the direction has gone, or for a while."""
        done = False

        def once() -> None:
            nonlocal done
            if not done:
                done = True
                act()

        self._held[to_target] = once
        self.world.later(LATENCY + _BEHIND, once)

    def _at_target(self, segment: Segment) -> None:
        world = self.world
        self.run.passed += 1
        self._marks.append((world.now - self._began, 0, segment.flags, segment.length))
        self._conduct.sent(segment)
        flags = segment.flags
        if flags & SYN:
            if self.server.ended or self._over:
                # It may open another connection (RFC 7413 section 2.1).
                self._conduct.history.mixed = True
            self._handshake.sent(segment)
        elif flags & RST:
            self._over = True
            self.run.killed |= segment.seq == self._next_at_target and self._handshake.answered
        elif flags & ACK:
            self._handshake.acked = self._handshake.answered
        world.target.receive(segment.to_bytes(), world.now)
        self._pump_target()

    def _spoilt_at_target(self, packet: bytes) -> None:
        self.run.passed += 1
        self.world.target.receive(packet, self.world.now)
        self._pump_target()

    # To the client

    def _pump_target(self) -> None:
        target = self.world.target
        while True:
            for packet in target.take_packets():
                # No interface takes more, however wrong the stack is.
                if len(packet) <= target.settings.mtu:
                    self._came(packet)
            events = target.take_events()
            if not events:
                return
            for event in events:
                connection = event.connection
                if connection.remote != (self._address, self._sport):
                    continue
                actor = self.server
                if isinstance(event, Accepted):
                    if actor.ended:
                        # A copy of the SYN came when all was over (RFC 7413 section 2.1).
                        self._spare = server_of(self.schedule.server, self)
                        actor = self._spare
                    elif early := self._handshake.handed_over():
                        self.run.problems.append(early)
                    actor.begin(connection)
                    continue
                if self._spare is not None:
                    actor = self._spare
                if not actor.accepted:
                    # What was never handed over cannot be read.
                    continue
                if isinstance(event, Received):
                    actor.take(event.data)
                elif isinstance(event, EndOfStream):
                    actor.end_of_stream()
                elif isinstance(event, Reset | Closed):
                    actor.end(event.error if isinstance(event, Reset) else None)

    _fin_acked = 0

    def _came(self, packet: bytes) -> None:
        try:
            segment = Segment.read_back(packet)
        except MalformedPacketError:
            return
        if segment.dst != self._address or segment.dport != self._sport:
            return
        world, run = self.world, self.run
        number = len(self._marks)
        self._marks.append((world.now - self._began, 1, segment.flags, segment.length))
        run.passed += 1
        for broken in self._conduct.came(segment, world.now, number):
            breach = broken.breach
            run.problems.append(Problem(broken.rule, number, breach.expected, breach.actual))
        flags = segment.flags
        if flags & SYN and (wrong := self._handshake.came(segment, number)):
            run.problems.append(wrong)
        if flags & RST:
            run.reset = self._over = True
        elif flags & ACK:
            acked = seq.distance(self._isn, segment.ack) - 1
            most = len(self.client.wrote)
            if acked > run.acked:
                run.acked = min(acked, most)
                self._fin_acked = int(acked > most)
        self._leaves(False, segment)

    def _at_client(self, segment: Segment) -> None:
        client = self._stack
        if client.is_sound(segment):
            client.segment_arrives(segment, self.world.now)
            self._pump_client()


def corrupted(packet: bytes) -> bytes:
    """The packet with one bit of its last byte turned, behind its checksum's back."""
    return packet[:-1] + bytes((packet[-1] ^ 0x10,))
