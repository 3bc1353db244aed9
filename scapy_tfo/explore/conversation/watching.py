"""What is known of one conversation while it goes on, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scapy_tfo import seq
from scapy_tfo.explore.conversation.deeds import FIN_AGAIN, REPEATS
from scapy_tfo.explore.conversation.doing import Deeds, context_for
from scapy_tfo.explore.conversation.handshake import Handshake
from scapy_tfo.explore.conversation.met import met
from scapy_tfo.explore.conversation.owed import Owed, answers_a_fin
from scapy_tfo.explore.conversation.path import Path
from scapy_tfo.explore.conversation.run import LOST_FOR_GOOD, OVER, Problem, Run, Traced
from scapy_tfo.explore.conversation.schedule import Schedule
from scapy_tfo.explore.conversation.world import Setting
from scapy_tfo.explore.conversation.wrong import KINDS, Situation
from scapy_tfo.explore.ends.actor import Actor
from scapy_tfo.explore.ends.actors import Writer, client_of, server_of
from scapy_tfo.explore.ends.client import Client
from scapy_tfo.explore.ends.context import Context, context_of
from scapy_tfo.explore.ends.dressing import dressed
from scapy_tfo.icmp import IcmpError
from scapy_tfo.oracle.conduct.conduct import Broken, Conduct
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import Accepted, Connected, Event
from scapy_tfo.segment import ACK, RST, SYN, URG, Address, MalformedPacketError, Segment


class Watching:
    """A conversation of two applications in a world. keep: whether its packets are kept."""

    connection: ActiveConnection
    _stack: Client
    _path: Path
    _address: Address
    _sport: int
    _began: float
    _conduct: Conduct
    _handshake: Handshake
    _situation: Situation
    _isn: int

    def __init__(self, world: Setting, schedule: Schedule, *, keep: bool) -> None:
        self.world, self.schedule = world, schedule
        self.context: Context = context_for(context_of(schedule.context), schedule.deeds)
        self.server: Actor = server_of(schedule.server, self)
        self.client: Writer = client_of(schedule.client, self)
        self.client.filling = self.context.filling
        self.run = Run(schedule, self.server, self.client)
        self._keep = keep
        self._spare: Actor | None = None
        self._deeds: Deeds | None = Deeds(schedule.deeds, self) if schedule.deeds else None
        self._waits = schedule.wrong is not None or bool(schedule.deeds)
        self._wrong_waits = schedule.wrong is not None
        self._answers_wrong = False
        self._plays: list[Watching] = [self]
        self._follows = self._may_wait = False
        self._trace_from: float | None = None
        self._marks: list[tuple[float, int, int, int]] = []
        self._owed = Owed()
        self._over = False
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

    # What is known

    @property
    def _is_gone(self) -> bool:
        """The target may have forgotten the connection: it was reset, or both ends have ended."""
        now = self._situation
        ended = self._fin_acked and now.fin is not None and now.unacked == now.fin
        return self._over or self.server.ended or bool(ended)

    @property
    def _is_open(self) -> bool:
        """The handshake is over, at both ends."""
        return self._handshake.acked and bool(self.server.accepted)

    @property
    def _next_at_target(self) -> int:
        """The number that the target expects next, by what it acknowledged."""
        return seq.add(self._isn, self.run.acked + 1 + self._fin_acked)

    def _kills(self, segment: Segment) -> bool:
        awaits = self._next_at_target
        # What came and is not acknowledged yet may have moved the number.
        is_all = self._situation.got is None or not seq.before(awaits, self._situation.got)
        return segment.seq == awaits and is_all and self._handshake.answered

    def _waits_for_room(self) -> bool:
        """Whether the target's application has written, or ended, what was not sent so far."""
        now, server = self._situation, self.server
        if now.iss is None or not server.accepted or server.aborted:
            return False
        return seq.distance(now.iss, now.sent_end) - 1 < len(server.wrote) + server.finished

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
        if self._deeds is not None and not self._over:
            self.run.problems += self._owed.silent(now, at)

    def _note_probe(self, segment: Segment) -> None:
        """A segment came that a target answers, and that may be a keep-alive."""
        now = self._situation
        if segment.flags & (SYN | RST) or seq.before(segment.seq, seq.add(now.awaits, -1)):
            self._owed.throttles(self.world.now)
            return
        back = segment.seq == seq.add(now.awaits, -1) and segment.length <= 1
        alone = len(self._plays) == 1 and not self._is_gone and not self._fin_acked
        if back and alone and self._is_open and now.fin is None:
            self._owed.probe(self.world.now)

    def _broken(self, found: Sequence[Broken], number: int) -> None:
        for each in found:
            breach = each.breach
            self.run.problems.append(Problem(each.rule, number, breach.expected, breach.actual))

    # To the target

    def _pump_client(self) -> None:
        client = self._stack
        while True:
            out, client.outgoing = client.outgoing, []
            for segment in out:
                if self._deeds is None:
                    self._leave(segment)
                else:
                    self._deeds.leaves(segment, self._leave)
            events = client.take_events()
            if not events and not client.outgoing:
                return
            for event in events:
                if isinstance(event, Connected):
                    self.client.begin(event.connection)
                else:
                    self.client.tell(event)

    def _ignored(self, unanswered: Problem) -> None:
        run = self.run
        if not (run.injected or run.excuse or run.broken or self._may_wait):
            run.problems.append(unanswered)

    def _is_of_before(self, segment: Segment) -> bool:
        """It may be about an earlier connection of the same two ends."""
        return self._follows and not (self._handshake.answered or segment.flags & SYN)

    def _leave(self, segment: Segment) -> None:
        if segment.payload and not segment.flags & SYN:
            self.run.talks = self.run.passed
        if segment.flags & URG:
            # Two readings of the pointer are about (RFC 6093 section 2.1).
            last = seq.distance(self._isn, segment.seq) - 1 + segment.urgent
            self.run.urgent |= {last - 1, last}
        self._path.carry(True, segment)

    def _at_target(self, segment: Segment) -> None:
        world, run = self.world, self.run
        if self._is_of_before(segment):
            world.target.receive(segment.to_bytes(), world.now)
            self._pump_target()
            return
        self._settle()
        run.passed += 1
        self._marks.append((world.now - self._began, 0, segment.flags, segment.length))
        self._conduct.writes(self._waits_for_room())
        self._conduct.sent(segment, world.now)
        first = seq.add(self._isn, 1 + self.run.acked)
        known, gone = bool(self.server.accepted), self._is_gone
        self.run.excuse = self._handshake.forgot(segment, first, known, gone) or self.run.excuse
        self._conduct.history.mixed |= gone and world.profile.stateless
        end, is_next = self.run.acked + len(segment.payload), self._situation.is_next(segment)
        self.run.met.append(met(self._situation, segment, self._fin_acked))
        if self._deeds is not None:
            self._note_probe(segment)
        self._situation.sent(segment)
        if segment.flags & SYN and self._is_gone:
            # It may open another connection (RFC 7413 section 2.1).
            self._conduct.history.mixed = True
        elif segment.flags & RST:
            self._over = True
            self.run.killed |= self._kills(segment)
        ignored = self._handshake.sent(segment, world.now)
        if ignored is not None:
            self._ignored(ignored)
        packet = segment.to_bytes()
        world.target.receive(
            dressed(packet, self.context.dress) if self.context.dress else packet, world.now
        )
        self._pump_target()
        if segment.payload and is_next and self.run.acked < end and self._must_take():
            self._owed.text(end, world.now)
        if self._waits:
            self._go_on()

    # Deeds and wrong segments

    def _go_on(self) -> None:
        """Do what waits for its place, where that has come."""
        if self._wrong_waits:
            self._go_wrong()
        deeds = self._deeds
        if deeds is None:
            return
        deeds.passed = self.run.passed
        deeds.beside(self._is_open, self._inject_deed)
        if deeds.company and deeds.company_due():
            self._welcome()
        self._pump_client()

    def _welcome(self) -> None:
        """Another client connects."""

    def _inject_deed(self, name: str) -> bool:
        """Send what is beside the conversation, and legal. False where there is no such thing."""
        now = self._situation
        waits = answers_a_fin(self._conduct.history.time_wait, self.world.now)
        if now.over or (self._is_gone and not (name == FIN_AGAIN and waits)):
            return False
        if name not in REPEATS and now.unacked == now.sent_end:
            # An error about what was acknowledged is an old one.
            return False
        made = KINDS[name].make(now)
        if made is None:
            return False
        self._inject(made, "deed")
        return True

    def _go_wrong(self) -> None:
        """Send the wrong segment, where its place has come."""
        wrong, run = self.schedule.wrong, self.run
        if wrong is None or run.passed < wrong.after:
            return
        self._wrong_waits, self._waits = False, self._deeds is not None
        kind = KINDS[wrong.kind]
        if self._situation.over or self._is_gone:
            # The connection is gone; what comes now belongs to none, or opens another.
            run.excuse = OVER
            self._conduct.history.mixed = True
        made = kind.make(self._situation)
        if made is None:
            return
        if not run.excuse:
            run.excuse = kind.ends or ("" if self._is_open else kind.early)
            run.may_end = bool(run.excuse)
        if self._tells_of_what_was_lost(made):
            run.excuse = run.excuse or LOST_FOR_GOOD
        run.injected = True
        self._inject(made, "wrong")

    def _tells_of_what_was_lost(self, made: Segment | IcmpError) -> bool:
        """Whether a segment in the client's name acknowledges what may never come to the client."""
        if not (self.schedule.faults or self.schedule.deeds) or not isinstance(made, Segment):
            return False
        acks = made.flags & ACK and made.sport == self._sport
        has = self.connection.recv.nxt if self.connection.is_synchronized else None
        return bool(acks) and (has is None or seq.before(has, made.ack))

    def _inject(self, made: Segment | IcmpError, fate: str) -> None:
        """Send something beside the conversation. fate: what the trace calls it."""
        world, run = self.world, self.run
        run.met.append(met(self._situation, made, self._fin_acked))
        packet = made.to_bytes()
        self._marks.append((world.now - self._began, 2, 0, len(packet)))
        if self._keep:
            run.trace.append(Traced(world.now - (self._trace_from or 0.0), True, packet, fate))
        if isinstance(made, Segment):
            told = made.sport == self._sport and self._situation.syn is not None
            if made.checksum is None and told:
                self._conduct.sent(made, world.now)
                run.killed |= bool(made.flags & RST) and self._kills(made)
                if made.flags & (SYN | RST | ACK) == ACK:
                    self._handshake.sent(made, world.now)
                if made.flags & SYN and made.seq != self._isn:
                    self._conduct.history.mixed = True
                elif made.is_syn:
                    self._handshake.sent_beside(made)
        else:
            self._conduct.error(made, world.now)
            world.narrowed = world.narrowed or bool(made.mtu)
        self._answers_wrong = True
        world.target.receive(packet, world.now)
        self._pump_target()
        self._answers_wrong = False

    def _spoilt_at_target(self, packet: bytes) -> None:
        self.run.passed += 1
        self._marks.append((self.world.now - self._began, 2, 0, len(packet)))
        self.world.target.receive(packet, self.world.now)
        self._pump_target()

    # To the client

    def _pump_target(self) -> None:
        target, plays = self.world.target, self._plays
        while True:
            for packet in target.take_packets():
                # No interface takes more, however wrong the stack is.
                if len(packet) <= target.settings.mtu:
                    for each in plays:
                        each._came(packet)
            events = target.take_events()
            if not events:
                return
            for event in events:
                for each in plays:
                    if event.connection.remote == (each._address, each._sport):
                        each._told(event)

    def _told(self, event: Event) -> None:
        """The target's application hears of something."""
        actor = self.server
        if isinstance(event, Accepted):
            if self._is_gone and (actor.accepted or self.run.excuse == OVER):
                # A SYN came when all was over, perhaps a copy of ours (RFC 7413 section 2.1).
                self._spare = server_of(self.schedule.server, self)
                actor, self.run.anew = self._spare, True
            elif early := self._handshake.handed_over():
                self.run.problems.append(early)
            actor.begin(event.connection)
            return
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
        if self._is_of_before(segment):
            self._path.carry(False, segment)
            return
        world, run = self.world, self.run
        number = len(self._marks)
        self._marks.append((world.now - self._began, 1, segment.flags, segment.length))
        run.passed += 1
        self._broken(self._conduct.came(segment, world.now, number), number)
        if self._deeds is not None:
            run.problems += self._owed.answered(world.now, number, alone=not segment.payload)
        self._settle()
        flags = segment.flags
        late = self._handshake.answers(segment, world.now)
        if late is not None and world.answers_at_once():
            self._ignored(late)
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
        if self._deeds is not None:
            segment = self._deeds.comes(segment)
        self._path.carry(False, segment)

    def _at_client(self, segment: Segment) -> None:
        if self._stack.is_sound(segment):
            self._stack.segment_arrives(segment, self.world.now)
            self._pump_client()
        if self._waits:
            self._go_on()
