"""Plays one schedule: the reference as the client, the target, and the path between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scapy_tfo import seq
from scapy_tfo.explore.conversation.connecting import prepared
from scapy_tfo.explore.conversation.handshake import Handshake
from scapy_tfo.explore.conversation.met import met
from scapy_tfo.explore.conversation.owed import Owed
from scapy_tfo.explore.conversation.path import Path
from scapy_tfo.explore.conversation.run import OVER, Problem, Run, Traced
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import Setting
from scapy_tfo.explore.conversation.wrong import KINDS, Situation
from scapy_tfo.explore.ends.actor import Actor
from scapy_tfo.explore.ends.actors import Writer, client_of, server_of
from scapy_tfo.explore.ends.context import Context, context_of
from scapy_tfo.explore.ends.dressing import dressed
from scapy_tfo.explore.ends.opening import OLD_KEY
from scapy_tfo.oracle.conduct.conduct import Broken, Conduct
from scapy_tfo.oracle.conduct.history import Population
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import Accepted, Connected
from scapy_tfo.segment import ACK, RST, SYN, MalformedPacketError, Segment

HORIZON = 120.0
"""Seconds after which a conversation should have ended, whatever two faults did to it."""
_LINGER = 5.0
"""Seconds in which an application may still read what has come."""
_NEVER = math.inf
_MOST = 3000
"""Packets of one schedule at most: a stack that never comes to rest is a finding, not a hang."""


class Play:
    """One schedule in a world. keep: whether its packets are kept."""

    def __init__(self, world: Setting, schedule: Schedule, *, keep: bool = False) -> None:
        self.world, self.schedule = world, schedule
        self.context: Context = context_of(schedule.context)
        self.server: Actor = server_of(schedule.server, self)
        self.client: Writer = client_of(schedule.client, self)
        self.client.filling = self.context.filling
        self.run = Run(schedule, self.server, self.client)
        self._keep = keep
        self._marks: list[tuple[float, int, int, int]] = []
        self._spare: Actor | None = None
        self._over = False
        self._owed = Owed()
        self._waits = schedule.wrong is not None
        self._answers_wrong = False
        self._fin_acked = 0

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
        self.begin()
        self._drive()
        return self._ended()

    def begin(self) -> None:
        """Up to the first SYN."""
        world = self.world
        world.make_room()
        self._port = port = world.port_of(self.schedule.server)
        target = self._target = world.addresses[self.context.family]
        self._make_client(port)
        world.played += 1
        self._began = world.now
        takers = self._at_client, self._at_target, self._spoilt_at_target
        self._path = Path(world, self.schedule.faults, *takers)
        if self._keep:
            self._path.trace = self.run.trace
        history = world.history((target, port, self._address, self._stack.port))
        if self.context.iss is not None:
            # That others had this number is no fault of the target's.
            history.population = Population()
        world.choose_iss(self.context.iss)
        self._conduct = Conduct(history, world.tally)
        self.server.on_reading = self._conduct.reads
        self._connection: ActiveConnection = self._stack.connect(
            self._address,
            target,
            port,
            data=self.client.first(),
            fast_open=self._opening.asks,
            now=world.now,
        )
        self._isn = self._connection.send.iss
        self._sport = self._connection.local[1]
        self._situation = Situation(
            client=self._address,
            target=target,
            sport=self._sport,
            dport=port,
            isn=self._isn,
            cookie=self.cookie,
            awaits=self._isn,
        )
        taken = self.schedule.opening != OLD_KEY
        self._handshake = Handshake(
            world.profile, self._isn, self.cookie, taken=taken, narrowed=world.narrowed
        )
        self._pump_client()
        if self.schedule.wrong is not None:
            self._go_wrong()

    def _make_client(self, port: int) -> None:
        """A client that holds the cookie that its opening wants."""
        made = prepared(self.world, self.schedule, self.context, port)
        self._address, self._stack, self._opening = made.address, made.stack, made.opening
        self.cookie = made.cookie
        self.run.broken = made.opening.broken
        if made.problem is not None:
            self.run.problems.append(made.problem)

    def _drive(self) -> None:
        world, target, client = self.world, self.world.target, self._stack
        end = self._began + HORIZON
        while len(self._path.order) < _MOST:
            act, ours, theirs = world.next_act(), client.deadline(), target.deadline()
            # No deadline is at the very beginning, and so none is 0.
            due = min(act or _NEVER, ours or _NEVER, theirs or _NEVER)
            if due == _NEVER:
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
        served = self.server.ended or not self.server.accepted
        return act is None and self.client.ended and served

    def _ended(self) -> Run:
        run, world = self.run, self.world
        self._settle()
        if not self._is_gone:
            self._broken(self._conduct.waited(world.now), len(self._marks))
        world.forget_agenda()
        run.order = tuple(self._path.order)
        run.mark = hash(tuple(self._marks))
        run.seconds = world.now - self._began
        if not self.server.ended and self.server.accepted:
            self._part()
        return run

    def _part(self) -> None:
        """End what is left of the connection at the target."""
        now = self._situation
        reset = Segment(
            src=self._address,
            dst=self._target,
            sport=self._sport,
            dport=self._port,
            seq=self._next_at_target,
            ack=now.sent_end,
            flags=RST if now.iss is None else RST | ACK,
        )
        self.world.exchange(reset)

    @property
    def _is_gone(self) -> bool:
        """The target may have forgotten the connection: it was reset, or both ends have ended."""
        now = self._situation
        ended = self._fin_acked and now.fin is not None and now.unacked == now.fin
        return self._over or self.server.ended or bool(ended)

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
                self._path.carry(True, segment)
            events = client.take_events()
            if not events and not client.outgoing:
                return
            for event in events:
                if isinstance(event, Connected):
                    self.client.begin(event.connection)
                else:
                    self.client.tell(event)

    def _at_target(self, segment: Segment) -> None:
        world, run = self.world, self.run
        self._settle()
        run.passed += 1
        self._marks.append((world.now - self._began, 0, segment.flags, segment.length))
        self._conduct.sent(segment, world.now)
        first = seq.add(self._isn, 1 + self.run.acked)
        known, gone = bool(self.server.accepted), self._is_gone
        self.run.excuse = self._handshake.forgot(segment, first, known, gone) or self.run.excuse
        self._conduct.history.mixed |= gone and world.profile.stateless
        end, is_next = self.run.acked + len(segment.payload), self._situation.is_next(segment)
        self.run.met.append(met(self._situation, segment, self._fin_acked))
        self._situation.sent(segment)
        if segment.flags & SYN and self._is_gone:
            # It may open another connection (RFC 7413 section 2.1).
            self._conduct.history.mixed = True
        elif segment.flags & RST:
            self._over = True
            self.run.killed |= self._kills(segment)
        unanswered = self._handshake.sent(segment, world.now)
        if unanswered is not None and not (run.injected or run.excuse or run.broken):
            run.problems.append(unanswered)
        packet = segment.to_bytes()
        world.target.receive(
            dressed(packet, self.context.dress) if self.context.dress else packet, world.now
        )
        self._pump_target()
        if segment.payload and is_next and self.run.acked < end and self._must_take():
            self._owed.text(end, world.now)
        if self._waits:
            self._go_wrong()

    # Wrong segments

    def _go_wrong(self) -> None:
        """Send the wrong segment, where its place has come."""
        wrong, world, run = self.schedule.wrong, self.world, self.run
        if wrong is None or run.passed < wrong.after:
            return
        self._waits = False
        kind = KINDS[wrong.kind]
        if self._situation.over or self._is_gone:
            # The connection is gone; what comes now belongs to none, or opens another.
            run.excuse = OVER
            self._conduct.history.mixed = True
        made = kind.make(self._situation)
        if made is None:
            return
        is_open = self._handshake.acked and self.server.accepted
        run.excuse = run.excuse or kind.ends or ("" if is_open else kind.early)
        run.injected = True
        run.met.append(met(self._situation, made, self._fin_acked))
        packet = made.to_bytes()
        if self._keep:
            run.trace.append(Traced(world.now - self._began, True, packet, "wrong"))
        if isinstance(made, Segment):
            told = made.sport == self._sport and self._situation.syn is not None
            if made.checksum is None and told:
                self._conduct.sent(made, world.now)
                run.killed |= bool(made.flags & RST) and self._kills(made)
                if made.flags & (SYN | RST | ACK) == ACK:
                    self._handshake.sent(made, world.now)
                if made.flags & SYN and made.seq != self._isn:
                    self._conduct.history.mixed = True
        else:
            self._conduct.error(made, world.now)
            world.narrowed = world.narrowed or bool(made.mtu)
        self._answers_wrong = True
        world.target.receive(packet, world.now)
        self._pump_target()
        self._answers_wrong = False

    def _kills(self, segment: Segment) -> bool:
        awaits = self._next_at_target
        # What came and is not acknowledged yet may have moved the number.
        is_all = self._situation.got is None or not seq.before(awaits, self._situation.got)
        return segment.seq == awaits and is_all and self._handshake.answered

    def _must_take(self) -> bool:
        """Whether the target has to take the text that comes next."""
        return (
            self._handshake.acked
            and not (self._over or self._conduct.history.mixed)
            and self.server.accepted == 1
            and self.server.reading
            and not self.server.done
        )

    def _settle(self) -> None:
        excused = self._over or self.server.done or not self.server.reading
        now, at = self.world.now, len(self._marks)
        self.run.problems += self._owed.settle(self.run.acked, now, at, excused=excused)

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
                    if actor.accepted and self._is_gone:
                        # A copy of the SYN came when all was over (RFC 7413 section 2.1).
                        self._spare = server_of(self.schedule.server, self)
                        actor = self._spare
                    elif early := self._handshake.handed_over():
                        self.run.problems.append(early)
                    actor.begin(connection)
                    continue
                if self._spare is not None:
                    actor = self._spare
                if actor.accepted:
                    actor.tell(event)

    def _came(self, packet: bytes) -> None:
        try:
            segment = Segment.read_back(packet)
        except MalformedPacketError:
            return
        if segment.dst != self._address or segment.dport != self._sport:
            return
        if self._answers_wrong and self._situation.syn is None:
            return  # It answers what came before the connection.
        world, run = self.world, self.run
        number = len(self._marks)
        self._marks.append((world.now - self._began, 1, segment.flags, segment.length))
        run.passed += 1
        self._broken(self._conduct.came(segment, world.now, number), number)
        self._settle()
        flags = segment.flags
        wrong = self._handshake.came(segment, number)
        if wrong is not None and not self._conduct.history.mixed:
            run.problems.append(wrong)
        if flags & RST:
            run.reset = self._over = True
        elif flags & ACK:
            acked = seq.distance(self._isn, segment.ack) - 1
            most = len(self.client.wrote)
            if acked > run.acked:
                run.acked = min(acked, most)
                self._fin_acked = int(acked > most)
        shift = self._conduct.history.their_shift
        self._situation.came(segment, packet, self._next_at_target, shift)
        if flags & RST and self._answers_wrong:
            return  # It answers what the client never sent: nobody waits for it.
        self._path.carry(False, segment)

    def _broken(self, found: Sequence[Broken], number: int) -> None:
        for each in found:
            breach = each.breach
            self.run.problems.append(Problem(each.rule, number, breach.expected, breach.actual))

    def _at_client(self, segment: Segment) -> None:
        if self._stack.is_sound(segment):
            self._stack.segment_arrives(segment, self.world.now)
            self._pump_client()
        if self._waits:
            self._go_wrong()
