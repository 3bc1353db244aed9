"""Plays one schedule: the reference as the client, the target, and the path between them."""

from __future__ import annotations

import math
from dataclasses import replace

from scapy_tfo import seq
from scapy_tfo.explore.conversation.connecting import prepared
from scapy_tfo.explore.conversation.deeds import KINDS
from scapy_tfo.explore.conversation.doing import Deeds
from scapy_tfo.explore.conversation.handshake import Handshake, without_fast_open
from scapy_tfo.explore.conversation.path import Path
from scapy_tfo.explore.conversation.run import WAITED, Run
from scapy_tfo.explore.conversation.schedule import GONE, Schedule
from scapy_tfo.explore.conversation.watching import Watching
from scapy_tfo.explore.conversation.world import Setting
from scapy_tfo.explore.conversation.wrong import Situation
from scapy_tfo.explore.ends.actors import is_steady
from scapy_tfo.explore.ends.opening import OLD_KEY, PLAIN, meets_no_fast_open
from scapy_tfo.oracle.conduct.conduct import Conduct
from scapy_tfo.oracle.conduct.history import Population
from scapy_tfo.oracle.parts.profile import MANY
from scapy_tfo.segment import ACK, RST, Segment

HORIZON = 120.0
"""Seconds without a byte for either application after which a conversation should have ended,
whatever a few faults did to it."""
_GIVEN_UP = 604_800.0
"""Seconds after which a target has told its application that a client is gone (RFC 9293 section
3.8.3): fifteen timeouts that double without a limit, the first of three seconds, take two days."""
_LINGER = 5.0
"""Seconds in which an application may still read what has come."""
_NEVER = math.inf
_MOST = 3000
"""Packets of one schedule at most: a stack that never comes to rest is a finding, not a hang."""
_SLOW = 200
"""Packets without a byte for either application after which it is not slow, but does not go on."""


_PAUSES = (0.02, 1.0, 20.0, 300.0)
"""Seconds between the end of a connection and the next one of the same two ends: within TIME-WAIT,
and beyond four minutes."""
_WAITS = 240.0
"""Seconds of TIME-WAIT, at most (RFC 9293 section 3.4.2)."""
_COOKIE_LIVES = 60.0
"""Seconds for which any cookie is good."""
_GUEST = "write-end:60"
"""The application of another client."""
_FURTHER = 70_000
"""How far the ISN of the next connection is from the last number of the one before."""


class Play(Watching):
    """One schedule in a world. keep: whether its packets are kept."""

    def __init__(self, world: Setting, schedule: Schedule, *, keep: bool = False) -> None:
        super().__init__(world, schedule, keep=keep)
        self._before: Play | None = None
        self._is_off = meets_no_fast_open(schedule.opening)
        self._invited: list[Play] = []
        self._guests: list[Play] = []

    # The whole

    def play(self) -> Run:
        """From the first SYN to the last packet, or until time is over."""
        self.begin()
        self._drive()
        run = self._ended()
        if self._deeds is not None and self._deeds.again is not None:
            run.also.append(self._next(self._deeds).play())
        return run

    def _next(self, deeds: Deeds) -> Play:
        """The same two ends connect once more."""
        pause = _PAUSES[(deeds.again.after if deeds.again is not None else 0) % len(_PAUSES)]
        self.world.pass_time(pause)
        then = Play(self.world, replace(self.schedule, deeds=deeds.then), keep=self._keep)
        send = self.connection.send
        # Within TIME-WAIT its numbers are above those of the old one (RFC 9293 MAY-2); beyond that
        # they may be any, and its times never go back.
        step = _FURTHER if pause <= _WAITS else -_FURTHER
        then.context = replace(
            then.context,
            settings=replace(then.context.settings, first_isn=seq.add(send.nxt, step)),
            clock=seq.add(self.connection.timestamp(self.world.now), 1000),
        )
        then._before = self
        then._follows = True
        # Some stacks remember a connection behind LAST-ACK as long, and some one that was reset.
        # A RST may have been the answer to a wrong segment, and have ended nothing.
        ended = self.run.reset and (self.server.error or not self.server.accepted)
        forgets = (ended or self.run.killed) and not self.world.profile.ports_rest
        then._may_wait = pause <= _WAITS and not forgets
        then.run.trace = self.run.trace
        then._trace_from = self._trace_from
        return then

    def begin(self) -> None:
        """Up to the first SYN."""
        world = self.world
        world.make_room()
        if self._deeds is not None:
            self._invite(self._deeds)
        self._prepare()
        self._connect()

    def _invite(self, deeds: Deeds) -> None:
        """Prepare other clients that connect meanwhile, where the target takes several."""
        if self.world.profile.connections < MANY:
            return
        for each in deeds.company:
            own = self.schedule
            # Some targets take no cookie of a key that is no longer the first.
            opening = PLAIN if own.opening == OLD_KEY else KINDS[each.kind].company
            other = Schedule(opening, own.server, _GUEST, own.context)
            guest = Play(self.world, other, keep=self._keep)
            guest._plays, guest.run.trace = self._plays, self.run.trace
            guest._prepare()
            self._invited.append(guest)

    def _welcome(self) -> None:
        """See Watching."""
        if self._invited:
            guest = self._invited.pop(0)
            self._plays.append(guest)
            self._guests.append(guest)
            guest._trace_from = self._trace_from
            guest._connect()

    def _prepare(self) -> None:
        """Know both ends, and have a client that holds the cookie that its opening wants."""
        self._prepared_at = self.world.now
        self._port = self.world.port_of(self.schedule.server)
        self._target = self.world.addresses[self.context.family]
        self._make_client(self._port)
        if self._is_off:
            # The cookie is one of the listener that has fast open.
            self._port = self.world.port_of(self.schedule.server, fast_open=False)

    def _connect(self) -> None:
        world, port, target = self.world, self._port, self._target
        world.played += 1
        self._began = world.now
        takers = self._at_client, self._at_target, self._spoilt_at_target
        self._path = Path(world, self.schedule.faults, *takers)
        self._trace_from = self._began if self._trace_from is None else self._trace_from
        if self._keep:
            self._path.trace, self._path.began = self.run.trace, self._trace_from
        history = world.history((target, port, self._address, self._stack.port))
        if self.context.iss is not None:
            # That others had this number is no fault of the target's.
            history.population = Population()
        # Nobody owes an answer to a SYN that has to wait.
        may_answer = history.ordered and not self._may_wait
        history.steady = may_answer and is_steady(self.schedule.server)
        world.choose_iss(self.context.iss)
        world.allow_ecn(port, self.context.settings.ecn)
        self._conduct = Conduct(history, world.tally)
        self.server.on_reading = self._conduct.reads
        self.connection = self._stack.connect(
            self._address,
            target,
            port,
            data=self.client.first(),
            fast_open=self._opening.asks,
            now=world.now,
        )
        self._isn = self.connection.send.iss
        self._sport = self.connection.local[1]
        self._situation = Situation(
            client=self._address,
            target=target,
            sport=self._sport,
            dport=port,
            isn=self._isn,
            cookie=self.cookie,
            awaits=self._isn,
            paws=world.profile.paws,
            once=world.profile.cookies_once,
        )
        is_fresh = world.now - self._prepared_at < _COOKIE_LIVES
        taken = self.schedule.opening != OLD_KEY and is_fresh
        self._handshake = Handshake(
            without_fast_open(world.profile) if self._is_off else world.profile,
            self._isn,
            b"" if self._is_off else self.cookie,
            taken=taken,
            narrowed=world.narrowed,
            off=self._is_off,
        )
        self._pump_client()
        if self._waits:
            self._go_on()

    def _make_client(self, port: int) -> None:
        """A client that holds the cookie that its opening wants."""
        made = prepared(self.world, self.schedule, self.context, port)
        self._address, self._stack, self._opening = made.address, made.stack, made.opening
        self.cookie = made.cookie
        self.run.broken = made.opening.broken
        if made.problem is not None:
            self.run.problems.append(made.problem)
        if self._before is not None:
            self._stack.port = self._before._sport

    def _drive(self) -> None:
        world, target, plays = self.world, self.world.target, self._plays
        self.run.gone = any(each.kind == GONE for each in self.schedule.faults)
        last = end = self._began + (_GIVEN_UP if self.run.gone else HORIZON)
        got, got_at = 0, 0
        world.on_accepting = self._pump_target
        while len(self._path.order) < _MOST:
            if got != (so_far := self._delivered()):
                got, got_at = so_far, len(self._path.order)
                last = end = max(last, world.now + HORIZON)
            act, theirs = world.next_act(), target.deadline()
            ours = self._stack.deadline() if len(plays) == 1 else self._soonest()
            # No deadline is at the very beginning, and so none is 0.
            due = min(act or _NEVER, ours or _NEVER, theirs or _NEVER)
            if due == _NEVER:
                return
            if act is not None:
                # An application may wait for longer.
                last = end = max(last, act + HORIZON)
            if not self._is_over(act):
                # A connection may be accepted after its client has ended.
                end = last
            elif end == last:
                end = min(last, world.now + _LINGER)
            if due > end:
                self.run.quiet = act is None and ours is None
                return
            if act is not None and act <= due:
                world.do_next()
            elif ours is not None and ours <= due:
                world.now = max(world.now, ours)
                for each in plays:
                    each._stack.on_timer(world.now)
                    each._pump_client()
            else:
                world.now = max(world.now, due)
                target.on_timer(world.now)
                self._pump_target()
        self.run.quiet = False
        self.run.is_long = len(self._path.order) - got_at < _SLOW

    def _delivered(self) -> int:
        """Bytes that either application got so far."""
        return len(self.client.received) + len(self.server.received)

    def _soonest(self) -> float | None:
        """When the first of all clients has something to do."""
        due = [each._stack.deadline() for each in self._plays]
        return min((each for each in due if each is not None), default=None)

    def _is_over(self, act: float | None) -> bool:
        """Both ends are done, and nothing is on its way."""
        if act is not None:
            return False
        return all(
            each.client.ended and (each.server.ended or not each.server.accepted)
            for each in self._plays
        )

    def _ended(self) -> Run:
        run, world = self.run, self.world
        for each in self._guests:
            run.also.append(each._ended())
        self._settle()
        if self._may_wait and not self._handshake.answered:
            run.excuse = run.excuse or WAITED
        if not self._is_gone:
            self._broken(self._conduct.waited(world.now), len(self._marks))
        world.forget_agenda()
        run.unheard = self._situation.unacked != self._situation.sent_end
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
